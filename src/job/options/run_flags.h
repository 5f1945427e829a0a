// Options about what commands write and show, and how they measure it.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "job/options/option.h"
#include "measure/sensors/open_sensors.h"
#include "placement/plan.h"

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

/// The option of every command that can time layers.
struct ProfileFlags : OptionGroup {
  ProfileFlags() : OptionGroup("Measuring") {}

  Option<std::string> profile{
      *this,
      {"--profile", "WHAT", "layers: when the work is done, time each layer in a pass of its own (docs/profile.md)"},
      "",
      {.one_of = {"", "layers"}, .suggestions = {"layers"}, .recorded = false, .in_plans = false, .inherited = false}};
};

/// The measuring options of a training.
struct MeasuringFlags : ProfileFlags {
  Option<std::string> trace{*this,
                            {"--trace", "FILE", "Write the phases as a Chrome trace"},
                            "",
                            {.recorded = false, .in_plans = false, .inherited = false}};
  Option<int> sample_interval_ms{*this,
                                 {"--sample-interval", "MILLISECONDS", "Between samples of CPU and memory"},
                                 500,
                                 {.recorded = false, .in_plans = false}};
  Option<double> plan_seconds{*this,
                              {"--plan-seconds", "SECONDS", "How long --on auto may measure"},
                              15,
                              {.range = more_than_zero(), .recorded = false, .in_plans = false}};
};

struct EnergyFlags : OptionGroup {
  EnergyFlags() : OptionGroup("Energy") {}

  Option<double> idle_s{*this,
                        {"--idle", "SECONDS", "Measure the idle power before, and tell energy without it too"},
                        0,
                        {.range = from_to(0, 600), .recorded = false, .in_plans = false, .inherited = false}};
  Option<std::vector<std::string>> meters{
      *this,
      {"--meter", "SOURCE", "A meter of your own, which a command reads: run:COMMAND#VALUE=W (docs/measuring.md)"},
      {},
      {.recorded = false, .inherited = false}};
  Option<std::string> assumed{*this,
                              {"--assume-power", "POWERS",
                               "For what no sensor measures, such as cpu=65W,idle=20W,gpu=150W: the energy is then "
                               "called estimated"},
                              "",
                              {.has_commas = true}};

  /// `plan`: names the GPUs whose energy is measured.
  measure::EnergyOptions options(const placement::Plan& plan) const;

 private:
  void check_together() const override;
};

}  // namespace evener::job
