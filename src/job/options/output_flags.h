// Options about what commands write and show.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "job/options/option.h"

namespace evener::job {

/// Where a command that writes a record puts its results.
struct OutputFlags : OptionGroup {
  /// `folder`, `json_file`: what --help says of --out and --json.
  explicit OutputFlags(std::string folder, std::string json_file = "Write the record there too; - is stdout")
      : OptionGroup("Output"),
        out(*this, {"--out", "DIR", std::move(folder), {"--output"}}, "", {.recorded = false}),
        json(*this, {"--json", "FILE", std::move(json_file)}, "", {.recorded = false}) {}

  Option<std::string> out;
  Option<bool> overwrite{*this, {"--overwrite", "", "Replace a run that is in --out"}, false, {.recorded = false}};
  Option<std::string> json;
  Option<bool> quiet{*this, {"--quiet", "", "No progress"}, false, {.recorded = false}};
};

/// The output of a training. It has its own options, as a training can be resumed and its options inherited.
struct TrainOutputFlags : OptionGroup {
  TrainOutputFlags();

  Option<std::string> out{*this,
                          {"--out",
                           "DIR",
                           "Folder for checkpoints and results (default: runs/MODEL-TIME)",
                           {"--output", "--output-dir", "--save-dir"}},
                          "",
                          {.recorded = false, .in_plans = false, .inherited = false}};
  Option<std::optional<std::string>> resume{*this,
                                            {"--resume", "[RUN_DIR]",
                                             "Go on with the run in this folder, with its own options where none are "
                                             "given; without a folder: with the run in "
                                             "--out, and the options that are given"},
                                            {},
                                            {.in_plans = false, .inherited = false}};
  Option<bool> overwrite{*this,
                         {"--overwrite", "", "Replace a run that is in --out"},
                         false,
                         {.recorded = false, .in_plans = false, .inherited = false}};
  Option<std::string> json{*this,
                           {"--json", "FILE", "Write the record there too; - is stdout"},
                           "",
                           {.recorded = false, .inherited = false}};
  Option<bool> dry_run{*this,
                       {"--dry-run", "", "Print the plan after a look at model, data and weights, and stop"},
                       false,
                       {.recorded = false, .in_plans = false, .inherited = false}};
  Option<bool> quiet{*this, {"--quiet", "", "No progress"}, false, {.recorded = false, .inherited = false}};

  bool resumes() const { return resume->has_value(); }

 private:
  void check_together() const override;
};

}  // namespace evener::job
