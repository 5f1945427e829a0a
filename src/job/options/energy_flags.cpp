#include "job/options/energy_flags.h"

#include <set>

#include "base/device.h"
#include "measure/sensors/outside_meter.h"
#include "placement/machine.h"

namespace evener::job {

measure::EnergyOptions EnergyFlags::options(const placement::Plan& plan) const {
  measure::EnergyOptions options{.meters = *meters, .idle_s = *idle_s};
  if (assumed->empty()) return options;
  options.assumed = measure::parse_assumed_power(*assumed);
  std::set<std::string> cards;
  for (const auto& replica : plan.replicas) {
    for (const auto& stage : replica.stages) {
      if (stage.device.kind != DeviceKind::kCpu) cards.insert(device_text(stage.device));
    }
  }
  options.gpus_used = static_cast<int>(cards.size());
  options.gpus_idle = std::max(0, static_cast<int>(placement::machine().cuda.devices.size()) - options.gpus_used);
  return options;
}

void EnergyFlags::check_together() const {
  if (!assumed->empty()) measure::parse_assumed_power(*assumed);
  for (const std::string& meter : *meters) measure::parse_meter(meter);
}

}  // namespace evener::job
