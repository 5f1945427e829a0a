// What a sweep is to run, read from the words of a command line or from an experiment's file.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/sweep/axes.h"
#include "cli/command.h"
#include "cli/options/sweep_flags.h"
#include "measure/sweep_file.h"

namespace evener::cli {

/// A value of an option: its words, one but for options that are lists.
using SweepValue = std::vector<std::string>;

/// What the words or the file say, with the options of the measured command already found.
struct SweepPlan {
  std::string title, command, default_out;
  std::map<std::string, SweepValue> fixed;  // by key: "batch", "$OMP_WAIT_POLICY"
  std::vector<measure::SweepAxis> axes;
  std::map<std::string, std::map<std::string, SweepValue>> values;  // of an axis' name: what its texts stand for
  std::vector<bench::Exclusion> exclusions;
};

/// The measured command among those of the program. Throws UsageError for one that measures nothing.
Command measured_command(const Command& program, const std::string& name);

/// The keys of options that the sweep sets itself in each run; with why.
const std::map<std::string, std::string>& reserved_keys();
/// The option of that key, which is an option's of the command or the name of an environment variable behind a $
/// (null). Throws UsageError with the nearest key.
const job::OptionBase* option_of_key(const Command& command, const std::string& key);

/// Takes apart the words behind `evener sweep`; gives those options to `flags` that are the sweep's. Throws UsageError.
SweepPlan plan_from_words(const std::vector<std::string>& words, SweepFlags& flags, const Command& program);
/// The same of words among which are options of the sweep alone, behind an experiment's file.
void own_options_from_words(const std::vector<std::string>& words, SweepFlags& flags);
/// Reads an experiment's file; its top-level keys go to those of `flags` that weren't given. Throws UsageError naming
/// file and line.
SweepPlan plan_from_file(const std::string& path, SweepFlags& flags, const Command& program);

/// The cells with their words, and with what identifies them and their data.
std::vector<measure::SweepCell> cells_of(const SweepPlan& plan, const Command& program);

/// Reads the words of each cell as the program would, and checks what can be known beforehand. Throws UsageError naming
/// the cell.
void check_cells(const SweepPlan& plan, const std::vector<measure::SweepCell>& cells,
                 const std::function<Command()>& program);

}  // namespace evener::cli
