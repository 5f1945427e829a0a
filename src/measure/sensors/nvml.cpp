#include "measure/sensors/nvml.h"

#include <fmt/format.h>

#include <array>

namespace evener::measure {
namespace {

constexpr double kJoulesPerMilli = 1e-3;
constexpr double kEnergyUpdate_s = 0.1;
constexpr double kMostCardWatts = 3000;

std::string reasons_text(unsigned long long bits) {
  const std::array<std::pair<unsigned long long, const char*>, 5> known{{{nvml::kPowerCap, "power cap"},
                                                                         {nvml::kHardwareSlowdown, "hardware slowdown"},
                                                                         {nvml::kSoftwareHeat, "heat"},
                                                                         {nvml::kHardwareHeat, "heat (hardware)"},
                                                                         {nvml::kPowerBrake, "power brake"}}};
  std::string text;
  for (const auto& [bit, name] : known) {
    if ((bits & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

}  // namespace

NvmlSensor::NvmlSensor(std::filesystem::path library) : library_(std::move(library)) {
  if (!library_.refusal().empty()) {
    refuse(library_.refusal(), library_.remedy());
    return;
  }
  const unsigned int count = library_.cards();
  for (unsigned int index = 0; index < count; ++index) add_card(index);
  if (channels_.empty()) refuse("NVML knows no GPU that tells its power", "");
}

void NvmlSensor::add_card(unsigned int index) {
  const nvml::Functions& call = library_.call();
  Card card;
  if (call.handle_by_index(index, &card.device) != nvml::kSuccess) return;
  card.counts = library_.ask<unsigned long long>(call.total_energy, card.device).has_value();
  if (!card.counts && !library_.ask<unsigned int>(call.power, card.device)) return;
  Channel channel{.name = fmt::format("gpu {}", index),
                  .covers = record::Covers::kGpu,
                  .joules_per_count = card.counts ? kJoulesPerMilli : 0,
                  .step_s = kEnergyUpdate_s,
                  .most_watts = kMostCardWatts,
                  .note = library_.name(card.device),
                  .uuid = library_.uuid(card.device)};
  if (!card.counts) channel.note += "; power, which the driver may average over a second, summed over time";
  unsigned int mig = 0, pending = 0;
  if (call.mig_mode != nullptr && call.mig_mode(card.device, &mig, &pending) == nvml::kSuccess && mig != 0) {
    channel.note += "; MIG: energy of the whole card, which its other instances share";
  }
  channels_.push_back(std::move(channel));
  cards_.push_back(card);
}

std::vector<Reading> NvmlSensor::read(double /*wait_s*/) {
  std::vector<Reading> readings;
  for (std::size_t n = 0; n < cards_.size(); ++n) {
    const Card& card = cards_[n];
    Reading& reading = readings.emplace_back();
    unsigned long long millijoules = 0;
    unsigned int milliwatts = 0;
    const nvml::Result result = card.counts ? library_.call().total_energy(card.device, &millijoules)
                                            : library_.call().power(card.device, &milliwatts);
    if (result != nvml::kSuccess) {
      reading.problem =
          fmt::format("{} could not be read any more: {}", channels_[n].name, library_.call().error_string(result));
    } else if (card.counts) {
      reading.count = millijoules;
      if (const auto own = library_.ask<unsigned int>(library_.call().power, card.device)) {
        reading.own_watts = *own * kJoulesPerMilli;
      }
    } else {
      reading.watts = milliwatts * kJoulesPerMilli;
    }
  }
  return readings;
}

std::vector<DeviceState> NvmlSensor::states() {
  std::vector<DeviceState> all;
  const nvml::Functions& call = library_.call();
  for (std::size_t n = 0; n < cards_.size(); ++n) {
    const nvml::Device device = cards_[n].device;
    DeviceState& state = all.emplace_back(DeviceState{.name = channels_[n].name, .uuid = channels_[n].uuid});
    if (const auto rates = library_.ask<nvml::Utilisation>(call.utilisation, device)) {
      state.utilisation_percent = rates->gpu;
    }
    if (const auto memory = library_.ask<nvml::Memory>(call.memory, device)) state.memory_bytes = memory->used;
    if (const auto mhz = library_.ask<unsigned int>(call.clock, device, nvml::kClockSm)) state.clock_mhz = *mhz;
    if (const auto degrees = library_.ask<unsigned int>(call.temperature, device, nvml::kTemperatureGpu)) {
      state.temperature_c = *degrees;
    }
    if (const auto bits = library_.ask<unsigned long long>(call.throttle_reasons, device)) {
      state.throttle_reasons = reasons_text(*bits);
      state.throttled = !state.throttle_reasons.empty();
    }
  }
  return all;
}

}  // namespace evener::measure
