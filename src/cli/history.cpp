// evener history FOLDER...: what changed in the figures of the same cell, when, and with which version of the program.
#include "report/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/terminal_text.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/report_output.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

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
       "End with 1 where the latest level is surely worse than the one before by more than this: "
       "slower=5%, memory=10%, accuracy=1% (points), energy=10%; several with commas"},
      "",
      {.has_commas = true}};
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
      throw UsageError(fmt::format("--since {}: a day is written as in 2026-11-01", *since));
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
    for (const std::string& sentence : report::history_sentences(series)) put(one_line(sentence) + "\n");
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
  const std::vector<std::string> failures =
      report::beyond_limits(history, report::parse_history_limits(*flags.fail_on));
  if (!write_json_text(*flags.json, flags.json->empty() ? "" : report::history_json(history, failures))) {
    put_history(history);
  }
  if (!*flags.no_html) put_written(report::write_history_page(page_of(flags), history, failures));
  for (const std::string& failure : failures) fmt::print(stderr, "evener: {}\n", one_line(failure));
  return failures.empty() ? 0 : 1;
}

}  // namespace

Command history_command() {
  const auto flags = std::make_shared<HistoryFlags>();
  return {.name = "history",
          .summary = "Find when runs of the same cell became slower, larger or less accurate, and with which version",
          .options = {flags.get()},
          .footer =
              "Exit codes: 0 done, 1 a limit of --fail-on is exceeded.\n\n"
              "Examples:\n"
              "  evener history nightly/\n"
              "  evener history nightly/ --fail-on slower=5%,memory=10%\n"
              "  evener history sweeps/a sweeps/b --since 2026-11-01 --json - | jq .series[].sentences\n",
          .run = [flags] { return history(*flags); }};
}

}  // namespace evener::cli
