// The history of measured cells: runs that did the same work in the same way on the same machine, by date and version
// of the program, and where their figures changed.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/change_points.h"
#include "record/metric.h"
#include "record/record.h"
#include "report/html.h"
#include "report/table.h"

namespace evener::sweeps {

struct HistoryRun {
  std::filesystem::path folder;
  record::Record record = {};                           // without what is long: epochs, layers, samples
  std::vector<record::Metric> metrics = {};             // the figures that count, without their samples
  std::map<std::string, std::string> environment = {};  // that a sweep set for it
  std::string left_out = {};  // why change points don't count it: "INVALID: swap"; "" = they do
};

/// A step of a figure's level, between two neighbouring runs.
struct HistoryChange {
  std::size_t at = 0;                             // the first run of the new level, among HistoryFigure::runs
  double p = 1;                                   // corrected for the number of tests of the whole history
  double before = 0, after = 0;                   // the levels on both sides
  double change = 0;                              // relative: -0.05 = 5 % less; of a share the difference
  std::optional<record::Interval> interval = {};  // 95 % interval of `change`; absent for too few runs
  std::optional<double> whole = {};  // of a median speed: what all images over all seconds changed by there, if they
                                     // went the other way, so that nothing is known
};

/// A steady change of a figure over all runs.
struct HistoryDrift {
  double p = 1;       // corrected
  double change = 0;  // from the first run to the last, as HistoryChange::change
  std::optional<record::Interval> interval = {};
};

/// A level of a figure between two change points, from its first run to its last, among HistoryFigure::runs.
struct HistoryLevel {
  std::size_t first = 0, last = 0;
  double first_value = 0, last_value = 0;  // equal, its median, unless the figure drifts
};

struct HistoryFigure {
  record::Metric metric;               // name, unit and direction; has no value
  std::vector<std::size_t> runs = {};  // that have it and count, by date
  std::vector<double> values = {};     // of these
  std::vector<HistoryLevel> levels = {};
  std::vector<HistoryChange> changes = {};
  std::optional<HistoryDrift> drift = {};
  std::size_t runs_missing = 0;      // until changes can be looked for; 0: they were
  bool is_relative = false;          // its changes are factors, as its noise is; else differences in its unit
  record::Noise noise = {};          // as differences are taken
  std::optional<double> least = {};  // the least change that would have shown; absent: none, however large
  std::optional<record::TwoLevels> two_levels = {};  // that it goes to and fro between, in its unit
};

/// The runs of one cell on one machine.
struct HistorySeries {
  std::string cell;                         // "train resnet34 on photos, cpu/t2, fp32, batch 32"
  std::string machine;                      // "AMD EPYC, 2 cores"
  std::vector<HistoryRun> runs = {};        // by date
  std::vector<HistoryFigure> figures = {};  // the speed first
};

struct History {
  std::vector<HistorySeries> series;
  std::size_t tests = 0;  // that p-values are corrected for
  std::vector<std::string> notes;
};

struct HistoryChoice {
  bool count_invalid = false;  // INVALID runs count too
  std::string since;           // "2026-11-01": without runs before that day; "" = all
};

/// Loads all runs in and below the folders, those of sweeps too, each once, and finds the changes of their figures.
/// Records that can't be read become notes. Throws UsageError if there is no run at all.
History load_history(const std::vector<std::filesystem::path>& folders, const HistoryChoice& choice = {});
/// The same of runs that are loaded.
History history_of(std::vector<HistoryRun> runs);

/// The least change of the figure that so many runs like those at hand would mostly show; absent: none, however large.
std::optional<double> least_change(const HistoryFigure& figure, std::size_t runs, std::size_t tests);

/// Whether a text is a day of the calendar: "2026-11-01".
bool is_day(const std::string& text);

/// What a run was made by: "evener 0.7.0, program 1a2b3c4d".
std::string program_text(const record::Record& record);
/// The day of a run: "2026-11-01".
std::string day_of(const record::Record& record);

/// What changed in a series, and between which runs, a sentence for each change; then what did not, as far as that
/// could have been found among so many tests, or that the runs are too few.
std::vector<std::string> history_sentences(const HistorySeries& series, std::size_t tests);
/// A row for each program that made runs one after another, and for each level.
report::Table versions_table(const HistorySeries& series);
/// A row for each series.
report::Table history_table(const History& history);

// Limits that a history is held against, for continuous integration: "slower=5%".

/// What may become worse, and by how much.
struct HistoryLimit {
  enum class What { kSlower, kMemory, kAccuracy, kEnergy };
  What what = What::kSlower;
  double share = 0;  // 0.05 of "5%"; of an accuracy the difference
};

/// Reads "slower=5%,memory=10%". Throws UsageError for what is no limit.
std::vector<HistoryLimit> parse_history_limits(const std::string& text);

struct HeldLimits {
  std::vector<std::string> failures;   // what is surely beyond a limit
  std::vector<std::string> undecided;  // where no one can know, and what would help
};

/// A failure is where the latest level of a figure is worse than the level before it, or a drift made it worse, surely
/// by more than a limit: the whole 95 % interval lies beyond. Undecided is where the limit lies within the interval, or
/// where a change of that size wouldn't have been found. "slower" is about the speed that runs are compared by, and
/// "accuracy" about every figure of quality.
HeldLimits hold_against(const History& history, const std::vector<HistoryLimit>& limits);

/// Schema "evener-history-1", with every run and the results of `--fail-on`.
std::string history_json(const History& history, const HeldLimits& held);

// The page of a history: what changed, when, and by how much, with a plot for each figure.

/// The page as text. `plotly_js` and `hint` as in html_page().
std::string history_page(const History& history, const HeldLimits& held, std::string_view plotly_js,
                         std::string_view hint = "");

/// Writes the page atomically. Without Plotly it is still written, with tables only.
report::WrittenPage write_history_page(const std::filesystem::path& path, const History& history,
                                       const HeldLimits& held,
                                       const std::filesystem::path& plotly = report::plotly_path());
}  // namespace evener::sweeps
