// What the machine is, for a record: processor, memory, system, and what was going on at the start. No host name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace evener::measure {

/// Absent values are unknown on this machine (no governor in a container, say).
struct MachineRecord {
  std::string cpu;  // model as the kernel names it
  int packages = 0;
  int cores = 0;                          // physical cores this process may use
  int logical_cpus = 0;                   // logical CPUs this process may use
  int online_cpus = 0;                    // logical CPUs of the whole machine
  std::optional<double> quota_cpus;       // cgroup quota, where there is one
  std::optional<std::string> cpu_kinds;   // "8 cores IntelCore (16 CPUs), 8 cores IntelAtom (8 CPUs)"; absent: alike
  std::vector<std::string> cpu_features;  // avx512_bf16 and the like
  std::uint64_t memory_bytes = 0;
  std::string os;                             // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;                         // "Linux 6.1.0-18-amd64 x86_64"
  std::optional<std::string> governor;        // cpufreq governor; several joined by '/'
  std::optional<double> load_1min;            // load average when read
  std::optional<std::string> virtualization;  // "kvm", "container", ...; absent = none seen
};

/// Reads it from the kernel's files below `root` (tests give a made-up tree) and from base/cpu.h.
MachineRecord read_machine(const std::filesystem::path& root = "/");

/// {"evener": `version`, "compiler": "g++ 12.2.0", "build": "optimised" | "not optimised"}; engines add theirs.
std::map<std::string, std::string> program_versions(const std::string& version);

}  // namespace evener::measure
