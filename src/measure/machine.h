// Describes the machine for a record: CPU, memory, operating system, and the load at the start. No host name, for
// privacy. Measures how much of the CPUs other programs use during a measurement.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "measure/sensors/proc_files.h"
#include "record/record.h"

namespace evener::measure {

/// Reads the description from the kernel's files below `root` (tests give a made-up tree) and from base/cpu.h.
record::MachineRecord read_machine(const std::filesystem::path& root = "/");

/// {"evener": `version`, "program": program_identity(), "compiler": "g++ 12.2.0", "build": "optimised" | "not
/// optimised"}; engines add theirs. Without "program" where only the library is installed.
std::map<std::string, std::string> program_versions(const std::string& version);

/// Measures the CPU time of others from its construction on.
class OthersLoad {
 public:
  explicit OthersLoad(std::filesystem::path root = "/");

  /// The share (0 to 1) of all CPUs' time that was used by processes other than this one and its children, or stolen by
  /// other virtual machines on the host. Absent if /proc can't be read or too little time has passed.
  std::optional<double> share() const;

 private:
  std::filesystem::path root_;
  Counters start_;
};

/// The warning for a user whose run shared the machine; "" if `share` is too small to matter.
std::string others_text(double share);

}  // namespace evener::measure
