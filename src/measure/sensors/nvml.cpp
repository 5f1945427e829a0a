#include "measure/sensors/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "base/csv.h"

namespace evener::measure {
namespace {

constexpr const char* kDriversLibrary = "libnvidia-ml.so.1";

constexpr double kJoulesPerMilli = 1e-3;
constexpr double kEnergyUpdate_s = 0.1;

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

NvmlLibrary::NvmlLibrary(std::filesystem::path library) {
  if (library.empty()) {
    const char* given = std::getenv("EVENER_NVML");
    library = given != nullptr && *given != '\0' ? given : kDriversLibrary;
  }
  // Never closed: drivers' libraries don't like to be unloaded.
  void* opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    refusal_ = fmt::format("{} (NVML) is not found", library.string());
    remedy_ = "with an NVIDIA GPU: install the driver's libraries; in a container ask for the 'utility' capability";
    return;
  }
  if (const std::string missing = find_functions(opened); !missing.empty()) {
    refusal_ = fmt::format("{} has no {}", library.string(), missing);
    remedy_ = "install a newer driver";
    return;
  }
  const nvml::Result begun = call_.init();
  if (begun != nvml::kSuccess) {
    refusal_ = fmt::format("NVML can't be started: {}", call_.error_string(begun));
    remedy_ = begun == nvml::kDriverNotLoaded ? "load the driver: sudo modprobe nvidia"
              : begun == nvml::kNoPermission  ? "give this user the right to use /dev/nvidiactl"
                                              : "";
    return;
  }
  begun_ = true;
}

NvmlLibrary::~NvmlLibrary() {
  if (begun_) call_.shutdown();
}

std::string NvmlLibrary::find_functions(void* opened) {
  std::string missing;
  const auto find = [&](auto& function, const char* name, bool needed) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened, name));
    if (needed && function == nullptr && missing.empty()) missing = name;
  };
  find(call_.init, "nvmlInit_v2", true);
  find(call_.shutdown, "nvmlShutdown", true);
  find(call_.error_string, "nvmlErrorString", true);
  find(call_.device_count, "nvmlDeviceGetCount_v2", true);
  find(call_.handle_by_index, "nvmlDeviceGetHandleByIndex_v2", true);
  find(call_.name, "nvmlDeviceGetName", false);
  find(call_.uuid, "nvmlDeviceGetUUID", false);
  find(call_.total_energy, "nvmlDeviceGetTotalEnergyConsumption", false);
  find(call_.power, "nvmlDeviceGetPowerUsage", false);
  find(call_.utilisation, "nvmlDeviceGetUtilizationRates", false);
  find(call_.memory, "nvmlDeviceGetMemoryInfo", false);
  find(call_.clock, "nvmlDeviceGetClockInfo", false);
  find(call_.temperature, "nvmlDeviceGetTemperature", false);
  find(call_.throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons", false);
  find(call_.mig_mode, "nvmlDeviceGetMigMode", false);
  return missing;
}

unsigned int NvmlLibrary::cards() const {
  return begun_ ? ask<unsigned int>(call_.device_count).value_or(0) : 0;
}

std::string NvmlLibrary::text(TextOf function, nvml::Device device) {
  std::array<char, 96> text{};
  if (function != nullptr) function(device, text.data(), text.size() - 1);
  return text.data();
}

int card_of(int index) {
  const char* shown = std::getenv("CUDA_VISIBLE_DEVICES");
  if (shown == nullptr) return index;
  const std::vector<std::string> words = csv_cells(shown);
  if (index < 0 || static_cast<std::size_t>(index) >= words.size()) return index;
  const std::string& word = words[static_cast<std::size_t>(index)];
  const bool is_number = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? std::atoi(word.c_str()) : index;
}

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
  const std::string name = fmt::format("gpu {}", index);
  const nvml::Result found = call.handle_by_index(index, &card.device);
  if (found == nvml::kSuccess) {
    card.counts = library_.ask<unsigned long long>(call.total_energy, card.device).has_value();
  }
  if (!card.counts && (found != nvml::kSuccess || !library_.ask<unsigned int>(call.power, card.device))) {
    const char* const why = found == nvml::kSuccess ? "it tells neither energy nor power" : call.error_string(found);
    lacks_.push_back({name, record::Covers::kGpu, fmt::format("NVML: {}", why)});
    return;
  }
  Channel channel{.name = name,
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
