// The interface of everything that reports energy or power: kernel counters, drivers' libraries, users' meters, and
// powers that a user states. A sensor has channels, each for one part of the machine; measure/energy_meter.h adds them
// up.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "record/energy.h"

namespace evener::measure {

/// More than any card, or any machine, draws.
constexpr double kMostCardWatts = 3000, kMostMachineWatts = 1e5;

/// How reasons begin that an administrator can remove.
constexpr const char* kNoRight = "no right";

/// One quantity that a sensor reports: either a counter of energy (joules_per_count > 0) or power.
struct Channel {
  std::string name;  // "package-0", "gpu 0", "wall"
  record::Covers covers = record::Covers::kPackage;
  record::EnergyClass kind = record::EnergyClass::kMeasured;
  double joules_per_count = 0;  // unit of its counter; 0: it reports power
  std::uint64_t range = 0;      // the counter wraps to 0 after this; 0 = never
  double step_j = 0;            // smallest increment of the counter; 0 = unknown
  double step_s = 0;            // interval at which its value changes
  double most_watts = 1000;     // upper bound of its power, to detect missed wraps and false values
  std::string note = {};        // for the reader: "average over 1 s"
  std::string uuid = {};        // of a card that reports one
  /// Of kMachine: it sees what the machine draws from the mains, losses of the power supply included.
  bool at_socket = false;
};

/// A channel's present value: a counter, or watts, or the reason for neither.
struct Reading {
  std::optional<std::uint64_t> count = {};
  std::optional<double> watts = {};
  /// Beside a counter: the device's power as it tells it itself, which the counter is held against.
  std::optional<double> own_watts = {};
  std::optional<double> at_s = {};  // time of the value by now_s(); absent: now
  std::string problem = {};         // why there will be no more values
  std::string error = {};           // why there is no value this time; "" also if none is due yet
};

/// A device's state apart from its power.
struct DeviceState {
  std::string name;  // "gpu 0"
  std::optional<double> utilisation_percent = {};
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<double> clock_mhz = {}, temperature_c = {};
  std::optional<bool> throttled = {};
  std::string throttle_reasons = {};  // "power cap, heat"
  std::string uuid = {};              // of a card that reports one
};

/// Why so many watts, too few or too many, are implausible for the channel; empty = they are plausible.
std::string why_implausible(const Channel& channel, double watts);

/// A part of the machine that a sensor sees and can't read.
struct Lack {
  std::string part;  // "package-1"
  record::Covers covers = record::Covers::kPackage;
  std::string why;  // "no right to read /sys/..."
};

class EnergySensor {
 public:
  virtual ~EnergySensor() = default;

  /// "powercap", "perf", "nvml".
  virtual std::string name() const = 0;
  /// Why the sensor can't be read; empty = it can.
  const std::string& refusal() const { return refusal_; }
  /// What would make it readable; empty if nothing would.
  const std::string& remedy() const { return remedy_; }
  /// Empty if it can't be read.
  const std::vector<Channel>& channels() const { return channels_; }
  /// Parts of the machine that the sensor sees and can't read.
  const std::vector<Lack>& lacks() const { return lacks_; }

  /// Reads each channel, in the order of channels(). `wait_s`: how long to wait for a value that comes over a network
  /// or from a command; a value that takes longer arrives with a later call. Never throws.
  virtual std::vector<Reading> read(double wait_s) = 0;
  /// The states of devices that report more than power.
  virtual std::vector<DeviceState> states() { return {}; }

 protected:
  void refuse(std::string why, std::string what_to_do) {
    refusal_ = std::move(why);
    remedy_ = std::move(what_to_do);
  }
  /// Refuses where there is no channel: because of what it lacks, or if that is nothing because of `why`. `right`: how
  /// to get the right to read.
  void refuse_without_channels(const char* right, std::string why, std::string what_to_do) {
    if (!lacks_.empty()) {
      why = lacks_.front().why;
      what_to_do = why.starts_with(kNoRight) ? right : "look at what the file says; another kernel may count here";
    }
    if (channels_.empty() || !lacks_.empty()) refuse(channels_.empty() ? std::move(why) : "", std::move(what_to_do));
  }
  std::vector<Channel> channels_;
  std::vector<Lack> lacks_;

 private:
  std::string refusal_, remedy_;
};

using Sensors = std::vector<std::unique_ptr<EnergySensor>>;

}  // namespace evener::measure
