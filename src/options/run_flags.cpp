#include "options/run_flags.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/device.h"
#include "base/error.h"
#include "measure/sensors/outside_meter.h"
#include "placement/machine.h"

namespace evener {

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

}  // namespace evener
