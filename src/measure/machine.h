// Describes the machine for a record: CPU, memory, operating system, and the load at the start. No host name, for
// privacy.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "record/record.h"

namespace evener::measure {

/// Reads the description from the kernel's files below `root` (tests give a made-up tree) and from base/cpu.h.
record::MachineRecord read_machine(const std::filesystem::path& root = "/");

/// {"evener": `version`, "program": program_identity(), "compiler": "g++ 12.2.0", "build": "optimised" | "not
/// optimised"}; engines add theirs. Without "program" where only the library is installed.
std::map<std::string, std::string> program_versions(const std::string& version);

}  // namespace evener::measure
