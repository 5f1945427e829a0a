// What tells energy or power: one interface for counters of the kernel, libraries of drivers, meters of users, and
// powers that a user states. A sensor has channels, each of which covers something; who adds them up is
// measure/energy_meter.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "record/energy.h"

namespace evener::measure {

/// One thing that a sensor sees. It tells either a counter of energy (joules_per_count > 0) or power.
struct Channel {
  std::string name;  // "package-0", "gpu 0", "wall"
  record::Covers covers = record::Covers::kPackage;
  record::EnergyClass kind = record::EnergyClass::kMeasured;
  double joules_per_count = 0;  // of its counter; 0: it tells power
  std::uint64_t range = 0;      // of its counter, after which it starts again from 0; 0 = it never does
  double step_j = 0;            // by which the counter grows at least; 0 = not known
  double step_s = 0;            // how often it changes
  double most_watts = 1000;     // that what it covers could draw: longer without a look than range / that is too long
  std::string note = {};        // what a reader has to know: "average over 1 s"
  std::string uuid = {};        // of a card that tells it
};

/// What a channel says now: a counter, or watts, or why neither.
struct Reading {
  std::optional<std::uint64_t> count = {};
  std::optional<double> watts = {};
  std::optional<double> at_s = {};  // when that was so, by now_s(); absent: now
  /// Powers that were known since the last reading, before `watts`.
  struct Power {
    double at_s = 0, watts = 0;
  };
  std::vector<Power> earlier = {};
  std::string problem = {};  // why there is no value any more
  std::string error = {};    // why there is none this time; empty too where none is due yet
};

/// How a device is doing, beside its power.
struct DeviceState {
  std::string name;  // "gpu 0"
  std::optional<double> utilisation_percent = {};
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<double> clock_mhz = {}, temperature_c = {};
  std::optional<bool> throttled = {};
  std::string throttle_reasons = {};  // "power cap, heat"
  std::string uuid = {};              // of a card that tells it
};

class EnergySensor {
 public:
  virtual ~EnergySensor() = default;

  /// "powercap", "perf", "nvml".
  virtual std::string name() const = 0;
  /// Why it can't be read; empty = it can.
  const std::string& refusal() const { return refusal_; }
  /// What would make it readable; empty where nothing would.
  const std::string& remedy() const { return remedy_; }
  /// None where it can't be read.
  const std::vector<Channel>& channels() const { return channels_; }

  /// A reading of each channel, in their order. `wait_s`: how long it may wait for a value that has to come from
  /// elsewhere; without, such a value arrives with one of the next calls. Never throws.
  virtual std::vector<Reading> read(double wait_s) = 0;
  /// Of devices that say more than their power.
  virtual std::vector<DeviceState> states() { return {}; }

 protected:
  void refuse(std::string why, std::string what_to_do) {
    refusal_ = std::move(why);
    remedy_ = std::move(what_to_do);
  }
  std::vector<Channel> channels_;

 private:
  std::string refusal_, remedy_;
};

using Sensors = std::vector<std::unique_ptr<EnergySensor>>;

}  // namespace evener::measure
