// Loads a sweep's folder for a report: its cells with figures over all runs, and the claims that these support.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/metric.h"
#include "record/record.h"
#include "record/repeats.h"
#include "record/sweep_file.h"
#include "report/html.h"
#include "report/table.h"
#include "sweep/figures/reference.h"

namespace evener::sweeps {

/// A figure of a cell over its runs.
struct SweepFigure {
  record::Metric metric;                   // name, unit and direction; has no value
  std::vector<record::BlockValue> values;  // of its runs
  record::MeanOfRuns mean;
  record::EnergyClass energy = record::EnergyClass::kAbsent;  // class of an energy figure
  std::string reason = {};                                    // why there is no mean, although some runs have a value
};

/// Whether a comparison was made beside other programs (beyond the limits of record/validity.h), and whether then by
/// cells of different numbers of threads, of which a busy machine may show another difference than a quiet one.
enum class BesideOthers { kNo, kYes, kWithOtherThreads };

/// A cell compared with another one by a figure.
struct CellClaim {
  std::optional<std::size_t> base = {};  // the other one; absent: none, or the cell itself
  std::optional<double> speedup = {};    // above 1: better
  std::optional<record::Interval> interval = {};
  std::optional<double> deviation = {};  // standard deviation of a block's log ratio
  std::optional<double> whole = {};      // of median speeds: the speedup by all images over all seconds
  bool unseen = false;                   // the medians differ, and the whole doesn't show it
  std::optional<double> p = {};          // p-value, corrected for the number of claims
  record::Verdict verdict = record::Verdict::kUndecided;
  std::optional<std::size_t> to_decide =
      {};                   // runs of each that would show the difference in 4 of 5 cases; if undecided
  std::string reason = {};  // why undecided; else empty
  BesideOthers beside = BesideOthers::kNo;
  bool at_equal_load = false;  // the speedup is that at equal load by other programs; see compare_beside_load()
};

struct SweepCellRuns {
  record::SweepCell cell;
  std::string name;                           // "on=cpu/t2, batch=32"
  std::vector<record::SweepRun> runs;         // ended runs of the shown series
  std::optional<record::Record> record;       // of the first run with a record
  std::vector<record::EnergyClass> energies;  // of each run
  std::vector<SweepFigure> figures;
  /// For runs with --until-accuracy: seconds until it was reached; absent if never.
  std::vector<std::optional<double>> to_accuracy_s;
  std::size_t done = 0, invalid = 0, failed = 0;
  std::size_t not_comparable = 0;  // INVALID runs by rules that spoil comparisons, too
  std::size_t beside_others = 0;   // runs beside other programs that took more than the rules allow
  std::size_t in_passing = 0;      // INVALID runs by rules that pages tell in passing, in these words
  std::vector<std::string> words;
  std::vector<record::BlockValue>
      others_percent;   // other programs' load beside each run that was measured, of all CPUs
  std::size_t job = 0;  // number of the job, the same for cells that do the same work
  CellClaim claim;

  const SweepFigure* figure(const std::string& name) const;
};

/// What is claimed of a job, the cells that do the same work, by a figure: how each two differ, and which cell is best,
/// if one is. Rows, sentences and scalings have their ratios and verdicts from here, so that they can't disagree.
struct JobClaim {
  std::string figure;
  std::vector<std::size_t> cells;                                  // cells with the figure, the best first
  std::map<std::pair<std::size_t, std::size_t>, CellClaim> pairs;  // the second, the larger index, against the first
  std::optional<std::size_t> winner;                               // significantly better than every other cell
  std::optional<double> p;               // corrected; the largest of the best cell's, if it has one against each
  std::vector<std::size_t> leaders;      // cells not significantly worse than the best; the best first
  std::optional<std::size_t> to_decide;  // runs of each needed to separate the best from all leaders
  std::string objection;                 // why the best may not be compared with some other; else empty
  BesideOthers beside = BesideOthers::kNo;

