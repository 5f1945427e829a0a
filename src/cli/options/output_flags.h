// Options about what a training writes and shows.
#pragma once

#include "cli/options/option.h"

namespace evener::cli {

struct OutputFlags : OptionGroup {
  OutputFlags() : OptionGroup("Output") {}

  Option<std::string> out{*this,
                          {"--out",
                           "DIR",
                           "Folder for checkpoints and results (default: runs/MODEL-TIME)",
                           {"--output", "--output-dir", "--save-dir"}},
                          "",
                          {.recorded = false, .in_plans = false}};
  Option<bool> resume{*this, {"--resume", "", "Go on from the checkpoint in --out"}, false, {.in_plans = false}};
  Option<bool> overwrite{
      *this, {"--overwrite", "", "Replace a run that is in --out"}, false, {.recorded = false, .in_plans = false}};
  Option<std::string> json{
      *this, {"--json", "FILE", "Write the record there too; - is stdout"}, "", {.recorded = false}};
  Option<bool> dry_run{*this,
                       {"--dry-run", "", "Print the plan after a look at model, data and weights, and stop"},
                       false,
                       {.recorded = false, .in_plans = false}};
  Option<bool> quiet{*this, {"--quiet", "", "No progress"}, false, {.recorded = false}};

 private:
  void check_together() const override;
};

}  // namespace evener::cli
