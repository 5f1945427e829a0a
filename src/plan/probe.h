// What a planner measures on the machine. An interface, so that a planner can be tested on made-up machines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "placement/plan.h"
#include "plan/predict.h"
#include "task/training/stage_forecast.h"
#include "task/training/trial.h"

namespace evener::plan {

struct Trial {
  std::vector<Timing> timings;  // ascending: the median step of each size
  std::vector<double> blocks;   // seconds of a step of the largest size, of consecutive blocks of steps
  std::optional<double> evaluate_images_per_s;
  std::optional<double> watts;  // of the machine's packages, on average over the trial; absent: see energy_refusal()
};

class Probe {
 public:
  virtual ~Probe() = default;
  virtual double now_s() const = 0;
  /// Why this plan can't train; "" = it can.
  virtual std::string refusal(const placement::Plan& plan) = 0;
  /// Trains for about `seconds`. Throws Error when it fails.
  virtual Trial trial(const placement::Plan& plan, double seconds) = 0;
  /// What the stages of a plan with several would take. Throws Error where layers can't be timed.
  virtual task::StageForecast forecast(const placement::Plan& plan) = 0;
  /// All-reduce among the plan's ranks.
  virtual ExchangeModel exchange(const placement::Plan& plan) = 0;
  virtual double loader_images_per_s() = 0;
  /// The share of the machine's CPU time that others have had since the first measurement; absent where nobody can
  /// tell.
  virtual std::optional<double> others_share() = 0;
  /// Why no energy is known; "" = it is.
  virtual std::string energy_refusal() = 0;
};

/// Measures for a run that is ready but for its plan. `trials` must outlive it.
std::unique_ptr<Probe> make_probe(const task::Trials& trials);

/// Seconds of a step in each of consecutive blocks of steps that are long enough for what comes in bursts to spread
/// over all of them; of few steps, they themselves.
std::vector<double> step_blocks(const std::vector<double>& seconds);

}  // namespace evener::plan
