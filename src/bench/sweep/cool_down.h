// Waits between runs until the machine is as idle and as cool as at the start.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace evener::bench {

/// The machine's clock and sensors, as functions that tests can replace.
struct CoolDownMachine {
  std::function<double()> now_s;
  std::function<void(double)> sleep_s;  // returns early after a stop request
  std::function<double()> others_load;  // other programs' share of the CPUs; takes a second to measure
  std::function<std::optional<double>()> warmest_celsius;
};
/// The functions for this machine; /proc and /sys are looked for below `root`.
CoolDownMachine machine_to_cool(const std::filesystem::path& root = "/");

/// A cool-down by its text. "30": waits 30 seconds. "load": waits until other programs use hardly more of the CPUs than
/// at the start and the warmest sensor, if there is one, is at most 3 degrees warmer than then; at most two minutes.
/// "": doesn't wait.
class CoolDown {
 public:
  /// Throws UsageError for any other text. For "load", measures the machine for a second.
  explicit CoolDown(const std::string& text, CoolDownMachine machine = machine_to_cool());

  /// Returns early after a stop request.
  void wait() const;

 private:
  bool is_as_at_start() const;

  CoolDownMachine machine_;
  double seconds_ = 0;
  bool by_load_ = false;
  double load_at_start_ = 0;                // other programs' share of the CPUs
  std::optional<double> celsius_at_start_;  // of the warmest sensor
};

/// The temperature of the warmest thermal zone; absent if there are none, as in virtual machines.
std::optional<double> warmest_celsius(const std::filesystem::path& root = "/");

}  // namespace evener::bench
