// Options about what commands write and show, and how they measure it.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "measure/sensors/open_sensors.h"
#include "options/option.h"
#include "placement/plan.h"

namespace evener {

/// Where a command that writes a record puts its results.
struct OutputFlags : OptionGroup {
  /// `folder`, `json_file`: what --help says of --out and --json.
  explicit OutputFlags(std::string folder, std::string json_file = "Write the record there too; - is stdout")
      : OptionGroup("Output"),
        out(*this, {"--out", "DIR", std::move(folder), {"--output"}}, "", {.recorded = false}),
        json(*this, {"--json", "FILE", std::move(json_file)}, "", {.recorded = false}) {}

  Option<std::string> out;
  Option<bool> overwrite{*this, "--overwrite", rules().not_recorded(), "Replace a run that is in --out"};
  Option<std::string> json;
  Option<bool> quiet{*this, "--quiet", rules().not_recorded(), "No progress"};
};

/// The output of a training. It has its own options, as a training can be resumed and its options inherited.
struct TrainOutputFlags : OptionGroup {
  TrainOutputFlags();

  Option<std::string> out{
      *this, "--out DIR",
      rules().called({"--output", "--output-dir", "--save-dir"}).not_recorded().not_in_plans().not_inherited(),
      "Folder for checkpoints and results (default: runs/MODEL-TIME)"};
  Option<std::optional<std::string>> resume{
      *this, "--resume [RUN_DIR]", rules().not_in_plans().not_inherited(),
      "Go on with the run in this folder, with its own options where none are given; without a folder: with the run in "
      "--out, and the options that are given"};
  Option<bool> overwrite{*this, "--overwrite", rules().not_recorded().not_in_plans().not_inherited(),
                         "Replace a run that is in --out"};
  Option<std::string> json{*this, "--json FILE", rules().not_recorded().not_inherited(),
                           "Write the record there too; - is stdout"};
  Option<bool> dry_run{*this, "--dry-run", rules().not_recorded().not_in_plans().not_inherited(),
                       "Print the plan after a look at model, data and weights, and stop"};
  Option<bool> quiet{*this, "--quiet", rules().not_recorded().not_inherited(), "No progress"};

  bool resumes() const { return resume->has_value(); }

 private:
  void check_together() const override;
};

/// The option of every command that can time layers.
struct ProfileFlags : OptionGroup {
  ProfileFlags() : OptionGroup("Measuring") {}

  Option<std::string> profile{
      *this, "--profile WHAT",
      one_of({"", "layers"}).suggesting({"layers"}).not_recorded().not_in_plans().not_inherited(),
      "layers: when the work is done, time each layer in a pass of its own (docs/profile.md)"};
};

/// The measuring options of a training.
struct MeasuringFlags : ProfileFlags {
  Option<std::string> trace{*this, "--trace FILE", rules().not_recorded().not_in_plans().not_inherited(),
                            "Write the phases as a Chrome trace"};
  Option<int> sample_interval_ms{*this, "--sample-interval MILLISECONDS", 500, rules().not_recorded().not_in_plans(),
                                 "Between samples of CPU and memory"};
  Option<double> plan_seconds{*this, "--plan-seconds SECONDS", 15,
                              within(more_than_zero()).not_recorded().not_in_plans(), "How long --on auto may measure"};
};

struct EnergyFlags : OptionGroup {
  EnergyFlags() : OptionGroup("Energy") {}

  Option<double> idle_s{*this, "--idle SECONDS", 0,
                        within(from_to(0, 600)).not_recorded().not_in_plans().not_inherited(),
                        "Measure the idle power before, and tell energy without it too"};
  Option<std::vector<std::string>> meters{
      *this, "--meter SOURCE", rules().not_recorded().not_inherited(),
      "A meter of your own, which a command reads: run:COMMAND#VALUE=W (docs/measuring.md)"};
  Option<std::string> assumed{
      *this, "--assume-power POWERS", rules().with_commas().joined_by(","),
      "For what no sensor measures, such as cpu=65W,idle=20W,gpu=150W: the energy is then called estimated"};

  /// `plan`: names the GPUs whose energy is measured.
  measure::EnergyOptions options(const placement::Plan& plan) const;

 private:
  void check_together() const override;
};

}  // namespace evener
