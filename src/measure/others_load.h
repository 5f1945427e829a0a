// Measures how much of the CPUs other programs use during a measurement.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace evener::measure {

/// Measures from its construction on.
class OthersLoad {
 public:
  explicit OthersLoad(std::filesystem::path root = "/");
  ~OthersLoad();

  /// The share (0 to 1) of all CPUs' time that was used by processes other than this one and its children, or stolen by
  /// other virtual machines on the host. Absent if /proc can't be read or too little time has passed.
  std::optional<double> share() const;

 private:
  struct Start;
  std::filesystem::path root_;
  std::unique_ptr<Start> start_;
};

/// The warning for a user whose run shared the machine; "" if `share` is too small to matter.
std::string others_text(double share);

}  // namespace evener::measure
