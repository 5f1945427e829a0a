// The plan of a sweep: a measured command, the options that all its runs share, and its axes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/sweep/axes.h"
#include "job/options/option.h"
#include "record/sweep_file.h"

namespace evener::job {

// The commands that a sweep can run: those that write a record of their measurements.

/// One of these commands, with options that have no values yet.
struct MeasuredCommand {
  std::string name;
  OptionSet options;
  /// Sets options that weren't given, by those that were; owns the options.
  std::function<void()> complete;
  /// Checks whether this machine can do what the options ask for, before any work.
  std::function<void()> check;
};

/// Throws UsageError with the nearest name for an unknown command.
MeasuredCommand measured_command(const std::string& name);

/// A value of an option as words: one word, or several for options that are lists.
using SweepValue = std::vector<std::string>;

struct SweepPlan {
  std::string title, command, default_out;
  std::string file;                         // of the experiment; empty: words were typed
  std::map<std::string, SweepValue> fixed;  // by key: "batch", "$OMP_WAIT_POLICY"
  std::vector<record::SweepAxis> axes;
  std::map<std::string, std::map<std::string, SweepValue>> values;  // by the axis' name and the text of a value
  std::vector<bench::Exclusion> exclusions;
};

/// The keys of options that the sweep sets itself in each run and so can't be given, each with the reason.
const std::map<std::string, std::string>& reserved_keys();
/// The command's option of that key; null where the key is "$" and the name of an environment variable. Throws
/// UsageError with the nearest key for others.
const OptionBase* option_of_key(const MeasuredCommand& command, const std::string& key);

/// The cells of the sweep, with their words, and the identities of cell and data. Checks the options of each as the
/// measured command would, as far as possible beforehand. Throws UsageError naming the cell.
std::vector<record::SweepCell> cells_of(const SweepPlan& plan);

}  // namespace evener::job
