// A sweep's folder read for a report: its cells with their figures over all runs, and what may be claimed of them.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "record/metric.h"
#include "record/record.h"
#include "record/repeats.h"
#include "record/scaling_law.h"
#include "record/sweep_file.h"
#include "report/html.h"
#include "report/reference.h"
#include "report/table.h"

namespace evener::report {

/// A figure of a cell over its runs.
struct SweepFigure {
  record::Metric metric;                   // its name, unit, words and direction; without a value
  std::vector<record::BlockValue> values;  // of its runs
  record::MeanOfRuns mean;
  record::EnergyClass energy = record::EnergyClass::kAbsent;  // of its runs, of a figure of energy
  std::string reason = {};                                    // why there is no mean although some runs have a value
};

/// How a cell stands to the one that it is compared with, by the sweep's main figure.
struct CellClaim {
  std::optional<std::size_t> base;  // that cell; absent: there is none, or it is the cell itself
  std::optional<double> speedup;    // above 1: better
  std::optional<record::Interval> interval;
  std::optional<double> p;  // corrected for the number of claims
  record::Verdict verdict = record::Verdict::kUndecided;
  std::optional<std::size_t> to_decide;  // runs of each that would show the difference in 4 of 5 cases; if undecided
  std::string reason;                    // why undecided; else empty
};

struct SweepCellRuns {
  record::SweepCell cell;
  std::string name;                           // "on=cpu/t2, batch=32"
  std::vector<record::SweepRun> runs;         // that ended, of the series that is shown; with their reasons
  std::optional<record::Record> record;       // of the first run that has one
  std::vector<record::EnergyClass> energies;  // of each run
  std::vector<SweepFigure> figures;
  /// Of runs that were to reach an accuracy, how long that took; absent where it was never reached.
  std::vector<std::optional<double>> to_accuracy_s;
  std::size_t done = 0, invalid = 0, failed = 0;
  std::size_t job = 0;  // cells that do the same work have the same number
  CellClaim claim;

  const SweepFigure* figure(const std::string& name) const;
};

/// Of cells that do the same work: which is best, if one is.
struct JobClaim {
  std::vector<std::size_t> cells;        // with figures, the best first
  std::optional<std::size_t> winner;     // beyond chance better than every other
  std::optional<double> p;               // corrected
  std::vector<std::size_t> leaders;      // that can't be told from the best one; the best first
  std::optional<std::size_t> to_decide;  // runs of each that would tell the best from all leaders in 4 of 5 cases
};

/// How speed grows with workers, of cells that differ in nothing else.
struct SweepScaling {
  std::string name;                // "threads, batch=32"
  std::vector<std::size_t> cells;  // with rising numbers of workers
  record::Scaling scaling;
};

struct Sweep {
  std::string name;  // of the folder
  std::filesystem::path folder;
  record::SweepRecord record;
  std::vector<SweepCellRuns> cells;
  std::string main_figure;  // name of the metric that cells are compared by; "" = none
  std::vector<JobClaim> jobs;
  std::vector<SweepScaling> scalings;
  std::size_t claims = 0;               // hypotheses that were corrected for
  std::vector<ReferenceRow> reference;  // figures that were measured elsewhere, beside these
  std::vector<std::string> notes;
};

/// Whether a figure tells of energy, so that it has a class.
bool is_of_energy(const record::Metric& metric);
/// Whether the figure counts in runs of this part: where a sweep has runs for energy alone, these give the figures of
/// energy and no other, and the other runs no energy.
bool counts_in(const record::SweepRecord& sweep, const record::Metric& metric, const std::string& part);

/// Whether the folder is that of a sweep.
bool is_sweep(const std::filesystem::path& folder);

/// The folders that are sweeps, and of those that aren't the sweeps in them, by name; empty where all are folders of
/// runs. Throws UsageError where some are sweeps and some are not.
std::vector<std::filesystem::path> sweeps_in(const std::vector<std::filesystem::path>& folders);

/// The record of a run that ended with figures. Throws Error where it is broken.
using RecordOfRun = std::function<record::Record(const record::SweepRun&)>;
/// A sweep from its files' contents, without its name and folder.
Sweep sweep_of(const record::SweepRecord& record, const record::SweepJournal& journal, const RecordOfRun& record_of);

/// Throws Error naming what is missing or broken in sweep.json; a broken record of a run is a run that failed.
Sweep load_sweep(const std::filesystem::path& folder);

/// How `candidate` stands to `baseline` by a figure, above 1 where it is better.
record::RunComparison compare_figures(const SweepFigure& baseline, const SweepFigure& candidate,
                                      std::size_t first_stage);

/// "26.9 [26.1 to 27.7]": the mean with the range of the runs; "97.2 % in each run", where all are equal.
std::string mean_text(const SweepFigure& figure, bool with_spread);
/// "faster", "slower", "undecided".
const char* verdict_word(record::Verdict verdict);
/// "1.85x (1.80 to 1.90)"; "-" without one.
std::string speedup_text(const CellClaim& claim);

/// The value of the axis as it is shown: without the folder that all values of this axis are in.
std::string shown_value(const std::vector<record::SweepAxis>& axes, const std::string& part, const std::string& value);
/// A cell's values of the axes that tell it from the others `among` which it is; its name where none does.
std::string name_among(const Sweep& sweep, const std::vector<std::size_t>& among, std::size_t cell);

/// A row for each cell.
Table sweep_table(const Sweep& sweep);
/// What the sweep showed and what it didn't, in sentences.
std::vector<std::string> sweep_conclusion(const Sweep& sweep);
/// All of it for other programs: cells with figures, intervals and claims.
std::string sweep_json(const Sweep& sweep);
/// A row for each run, with every figure.
std::string sweep_csv(const Sweep& sweep);

}  // namespace evener::report
