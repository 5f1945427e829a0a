// Waits between runs until the machine is as it was at the start.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace evener::bench {

/// What a cool-down asks of the machine, and what it waits with.
struct CoolDownMachine {
  std::function<double()> now_s;
  std::function<void(double)> sleep_s;  // returns early after a stop request
  std::function<double()> others_load;  // share of the processors that others use; takes a second
  std::function<std::optional<double>()> warmest_celsius;
};
/// The machine whose /proc and /sys stand in `root`.
CoolDownMachine machine_to_cool(const std::filesystem::path& root = "/");

/// "30": so many seconds. "load": until others use no more of the processors than at the start and, where sensors tell,
/// none is more than 3 degrees warmer; at most two minutes. "": not at all.
class CoolDown {
 public:
  /// Throws UsageError for another text. Looks at the machine for a second where it has to.
  explicit CoolDown(const std::string& text, CoolDownMachine machine = machine_to_cool());

  /// Returns early after a stop request.
  void wait() const;

 private:
  bool is_as_at_start() const;

  CoolDownMachine machine_;
  double seconds_ = 0;
  bool by_load_ = false;
  double load_at_start_ = 0;                // share of the processors that others use
  std::optional<double> celsius_at_start_;  // of the warmest sensor
};

/// Of the warmest sensor of the kernel's thermal zones; absent where there are none (in virtual machines).
std::optional<double> warmest_celsius(const std::filesystem::path& root = "/");

}  // namespace evener::bench
