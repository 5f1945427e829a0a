// evener report, compare and history: what runs and sweeps have recorded.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
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
#include "cli/json_output.h"
#include "record/record_json.h"
#include "report/compare.h"
#include "report/conclusion.h"
#include "report/history.h"
#include "report/html.h"
#include "report/reference.h"
#include "report/run.h"
#include "report/sweep.h"
#include "report/sweep_page.h"
#include "report/table.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

/// The width that tables may have: that of the terminal, or 200 where the output goes elsewhere.
std::size_t table_width() {
  constexpr std::size_t kFileWidth = 200;
  winsize size{};
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kFileWidth;
}

/// Writes to stdout, before what stderr says next.
void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

/// Tells where the page is, and why it has no plots.
void put_written(const report::WrittenPage& page) {
  fmt::print(stderr, "report: {}\n", fs::absolute(page.path).lexically_normal().string());
  if (!page.hint.empty()) fmt::print(stderr, "warning: {}\n", page.hint);
}

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

struct CompareFlags : job::OptionGroup {
  CompareFlags() : job::OptionGroup("Output") {}

  job::Option<std::string> a{
      *this,
      {"A", "WHAT", "What is compared with: the folder of a run or a sweep, or DIR:AXIS=VALUE,... for cells"},
      "",
      {.required = true}};
  job::Option<std::string> b{*this, {"B", "WHAT", "What is compared, said in the same way"}, "", {.required = true}};
  job::Option<std::string> json{*this, {"--json", "FILE", "Write it as JSON; - is stdout, instead of sentences"}};
};

int compare(const CompareFlags& flags) {
  const report::ComparisonOfTwo comparison = report::compare_two(*flags.a, *flags.b);
  const std::string json = report::comparison_json(comparison);
  if (*flags.json == "-") {
    std::fwrite(json.data(), 1, json.size(), stdout);
    return 0;
  }
  if (!flags.json->empty()) write_file_atomically(*flags.json, json);
  if (comparison.pairs.size() > 1) {
    std::fputs(report::terminal_text(report::comparison_table(comparison)).c_str(), stdout);
  }
  for (const std::string& sentence : report::comparison_sentences(comparison)) fmt::print("{}\n", one_line(sentence));
  if (comparison.pairs.size() <= 1) {
    for (const std::string& note : comparison.notes) fmt::print("note: {}\n", one_line(note));
  }
  return 0;
}

struct HistoryFlags : job::OptionGroup {
  HistoryFlags() : job::OptionGroup("Output") {}

  job::Option<std::vector<std::string>> folders{
      *this,
      {"FOLDER", "DIR", "Folders of runs and of sweeps, or folders with any of them below"},
      {},
      {.required = true}};
  job::Option<std::string> fail_on{
      *this,
      {"--fail-on", "LIMITS",
       "End with 1 where the latest level is surely worse than the one before by more than this: slower=5%, "
       "memory=10%, accuracy=1% (points), energy=10%; several with commas"},
      "",
      {.has_commas = true, .joint = ","}};
  job::Option<std::string> since{*this, {"--since", "DAY", "Without the runs before this day, as in 2026-11-01"}};
  job::Option<bool> count_invalid{*this, {"--count-invalid", "", "Count runs that are INVALID, too"}};
  job::Option<std::string> html{
      *this, {"--html", "FILE", "Where the page goes (default: FOLDER/history.html; ./history.html for several)"}};
  job::Option<bool> no_html{*this, {"--no-html", "", "Write no page"}};
  job::Option<std::string> json{*this, {"--json", "FILE", "Write it as JSON; - is stdout, instead of the tables"}};

 private:
  void check_together() const override {
    if (*no_html && !html->empty())
      throw UsageError("--no-html writes no page, and --html says where it goes: give one");
    if (!since->empty() && !report::is_day(*since)) {
      throw UsageError(fmt::format("--since {}: no day; one is written as in 2026-11-01", *since));
    }
    report::parse_history_limits(*fail_on);
  }
};

bool has_changes(const report::HistorySeries& series) {
  return std::ranges::any_of(series.figures,
                             [](const auto& figure) { return !figure.changes.empty() || figure.drift; });
}

void put_history(const report::History& history) {
  if (history.series.size() > 1) put(report::terminal_text(report::history_table(history), table_width()));
  for (const report::HistorySeries& series : history.series) {
    if (history.series.size() > 1 && !has_changes(series)) continue;
    put(fmt::format("{}{}\n{}\n", history.series.size() > 1 ? "\n" : "", one_line(series.cell),
                    one_line(series.machine)));
    put(report::terminal_text(report::versions_table(series), table_width()));
    for (const std::string& sentence : report::history_sentences(series, history.tests)) put(one_line(sentence) + "\n");
  }
  for (const std::string& note : history.notes) put("note: " + one_line(note) + "\n");
}

fs::path page_of(const HistoryFlags& flags) {
  if (!flags.html->empty()) return *flags.html;
  return flags.folders->size() == 1 ? fs::path(flags.folders->front()) / "history.html" : fs::path("history.html");
}

int history(const HistoryFlags& flags) {
  const report::History history = report::load_history({flags.folders->begin(), flags.folders->end()},
                                                       {.count_invalid = *flags.count_invalid, .since = *flags.since});
  const report::HeldLimits held = report::hold_against(history, report::parse_history_limits(*flags.fail_on));
  if (!write_json_text(*flags.json, flags.json->empty() ? "" : report::history_json(history, held))) {
    put_history(history);
  }
  if (!*flags.no_html) put_written(report::write_history_page(page_of(flags), history, held));
  for (const std::string& failure : held.failures) fmt::print(stderr, "evener: {}\n", one_line(failure));
  for (const std::string& open : held.undecided) fmt::print(stderr, "evener: undecided: {}\n", one_line(open));
  if (!held.failures.empty()) return 1;
  return held.undecided.empty() ? 0 : 3;
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

Command compare_command() {
  const auto flags = std::make_shared<CompareFlags>();
  return {.name = "compare",
          .summary = "Compare two runs, sweeps or cells: faster, slower or undecided, by how much",
          .options = {flags.get()},
          .footer =
              "Examples:\n"
              "  evener compare runs/a runs/b\n"
              "  evener compare runs/threads:on=cpu/t1 runs/threads:on=cpu/t2\n"
              "  evener compare runs/before runs/after\n"
              "  evener compare runs/before:batch=32 runs/after:batch=32 --json -",
          .run = [flags] { return compare(*flags); }};
}

Command history_command() {
  const auto flags = std::make_shared<HistoryFlags>();
  return {.name = "history",
          .summary = "Find when runs of the same cell became slower, larger or less accurate, and with which version",
          .options = {flags.get()},
          .footer =
              "Exit codes: 0 done, 1 a limit of --fail-on is exceeded, 3 whether one is can't be known.\n\n"
              "Examples:\n"
              "  evener history nightly/\n"
              "  evener history nightly/ --fail-on slower=5%,memory=10%\n"
              "  evener history sweeps/a sweeps/b --since 2026-11-01 --json - | jq .series[].sentences\n",
          .run = [flags] { return history(*flags); }};
}

}  // namespace evener::cli
