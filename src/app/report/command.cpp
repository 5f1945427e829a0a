// evener report: what runs and sweeps have recorded, as a table and a page.
#include "options/command.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/report/parts.h"
#include "base/error.h"
#include "base/terminal_text.h"
#include "options/option.h"
#include "options/output.h"
#include "record/record_json.h"
#include "report/conclusion.h"
#include "report/html.h"
#include "report/run.h"
#include "report/table.h"
#include "sweep/figures/reference.h"
#include "sweep/figures/sweep.h"
#include "sweep/figures/sweep_page.h"

namespace evener::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPageName = "report.html";

struct ReportOptions : OptionGroup {
  ReportOptions() : OptionGroup("Output") {}

  Option<std::vector<std::string>> runs{
      *this, "RUN_DIR DIR", rules().needed(),
      "Folders of runs or of sweeps (what --out was), or a folder with several of them"};
  Option<std::string> html{*this, "--html FILE",
                           "Where the page goes (default: RUN_DIR/report.html; ./report.html for several folders)"};
  Option<bool> no_html{*this, "--no-html", "Write no page"};
  Option<std::string> csv{*this, "--csv FILE", "Write a CSV with a row per run ('-': to stdout, instead of the table)"};
  Option<bool> markdown{*this, "--markdown", "Print the table as Markdown"};
  Option<std::string> json{*this, "--json FILE", "Write the records as JSON ('-': to stdout, instead of the table)"};

 private:
  void check_together() const override {
    if (*no_html && !html->empty())
      throw UsageError("--no-html writes no page, and --html says where it goes: give one");
    if (*csv == "-" && *json == "-") throw UsageError("only one of --csv and --json can go to stdout");
  }
};

/// One run: its record. Several: a list of them, in the order given.
nlohmann::ordered_json records_json(const std::vector<report::Run>& runs) {
  if (runs.size() == 1) return record::to_json(runs.front().record);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const report::Run& run : runs) json.push_back(record::to_json(run.record));
  return json;
}

void put_as(const ReportOptions& options, const report::Table& table) {
  put(*options.markdown ? report::markdown_text(table) : report::terminal_text(table, table_width()));
}

void put_table(const ReportOptions& options, const std::vector<report::Run>& runs) {
  put_as(options, report::summary_table(runs));
  put("\n" + (*options.markdown ? report::markdown_conclusion(runs) : report::terminal_conclusion(runs)) + "\n");
}

void put_page(const ReportOptions& options, const std::vector<report::Run>& runs,
              const std::vector<report::PagePart>& parts) {
  try {
    const auto page = report::write_html(page_path(*options.html, *options.runs, kPageName), runs, parts);
    put_written(page.path, page.hint);
  } catch (const Error& error) {
    if (!options.html->empty()) throw;
    throw Error(
        fmt::format("{}; choose another place with --html FILE, or leave the page out with --no-html", error.what()));
  }
}

void put_sweep(const ReportOptions& options, const sweeps::Sweep& sweep) {
  put_as(options, sweeps::sweep_table(sweep));
  std::string sentences;
  for (const std::string& sentence : sweeps::sweep_conclusion(sweep)) sentences += one_line(sentence) + "\n";
  put("\n" + sentences);
  if (sweep.reference.empty()) return;
  put("\n");
  put_as(options, sweeps::reference_table(sweep.reference));
  put(one_line(sweeps::reference_sentence(sweep.reference)) + "\n");
}

/// A sweep has a table and a page of its own.
int report_sweep(const ReportOptions& options, const fs::path& folder) {
  const sweeps::Sweep sweep = sweeps::load_sweep(folder);
  if (*options.csv != "-" && *options.json != "-") put_sweep(options, sweep);
  if (!options.csv->empty()) put_to(*options.csv, sweeps::sweep_csv(sweep));
  if (!options.json->empty()) put_to(*options.json, sweeps::sweep_json(sweep));
  if (*options.no_html) return 0;
  const auto page = sweeps::write_sweep_page(page_path(*options.html, {folder.string()}, kPageName), sweep);
  put_written(page.path, page.hint);
  return 0;
}

/// Several sweeps have a page together, with the figures that were measured elsewhere beside all of theirs.
int report_sweeps(const ReportOptions& options, const std::vector<fs::path>& folders) {
  if (!options.csv->empty() || !options.json->empty()) {
    throw UsageError("--csv and --json tell one sweep, and several folders are given; report them one at a time");
  }
  std::vector<sweeps::Sweep> sweeps;
  for (const fs::path& folder : folders) {
    sweeps.push_back(sweeps::load_sweep(folder));
    put(fmt::format("{}{}\n", sweeps.size() == 1 ? "" : "\n", one_line(sweeps.back().name)));
    put_sweep(options, sweeps.back());
  }
  if (*options.no_html) return 0;
  const auto page = sweeps::write_sweeps_page(page_path(*options.html, *options.runs, kPageName), sweeps);
  put_written(page.path, page.hint);
  return 0;
}

int run_report(const ReportOptions& options) {
  const std::vector<fs::path> sweeps = sweeps::sweeps_in({options.runs->begin(), options.runs->end()});
  if (sweeps.size() == 1 && options.runs->size() == 1) return report_sweep(options, sweeps.front());
  if (!sweeps.empty()) return report_sweeps(options, sweeps);
  std::vector<report::Run> runs = report::load_runs({options.runs->begin(), options.runs->end()});
  // Before the table, whose notes tell what can't be read.
  const std::vector<report::PagePart> parts = page_parts(runs);
  if (*options.csv != "-" && *options.json != "-") put_table(options, runs);
  if (!options.csv->empty()) put_to(*options.csv, report::csv_text(runs));
  if (!options.json->empty()) put_to(*options.json, json_text(records_json(runs)));
  if (!*options.no_html) put_page(options, runs, parts);
  return 0;
}

}  // namespace

Command report_command() {
  const auto options = std::make_shared<ReportOptions>();
  return {.name = "report",
          .summary = "Show runs side by side: a table, and an HTML page with plots",
          .options = {options.get()},
          .footer =
              "Speeds are compared with the first run of the same model and data.\n\n"
              "Examples:\n"
              "  evener report runs/a\n"
              "  evener report runs/a runs/b --html compare.html\n"
              "  evener report runs/ --markdown --no-html\n"
              "  evener report runs/a --json - | jq .accuracy\n",
          .run = [options] { return run_report(*options); }};
}

}  // namespace evener::app
