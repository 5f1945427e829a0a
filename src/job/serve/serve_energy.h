// The energy of the machine while it serves.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "job/observer.h"
#include "measure/energy_meter.h"
#include "measure/sensors/open_sensors.h"

namespace evener::job {

/// Reads the sensors twice a second, from its construction to its end.
class ServeEnergy {
 public:
  /// Measures the idle power first, where options.idle_s asks for it.
  ServeEnergy(const measure::EnergyOptions& options, Observer& observer);
  ~ServeEnergy();
  ServeEnergy(const ServeEnergy&) = delete;
  ServeEnergy& operator=(const ServeEnergy&) = delete;

  /// Joules so far, idle power included; absent where nothing measures or estimates them.
  std::optional<double> joules() const;
  /// Reads the sensors once more: "energy: 120 J (measured), 3 mJ a sample", of all that was drawn so far, divided by
  /// so many samples. Where sensors are there and don't tell it, why; "" where none are.
  std::string text(std::uint64_t samples);

 private:
  void poll();

  mutable std::mutex mutex_;  // of the meter
  measure::EnergyMeter meter_;
  measure::IdlePower idle_;
  bool is_over_ = false;
  std::condition_variable over_;
  std::thread thread_;
};

}  // namespace evener::job
