// Waits between runs until the machine is as it was at the start.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace evener::bench {

/// What a machine is like at a moment.
struct Restedness {
  double load = 0;                // share of the processors that others use
  std::optional<double> celsius;  // of the warmest sensor
};

/// Whether others use no more of the processors than at the start (but for 5 %) and, where sensors tell, none is more
/// than 3 degrees warmer.
bool is_as_rested(const Restedness& now, const Restedness& start);

/// "30": so many seconds. "load": until the machine is as rested as at the start; at most two minutes. "": not at all.
class CoolDown {
 public:
  /// Throws UsageError for another text. Looks at the machine for a second where it has to.
  explicit CoolDown(const std::string& text, std::filesystem::path root = "/");

  /// Returns early after a stop request.
  void wait() const;

 private:
  std::filesystem::path root_;
  double seconds_ = 0;
  bool by_load_ = false;
  Restedness at_start_;
};

/// Of the warmest sensor of the kernel's thermal zones; absent where there are none (in virtual machines).
std::optional<double> warmest_celsius(const std::filesystem::path& root = "/");

}  // namespace evener::bench
