// The measurements that a planner needs, as an interface so that a planner can be tested on made-up machines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/sensors/open_sensors.h"
#include "placement/plan.h"
#include "plan/candidates.h"
#include "plan/predict.h"
#include "record/energy.h"
#include "task/training/stages.h"
#include "task/training/trial.h"

namespace evener::plan {

/// The power during a trial's steps.
struct TrialPower {
  std::vector<double> watts;  // mean power in consecutive, equally long parts; empty: unknown
  double seconds = 0;         // of all parts together
  double used_share = 1;      // of the energy: by devices that the placement computes on
  record::EnergyClass kind = record::EnergyClass::kAbsent;
  std::string reason = {};  // why `watts` is empty
};

/// The energy that was used until a time.
struct EnergyReading {
  double at_s = 0;         // by now_s()
  double joules = 0;       // of all devices that add up
  double used_joules = 0;  // of those that the placement computes on
};
/// The power from `begin_s` to `end_s`, between which `readings` lie, ascending. A part is as long as `step_s`, in
/// which the slowest sensor has a new value, or longer, and there are 20 at most. Without a power, and with a reason,
/// where there would be fewer than three.
TrialPower power_between(const std::vector<EnergyReading>& readings, double begin_s, double end_s, double step_s);

struct Trial {
  std::vector<Timing> timings;  // median step time for each batch size, ascending
  std::vector<double> blocks;   // step time of the largest size in consecutive blocks of steps
  std::optional<double> evaluate_images_per_s;
  TrialPower power;  // while the steps of the largest size were taken
};

class Probe {
 public:
  virtual ~Probe() = default;
  virtual double now_s() const = 0;
  /// All that is asked afterwards is asked in this precision; absent: the one of the training's options. Throws Error
  /// where it is impossible.
  virtual void set(std::optional<Precision> precision) = 0;
  /// Why this plan can't train; "" = it can.
  virtual std::string refusal(const placement::Plan& plan) = 0;
  /// Trains on `plan` for about `seconds`. Throws Error if training fails.
  virtual Trial trial(const placement::Plan& plan, double seconds) = 0;
  /// Predicts the times and the memory of the stages of `plan`, which has several. Throws Error if layers can't be
  /// timed.
  virtual task::StageForecast forecast(const placement::Plan& plan) = 0;
  /// Measures the all-reduce between the plan's ranks.
  virtual ExchangeModel exchange(const placement::Plan& plan) = 0;
  virtual double loader_images_per_s() = 0;
  /// The share of the machine's CPU time that other programs have used since the probe was made; absent if unknown.
  virtual std::optional<double> others_share() = 0;
  /// Why energy can't be measured; "" = it can.
  virtual std::string energy_refusal() = 0;
};

/// The energy options for the devices of a plan.
using EnergyOfPlan = std::function<measure::EnergyOptions(const placement::Plan&)>;
/// A probe that measures `training` on this machine and leaves it in the precision that was set last. `training` must
/// outlive it.
std::unique_ptr<Probe> make_probe(task::PreparedTraining& training, EnergyOfPlan energy);

/// Mean step times of consecutive blocks of steps. A block lasts at least 0.05 s, so that short disturbances are
/// averaged out. Returns `seconds` unchanged if there would be fewer than three blocks.
std::vector<double> step_blocks(const std::vector<double>& seconds);

}  // namespace evener::plan
