// Follows the machine's power while a placement is tried.
#pragma once

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "measure/energy_meter.h"
#include "placement/plan.h"
#include "record/energy.h"

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

/// Reads the sensors of a meter in a thread, until it is told to stop or goes.
class PowerTrace {
 public:
  /// `plan`: tells which devices are used. `step_s`: the time in which the slowest sensor has a new value. `meter` must
  /// outlive the trace, and nobody else may use it meanwhile.
  PowerTrace(measure::EnergyMeter& meter, const placement::Plan& plan, double step_s);
  ~PowerTrace() { stop(); }
  PowerTrace(const PowerTrace&) = delete;
  PowerTrace& operator=(const PowerTrace&) = delete;

  /// Ends the reading and gives the power from `begin_s` to `end_s`, by now_s().
  TrialPower power(double begin_s, double end_s);

 private:
  void follow(const std::stop_token& stopping);
  void read();
  void stop();

  measure::EnergyMeter& meter_;
  const placement::Plan& plan_;
  const double step_s_;
  std::vector<EnergyReading> readings_;
  record::EnergyClass kind_ = record::EnergyClass::kAbsent;
  std::string lost_;  // why readings can't be used
  std::jthread thread_;
};

}  // namespace evener::plan
