#include "job/options/run_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/device.h"
#include "base/error.h"
#include "measure/sensors/outside_meter.h"
#include "placement/machine.h"

namespace evener::job {

TrainOutputFlags::TrainOutputFlags() : OptionGroup("Output") {
  resume.record_as([this](nlohmann::json& value) { value = resumes(); });
}

void TrainOutputFlags::check_together() const {
  if (!resumes()) return;
  if (out->empty()) throw UsageError("--resume needs the folder of the run to go on with: --resume RUN_DIR");
  if (*overwrite) {
    throw UsageError("--resume goes on with the run in the folder, and --overwrite replaces it: give one of them");
  }
  const std::string& run = **resume;
  std::error_code none;
  if (!run.empty() && run != *out && !std::filesystem::equivalent(run, *out, none)) {
    throw UsageError("--resume " + run + " goes on in that folder, and --out names another one (" + *out +
                     "). Leave --out out; to keep the run as it is, copy its folder first and resume the copy");
  }
}

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
