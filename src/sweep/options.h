// The options of `evener sweep`. They are the top-level keys of an experiment's file, too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "options/measured_command.h"
#include "options/option.h"
#include "record/sweep_file.h"
#include "sweep/run/axes.h"

namespace evener::sweeps {

/// Throws UsageError with the nearest name for an unknown command.
MeasuredCommand measured_command(const MeasuredCommands& commands, const std::string& name);

/// A value of an option as words: one word, or several for options that are lists.
using SweepValue = std::vector<std::string>;

struct SweepPlan {
  MeasuredCommands commands;  // that a sweep can run
  std::string title, command, default_out;
  std::string file;                         // of the experiment; empty: words were typed
  std::map<std::string, SweepValue> fixed;  // by key: "batch", "$OMP_WAIT_POLICY"
  std::vector<record::SweepAxis> axes;
  std::map<std::string, std::map<std::string, SweepValue>> values;  // by the axis' name and the text of a value
  std::vector<Exclusion> exclusions;
};

/// The keys of options that the sweep sets itself in each run and so can't be given, each with the reason.
const std::map<std::string, std::string>& reserved_keys();
/// The command's option of that key; null where the key is "$" and the name of an environment variable. Throws
/// UsageError with the nearest key for others.
const OptionBase* option_of_key(const MeasuredCommand& command, const std::string& key);

/// The cells of the sweep, with their words, and the identities of cell and data. Checks the options of each as the
/// measured command would, as far as possible beforehand. Throws UsageError naming the cell.
std::vector<record::SweepCell> cells_of(const SweepPlan& plan);

struct SweepFlags : OptionGroup {
  SweepFlags() : OptionGroup("Sweep") {}

  Option<std::vector<std::string>> what{
      *this, "WHAT WHAT", rules().needed(),
      "A file with an experiment (.toml), or a measuring command with its words and options, whose values with commas "
      "between them are axes; before it NAME=VALUES for environment variables (docs/sweeps.md)"};
  Option<std::string> out{*this, "--out DIR", rules().called({"--output"}),
                          "Folder of the sweep; one that is there goes on (default: runs/NAME)"};
  Option<int> repeats{*this, "--repeats N", 5, within(from_to(1, 10000)).called({"--runs"}),
                      "Runs of each cell that count"};
  Option<int> warmup{
      *this, "--warmup N", 0, within(from_to(0, 10000)),
      "Runs of each cell before the others, which don't count (before the command: train has a --warmup of its own)"};
  Option<std::string> until{*this, "--until ci=P%",
                            "More runs of a cell than --repeats (5 or more then), until its mean speed is known to +-P "
                            "% (if runs are independent)"};
  Option<int> max_runs{*this, "--max-runs N", 30, within(from_to(5, 10000)), "With --until: at most so many of a cell"};
  Option<std::optional<Percentage>> steady{
      *this, "--steady P%", within({0, 100, true, false, "more than 0% and at most 100%"}),
      "Make all runs so long (epochs, --min-duration, --seconds) that within a run speed "
      "deviates by P % at most, found by pilot runs"};
  Option<std::string> scale{*this, "--scale NAME",
                            "Of an experiment's file: what stands under [scale.NAME] replaces the rest"};
  Option<std::string> reference{*this, "--reference FILE",
                                "CSV of figures that were measured elsewhere, which the page holds these against"};
  Option<std::string> setup{*this, "--setup COMMAND", "Of the shell, before anything else; $EVENER is this program"};
  Option<std::string> prepare{*this, "--prepare COMMAND", "Of the shell, before each run"};
  Option<std::string> cleanup{*this, "--cleanup COMMAND", "Of the shell, after each run"};
  Option<std::string> cool_down{
      *this, "--cool-down SECONDS|load",
      "Wait before each run: so long, or until load, heat and power are as at the start (at most 2 min)"};
  Option<std::optional<double>> run_limit{*this, "--run-limit SECONDS", within(more_than_zero()),
                                          "End a run that takes longer"};
  Option<std::optional<double>> time_limit{*this, "--time-limit SECONDS", within(more_than_zero()),
                                           "Begin no run later"};
  Option<int> energy_repeats{
      *this, "--energy-repeats N", 0, within(from_to(0, 10000)),
      "Further runs of each cell for energy alone: their times don't count, nor the others' energy"};
  Option<std::uint64_t> order_seed{*this, "--order-seed N", 1, "Of the order in which cells run within a block"};
  Option<std::string> again{*this, "--again failed", one_of({"", "failed"}),
                            "Repeat what failed, was killed or is INVALID"};
  Option<bool> predict{*this, "--predict",
                       "Let 'evener plan' predict each training's speed first (a quarter of a minute for each kind of "
                       "work), for the time left, and to hold it against what is measured"};
  Option<bool> dry_run{*this, "--dry-run", "List the runs with the time that they will take, and stop"};
  Option<bool> no_html{*this, "--no-html", "Write no page at the end"};
  Option<bool> quiet{*this, "--quiet", "No progress"};

  /// The plan by the words or the file; set by complete().
  SweepPlan plan;

  /// Writes these options into the record of a sweep.
  void fill(record::SweepRecord& sweep) const;

 private:
  void check_together() const override;
};

/// Reads the measured command with its axes from the words in `what`, or from the file that they name, whose top-level
/// keys go to those options of the sweep that weren't given. `commands`: those that a sweep can run. Throws UsageError,
/// with the line of a file.
void complete(SweepFlags& flags, const MeasuredCommands& commands);

/// The part of complete() that reads an experiment's file.
SweepPlan plan_from_file(const std::string& path, SweepFlags& flags);

}  // namespace evener::sweeps
