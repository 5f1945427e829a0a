// What a sweep is to run: a measured command, the options that all its runs share, and its axes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/sweep/axes.h"
#include "job/sweep/measured_command.h"
#include "record/sweep_file.h"

namespace evener::job {

/// A value of an option: its words, one but for options that are lists.
using SweepValue = std::vector<std::string>;

struct SweepPlan {
  std::string title, command, default_out;
  std::string file;                         // of the experiment; empty: words were typed
  std::map<std::string, SweepValue> fixed;  // by key: "batch", "$OMP_WAIT_POLICY"
  std::vector<record::SweepAxis> axes;
  std::map<std::string, std::map<std::string, SweepValue>> values;  // of an axis' name: what its texts stand for
  std::vector<bench::Exclusion> exclusions;
};

/// The keys of options that the sweep sets itself in each run; with why.
const std::map<std::string, std::string>& reserved_keys();
/// The option of that key, which is an option's of the command or the name of an environment variable behind a $
/// (null). Throws UsageError with the nearest key.
const OptionBase* option_of_key(const MeasuredCommand& command, const std::string& key);

/// The cells with their words, and with what identifies them and their data. Each is checked as the measured command
/// would check it, as far as that can be known beforehand. Throws UsageError naming the cell.
std::vector<record::SweepCell> cells_of(const SweepPlan& plan);

}  // namespace evener::job
