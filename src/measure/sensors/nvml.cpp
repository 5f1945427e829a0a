#include "measure/sensors/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "measure/sensors/nvml_api.h"

namespace evener::measure {
namespace {

constexpr const char* kDriversLibrary = "libnvidia-ml.so.1";
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

struct NvmlSensor::Library {
  nvml::Functions call;
  bool begun = false;
  std::string missing;  // a required function that the library lacks

  explicit Library(void* opened) {
    const auto find = [&](auto& function, const char* name, bool needed) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened, name));
      if (needed && function == nullptr && missing.empty()) missing = name;
    };
    find(call.init, "nvmlInit_v2", true);
    find(call.shutdown, "nvmlShutdown", true);
    find(call.error_string, "nvmlErrorString", true);
    find(call.device_count, "nvmlDeviceGetCount_v2", true);
    find(call.handle_by_index, "nvmlDeviceGetHandleByIndex_v2", true);
    find(call.name, "nvmlDeviceGetName", false);
    find(call.uuid, "nvmlDeviceGetUUID", false);
    find(call.total_energy, "nvmlDeviceGetTotalEnergyConsumption", false);
    find(call.power, "nvmlDeviceGetPowerUsage", false);
    find(call.utilisation, "nvmlDeviceGetUtilizationRates", false);
    find(call.memory, "nvmlDeviceGetMemoryInfo", false);
    find(call.clock, "nvmlDeviceGetClockInfo", false);
    find(call.temperature, "nvmlDeviceGetTemperature", false);
    find(call.throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons", false);
    find(call.mig_mode, "nvmlDeviceGetMigMode", false);
  }
  ~Library() {
    if (begun) call.shutdown();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// The value from `function`, if the library has it and the call succeeds.
  template <typename Value, typename Function, typename... Arguments>
  std::optional<Value> ask(Function function, Arguments... arguments) const {
    Value value{};
    if (function == nullptr || function(arguments..., &value) != nvml::kSuccess) return std::nullopt;
    return value;
  }
};

struct NvmlSensor::Card {
  nvml::Device device = nullptr;
  bool counts = false;  // has an energy counter
};

NvmlSensor::NvmlSensor(std::filesystem::path library) {
  if (library.empty()) {
    const char* given = std::getenv("EVENER_NVML");
    library = given != nullptr && *given != '\0' ? given : kDriversLibrary;
  }
  // Never closed: drivers' libraries don't like to be unloaded.
  void* opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    refuse(fmt::format("{} (NVML) is not found", library.string()),
           "with an NVIDIA GPU: install the driver's libraries; in a container ask for the 'utility' capability");
    return;
  }
  library_ = std::make_unique<Library>(opened);
  if (!library_->missing.empty()) {
    refuse(fmt::format("{} has no {}", library.string(), library_->missing), "install a newer driver");
    return;
  }
  const nvml::Result begun = library_->call.init();
  if (begun != nvml::kSuccess) {
    refuse(fmt::format("NVML can't be started: {}", library_->call.error_string(begun)),
           begun == nvml::kDriverNotLoaded ? "load the driver: sudo modprobe nvidia"
           : begun == nvml::kNoPermission  ? "give this user the right to use /dev/nvidiactl"
                                           : "");
    return;
  }
  library_->begun = true;
  const unsigned int count = library_->ask<unsigned int>(library_->call.device_count).value_or(0);
  for (unsigned int index = 0; index < count; ++index) add_card(index);
  if (channels_.empty()) refuse("NVML knows no GPU that tells its power", "");
}

NvmlSensor::~NvmlSensor() = default;

void NvmlSensor::add_card(unsigned int index) {
  const nvml::Functions& call = library_->call;
  Card card;
  if (call.handle_by_index(index, &card.device) != nvml::kSuccess) return;
  card.counts = library_->ask<unsigned long long>(call.total_energy, card.device).has_value();
  if (!card.counts && !library_->ask<unsigned int>(call.power, card.device)) return;
  std::array<char, 96> name{};
  if (call.name != nullptr) call.name(card.device, name.data(), name.size() - 1);
  std::array<char, 96> uuid{};
  if (call.uuid != nullptr) call.uuid(card.device, uuid.data(), uuid.size() - 1);
  Channel channel{.name = fmt::format("gpu {}", index),
                  .covers = record::Covers::kGpu,
                  .joules_per_count = card.counts ? kJoulesPerMilli : 0,
                  .step_s = kEnergyUpdate_s,
                  .most_watts = kMostCardWatts,
                  .note = name.data(),
                  .uuid = uuid.data()};
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
    const nvml::Result result = card.counts ? library_->call.total_energy(card.device, &millijoules)
                                            : library_->call.power(card.device, &milliwatts);
    if (result != nvml::kSuccess) {
      reading.problem =
          fmt::format("{} could not be read any more: {}", channels_[n].name, library_->call.error_string(result));
    } else if (card.counts) {
      reading.count = millijoules;
      if (const auto own = library_->ask<unsigned int>(library_->call.power, card.device)) {
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
  if (!library_) return all;
  const nvml::Functions& call = library_->call;
  for (std::size_t n = 0; n < cards_.size(); ++n) {
    const nvml::Device device = cards_[n].device;
    DeviceState& state = all.emplace_back(DeviceState{.name = channels_[n].name, .uuid = channels_[n].uuid});
    if (const auto rates = library_->ask<nvml::Utilisation>(call.utilisation, device)) {
      state.utilisation_percent = rates->gpu;
    }
    if (const auto memory = library_->ask<nvml::Memory>(call.memory, device)) state.memory_bytes = memory->used;
    if (const auto mhz = library_->ask<unsigned int>(call.clock, device, nvml::kClockSm)) state.clock_mhz = *mhz;
    if (const auto degrees = library_->ask<unsigned int>(call.temperature, device, nvml::kTemperatureGpu)) {
      state.temperature_c = *degrees;
    }
    if (const auto bits = library_->ask<unsigned long long>(call.throttle_reasons, device)) {
      state.throttle_reasons = reasons_text(*bits);
      state.throttled = !state.throttle_reasons.empty();
    }
  }
  return all;
}

}  // namespace evener::measure
