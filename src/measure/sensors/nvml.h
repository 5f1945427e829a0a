// NVIDIA's cards through the driver's library.
#pragma once

#include <filesystem>
#include <memory>

#include "measure/sensors/energy_sensor.h"

namespace evener::measure {

class NvmlSensor final : public EnergySensor {
 public:
  /// `library`: empty = what the environment's EVENER_NVML names, or else the driver's libnvidia-ml.so.1.
  explicit NvmlSensor(std::filesystem::path library);
  ~NvmlSensor() override;

  std::string name() const override { return "nvml"; }
  /// The card's own counter of energy where it has one (Volta and newer), else its power.
  std::vector<Reading> read(double wait_s) override;
  std::vector<DeviceState> states() override;

 private:
  struct Library;
  struct Card;
  void add_card(unsigned int index);

  std::unique_ptr<Library> library_;
  std::vector<Card> cards_;
};

}  // namespace evener::measure
