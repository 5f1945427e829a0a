// How much of the machine others had while something was measured.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace evener::measure {

/// Counts from its construction on.
class OthersLoad {
 public:
  explicit OthersLoad(std::filesystem::path root = "/");
  ~OthersLoad();

  /// The share (0 to 1) of the time of all CPUs that went to processes other than this one and its children that have
  /// ended, or to other guests of a virtual machine's host. Absent where /proc doesn't tell or too little time has
  /// passed.
  std::optional<double> share() const;

 private:
  struct Start;
  std::filesystem::path root_;
  std::unique_ptr<Start> start_;
};

/// What users are told once a run beside others is over; "" where these had so little that it hardly shows.
std::string others_text(double share);

}  // namespace evener::measure
