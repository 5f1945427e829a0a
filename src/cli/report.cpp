// evener report RUN_DIR...: a table of runs on stdout, and one HTML page with plots.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/terminal_text.h"
#include "cli/command.h"
#include "cli/report_output.h"
#include "record/record_json.h"
#include "report/conclusion.h"
#include "report/html.h"
#include "report/reference.h"
#include "report/run.h"
#include "report/sweep.h"
#include "report/sweep_page.h"
#include "report/table.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

struct ReportOptions : job::OptionGroup {
  ReportOptions() : job::OptionGroup("Output") {}

  job::Option<std::vector<std::string>> runs{
      *this,
      {"RUN_DIR", "DIR", "Folders of runs or of sweeps (what --out was), or a folder with several of them"},
      {},
      {.required = true}};
  job::Option<std::string> html{
      *this,
      {"--html", "FILE", "Where the page goes (default: RUN_DIR/report.html; ./report.html for several folders)"}};
  job::Option<bool> no_html{*this, {"--no-html", "", "Write no page"}};
  job::Option<std::string> csv{
      *this, {"--csv", "FILE", "Write a CSV with a row per run ('-': to stdout, instead of the table)"}};
  job::Option<bool> markdown{*this, {"--markdown", "", "Print the table as Markdown"}};
  job::Option<std::string> json{*this,
                                {"--json", "FILE", "Write the records as JSON ('-': to stdout, instead of the table)"}};

 private:
  void check_together() const override {
    if (*no_html && !html->empty())
      throw UsageError("--no-html writes no page, and --html says where it goes: give one");
    if (*csv == "-" && *json == "-") throw UsageError("only one of --csv and --json can go to stdout");
  }
};

/// Writes `text` to the file `place`, or to stdout for "-". Tells the name of the file.
void put_to(const std::string& place, const std::string& text) {
  if (place == "-") {
    put(text);
    return;
  }
  write_file_atomically(place, text);
  fmt::print(stderr, "wrote {}\n", place);
}

/// One run: its record. Several: a list of them, in the order given.
std::string json_text(const std::vector<report::Run>& runs) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const report::Run& run : runs) json.push_back(record::to_json(run.record));
  if (runs.size() == 1) json = nlohmann::ordered_json(json.front());
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void put_as(const ReportOptions& options, const report::Table& table) {
  put(*options.markdown ? report::markdown_text(table) : report::terminal_text(table, table_width()));
}

void put_table(const ReportOptions& options, const std::vector<report::Run>& runs) {
  put_as(options, report::summary_table(runs));
  put("\n" + (*options.markdown ? report::markdown_conclusion(runs) : report::terminal_conclusion(runs)) + "\n");
}

void put_page(const ReportOptions& options, const std::vector<report::Run>& runs) {
  fs::path path = *options.html;
  if (path.empty()) {
    path = options.runs->size() == 1 ? fs::path(options.runs->front()) / "report.html" : fs::path("report.html");
  }
  try {
    put_written(report::write_html(path, runs));
  } catch (const Error& error) {
    if (!options.html->empty()) throw;
    throw Error(
        fmt::format("{}; choose another place with --html FILE, or leave the page out with --no-html", error.what()));
  }
}

void put_sweep(const ReportOptions& options, const report::Sweep& sweep) {
  put_as(options, report::sweep_table(sweep));
  std::string sentences;
  for (const std::string& sentence : report::sweep_conclusion(sweep)) sentences += one_line(sentence) + "\n";
  put("\n" + sentences);
  if (sweep.reference.empty()) return;
  put("\n");
  put_as(options, report::reference_table(sweep.reference));
  put(one_line(report::reference_sentence(sweep.reference)) + "\n");
}

/// A sweep has a table and a page of its own.
int report_sweep(const ReportOptions& options, const fs::path& folder) {
  const report::Sweep sweep = report::load_sweep(folder);
  if (*options.csv != "-" && *options.json != "-") put_sweep(options, sweep);
  if (!options.csv->empty()) put_to(*options.csv, report::sweep_csv(sweep));
  if (!options.json->empty()) put_to(*options.json, report::sweep_json(sweep));
  if (*options.no_html) return 0;
  const fs::path path = options.html->empty() ? folder / "report.html" : fs::path(*options.html);
  put_written(report::write_sweep_page(path, sweep));
  return 0;
}

/// Several sweeps have a page together, with the figures that were measured elsewhere beside all of theirs.
int report_sweeps(const ReportOptions& options, const std::vector<fs::path>& folders) {
  if (!options.csv->empty() || !options.json->empty()) {
    throw UsageError("--csv and --json tell one sweep, and several folders are given; report them one at a time");
  }
  std::vector<report::Sweep> sweeps;
  for (const fs::path& folder : folders) {
    sweeps.push_back(report::load_sweep(folder));
    put(fmt::format("{}{}\n", sweeps.size() == 1 ? "" : "\n", one_line(sweeps.back().name)));
    put_sweep(options, sweeps.back());
  }
  if (*options.no_html) return 0;
  fs::path path = *options.html;
  if (path.empty()) path = options.runs->size() == 1 ? fs::path(options.runs->front()) / "report.html" : "report.html";
  put_written(report::write_sweeps_page(path, sweeps));
  return 0;
}

int run_report(const ReportOptions& options) {
  const std::vector<fs::path> sweeps = report::sweeps_in({options.runs->begin(), options.runs->end()});
  if (sweeps.size() == 1 && options.runs->size() == 1) return report_sweep(options, sweeps.front());
  if (!sweeps.empty()) return report_sweeps(options, sweeps);
  const std::vector<report::Run> runs = report::load_runs({options.runs->begin(), options.runs->end()});
  if (*options.csv != "-" && *options.json != "-") put_table(options, runs);
  if (!options.csv->empty()) put_to(*options.csv, report::csv_text(runs));
  if (!options.json->empty()) put_to(*options.json, json_text(runs));
  if (!*options.no_html) put_page(options, runs);
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

}  // namespace evener::cli
