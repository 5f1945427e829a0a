// NVIDIA GPUs through the driver's library NVML.
#pragma once

#include <filesystem>
#include <vector>

#include "measure/sensors/energy_sensor.h"
#include "measure/sensors/nvml_library.h"

namespace evener::measure {

class NvmlSensor final : public EnergySensor {
 public:
  /// `library`: path of the library; empty = $EVENER_NVML, or else the driver's libnvidia-ml.so.1.
  explicit NvmlSensor(std::filesystem::path library);

  std::string name() const override { return "nvml"; }
  /// Reads the card's energy counter if it has one (Volta and newer), else its power.
  std::vector<Reading> read(double wait_s) override;
  std::vector<DeviceState> states() override;

 private:
  struct Card {
    nvml::Device device = nullptr;
    bool counts = false;  // has an energy counter
  };
  void add_card(unsigned int index);

  const NvmlLibrary library_;
  std::vector<Card> cards_;
};

}  // namespace evener::measure