  /// `cell` against `base`, in either order; without a speedup where the two weren't compared.
  CellClaim claim(std::size_t base, std::size_t cell) const;
};

/// The scaling with workers, over cells that differ in nothing else.
struct SweepScaling {
  std::string name;                // "threads, batch=32"
  std::vector<std::size_t> cells;  // by ascending number of workers
  record::Scaling scaling;
  record::Verdict verdict = record::Verdict::kUndecided;  // of the most workers against the fewest
};

struct Sweep {
  std::string name;  // of the folder
  std::filesystem::path folder;
  record::SweepRecord record;
  std::vector<SweepCellRuns> cells;
  std::string main_figure;            // the metric that cells are compared by; "" = none
  std::vector<JobClaim> jobs;         // by the main figure
  std::vector<JobClaim> energy_jobs;  // the same ones by their energy, where it is known of two cells or more
  std::vector<SweepScaling> scalings;
  std::size_t claims = 0;               // number of hypotheses corrected for
  std::vector<ReferenceRow> reference;  // figures measured elsewhere, beside ours
  std::vector<std::string> notes;
};

/// Whether a figure is about energy, so that it has an EnergyClass.
bool is_of_energy(const record::Metric& metric);
/// Whether the figure is taken from runs of `part`. If a sweep has separate runs for energy, energy figures come only
/// from these, and all other figures only from the other runs.
bool counts_in(const record::SweepRecord& sweep, const record::Metric& metric, const std::string& part);

/// Whether the folder is that of a sweep.
bool is_sweep(const std::filesystem::path& folder);

/// The sweeps among `folders`, and for each other folder the sweeps in it, by name; empty if there are only runs.
/// Throws UsageError if sweeps and runs are mixed.
std::vector<std::filesystem::path> sweeps_in(const std::vector<std::filesystem::path>& folders);

/// Loads the record of a run that ended with figures. Throws Error if it is broken.
using RecordOfRun = std::function<record::Record(const record::SweepRun&)>;
/// Builds a sweep from the contents of its files; name and folder stay empty.
Sweep sweep_of(const record::SweepRecord& record, const record::SweepJournal& journal, const RecordOfRun& record_of);

/// Loads a sweep. Throws Error if sweep.json is missing or broken; a run with a broken record counts as failed.
Sweep load_sweep(const std::filesystem::path& folder);

/// Compares two cells by a figure; ratios above 1 mean that `candidate` is better.
record::RunComparison compare_figures(const SweepFigure& baseline, const SweepFigure& candidate,
                                      std::size_t first_stage);

/// "26.9 [26.1 to 27.7]": the mean and the range over runs; "97.2 % in each run" if all are equal.
std::string mean_text(const SweepFigure& figure, bool with_spread);
/// " images/s" behind a mean_text(); "" where that has a unit, or there is none.
std::string unit_behind(const SweepFigure& figure);
/// "faster", "slower", "undecided".
const char* verdict_word(record::Verdict verdict);
/// The same with where it holds: "faster beside others".
std::string verdict_text(record::Verdict verdict, BesideOthers beside);
/// "1.85x (1.80 to 1.90)"; "-" without one.
std::string speedup_text(const CellClaim& claim);

/// An axis value for display: without the folder that all values of this axis have in common.
std::string shown_value(const std::vector<record::SweepAxis>& axes, const std::string& part, const std::string& value);
/// A short name of a cell among the cells `among`: its values on the axes on which they differ, or its full name if
/// there are none.
std::string name_among(const Sweep& sweep, const std::vector<std::size_t>& among, std::size_t cell);

/// A row for each cell.
report::Table sweep_table(const Sweep& sweep);
/// What the sweep showed and what it left open, in sentences.
std::vector<std::string> sweep_conclusion(const Sweep& sweep);
/// The whole result as JSON for other programs: cells with figures, intervals and claims.
std::string sweep_json(const Sweep& sweep);
/// CSV with a row for each run and every figure.
std::string sweep_csv(const Sweep& sweep);

}  // namespace evener::sweeps
