#include "job/options/limit_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace evener::job {

measure::LimitOptions LimitFlags::options(const placement::Plan& plan) const {
  measure::LimitOptions options;
  if (!frequency->empty()) options.frequency_mhz = measure::parse_frequency_mhz(*frequency);
  if (!power->empty()) options.power = measure::parse_power_limits(*power);
  if (placement::has_other_hosts(plan)) refuse_several_hosts();
  if (!options.power.gpu) return options;
  for (const auto& replica : plan.replicas) {
    for (const auto& stage : replica.stages) {
      if (stage.device.kind != DeviceKind::kCuda) continue;
      options.gpus.push_back({.index = stage.device.index, .uuid = stage.uuid});
    }
  }
  if (options.gpus.empty()) {
    throw UsageError(fmt::format("--power-limit {}: '{}' has no NVIDIA GPU to limit; a processor's limit is cpu=WATTS",
                                 *power, plan.text));
  }
  return options;
}

void LimitFlags::refuse_several_hosts() const {
  for (const Option<std::string>* option : {&frequency, &power}) {
    if (option->given()) {
      throw UsageError(option->name() +
                       " limits one machine, and this run has several: set the limit on each of them beforehand");
    }
  }
}

void LimitFlags::check_together() const {
  if (!frequency->empty()) measure::parse_frequency_mhz(*frequency);
  if (!power->empty()) measure::parse_power_limits(*power);
}

}  // namespace evener::job
