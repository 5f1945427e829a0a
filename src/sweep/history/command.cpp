// evener history: since when runs of the same cell are slower, larger or less accurate.
#include "options/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/terminal_text.h"
#include "options/option.h"
#include "options/output.h"
#include "report/html.h"
#include "report/table.h"
#include "sweep/history/history.h"

namespace evener::sweeps {
namespace {

struct HistoryFlags : OptionGroup {
  HistoryFlags() : OptionGroup("Output") {}

  Option<std::vector<std::string>> folders{*this, "FOLDER DIR", rules().needed(),
                                           "Folders of runs and of sweeps, or folders with any of them below"};
  Option<std::string> fail_on{
      *this, "--fail-on LIMITS", rules().with_commas().joined_by(","),
      "End with 1 where the latest level is surely worse than the one before by more than this: slower=5%, "
      "memory=10%, accuracy=1% (points), energy=10%; several with commas"};
  Option<std::string> since{*this, "--since DAY", "Without the runs before this day, as in 2026-11-01"};
  Option<bool> count_invalid{*this, "--count-invalid", "Count runs that are INVALID, too"};
  Option<std::string> html{*this, "--html FILE",
                           "Where the page goes (default: FOLDER/history.html; ./history.html for several)"};
  Option<bool> no_html{*this, "--no-html", "Write no page"};
  Option<std::string> json{*this, "--json FILE", "Write it as JSON; - is stdout, instead of the tables"};

 private:
  void check_together() const override {
    if (*no_html && !html->empty())
      throw UsageError("--no-html writes no page, and --html says where it goes: give one");
    if (!since->empty() && !is_day(*since)) {
      throw UsageError(fmt::format("--since {}: no day; one is written as in 2026-11-01", *since));
    }
    parse_history_limits(*fail_on);
  }
};

bool has_changes(const HistorySeries& series) {
  return std::ranges::any_of(series.figures,
                             [](const auto& figure) { return !figure.changes.empty() || figure.drift; });
}

void put_history(const History& history) {
  if (history.series.size() > 1) put(report::terminal_text(history_table(history), table_width()));
  for (const HistorySeries& series : history.series) {
    if (history.series.size() > 1 && !has_changes(series)) continue;
    put(fmt::format("{}{}\n{}\n", history.series.size() > 1 ? "\n" : "", one_line(series.cell),
                    one_line(series.machine)));
    put(report::terminal_text(versions_table(series), table_width()));
    for (const std::string& sentence : history_sentences(series, history.tests)) put(one_line(sentence) + "\n");
  }
  for (const std::string& note : history.notes) put("note: " + one_line(note) + "\n");
}

int tell_history(const HistoryFlags& flags) {
  const History history = load_history({flags.folders->begin(), flags.folders->end()},
                                       {.count_invalid = *flags.count_invalid, .since = *flags.since});
  const HeldLimits held = hold_against(history, parse_history_limits(*flags.fail_on));
  if (!write_json_text(*flags.json, flags.json->empty() ? "" : history_json(history, held))) {
    put_history(history);
  }
  if (!*flags.no_html) {
    const auto page = write_history_page(page_path(*flags.html, *flags.folders, "history.html"), history, held);
    put_written(page.path, page.hint);
  }
  for (const std::string& failure : held.failures) fmt::print(stderr, "evener: {}\n", one_line(failure));
  for (const std::string& open : held.undecided) fmt::print(stderr, "evener: undecided: {}\n", one_line(open));
  if (!held.failures.empty()) return 1;
  return held.undecided.empty() ? 0 : 3;
}

}  // namespace

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
          .run = [flags] { return tell_history(*flags); }};
}

}  // namespace evener::sweeps
