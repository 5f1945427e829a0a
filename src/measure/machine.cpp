#include "measure/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/child.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/own_program.h"
#include "measure/sensors/proc_files.h"

namespace evener::measure {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> governors(const fs::path& cpus) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(cpus, error), end; !error && it != end; it.increment(error)) {
    if (auto name = read_first_line(it->path() / "cpufreq/scaling_governor")) names.insert(*name);
  }
  if (names.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(names, "/"));
}

/// The hypervisor's name where the machine's vendor strings give it away; "container" for the usual containers.
std::optional<std::string> virtualization(const fs::path& root, const std::string& cpuinfo) {
  std::error_code error;
  if (fs::exists(root / ".dockerenv", error) || fs::exists(root / "run/.containerenv", error)) return "container";
  const std::string product = read_first_line(root / "sys/class/dmi/id/product_name").value_or("") + " " +
                              read_first_line(root / "sys/class/dmi/id/sys_vendor").value_or("");
  for (const char* known : {"KVM", "QEMU", "VMware", "VirtualBox", "Xen", "Amazon EC2", "Google Compute Engine"}) {
    if (product.find(known) != std::string::npos) return known;
  }
  if (read_first_line(root / "proc/version").value_or("").find("icrosoft") != std::string::npos) return "WSL2";
  const std::string flags = field_text(cpuinfo, "flags", ':').value_or("");
  if ((" " + flags + " ").find(" hypervisor ") != std::string::npos) return "virtual machine";
  return std::nullopt;
}

std::optional<double> first_number(const std::optional<std::string>& line) {
  if (!line) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// One of ten CPUs. From 5 % on, the validity rules (record/validity.h) call times INVALID in the record, but so little
/// isn't worth a message to every user.
constexpr double kMuch = 0.1;

}  // namespace

record::MachineRecord read_machine(const fs::path& root) {
  record::MachineRecord machine;
  const CpuTopology& topology = cpu_topology();
  const std::string cpuinfo = read_small_file(root / "proc/cpuinfo").value_or("");
  machine.cpu = topology.model;
  if (machine.cpu.empty()) machine.cpu = field_text(cpuinfo, "model name", ':').value_or("unknown");
  machine.packages = topology.packages;
  machine.cores = static_cast<int>(topology.cores.size());
  machine.logical_cpus = static_cast<int>(topology.allowed.size());
  machine.online_cpus = static_cast<int>(parse_stat(read_small_file(root / "proc/stat").value_or("")).size()) - 1;
  if (machine.online_cpus < 1) machine.online_cpus = machine.logical_cpus;
  if (topology.quota_cpus > 0) machine.quota_cpus = topology.quota_cpus;
  if (!topology.kinds.empty()) machine.cpu_kinds = kinds_text(topology.kinds);
  machine.cpu_features = topology.features;
  machine.memory_bytes = field_bytes(read_small_file(root / "proc/meminfo").value_or(""), "MemTotal")
                             .value_or(memory_limits().total_bytes);
  machine.os =
      field_text(read_small_file(root / "etc/os-release").value_or(""), "PRETTY_NAME", '=').value_or("unknown");
  std::erase(machine.os, '"');
  utsname system{};
  if (uname(&system) == 0) {
    machine.kernel = std::string(system.sysname) + " " + system.release + " " + system.machine;
  }
  machine.governor = governors(root / "sys/devices/system/cpu");
  machine.load_1min = first_number(read_first_line(root / "proc/loadavg"));
  machine.virtualization = virtualization(root, cpuinfo);
  return machine;
}

namespace {

/// Found once, as the files may be replaced while this process goes on; "" where the program isn't there.
const std::string& identity_at_start() {
  static const std::string identity = [] {
    try {
      return program_identity();
    } catch (const Error&) {
      return std::string();
    }
  }();
  return identity;
}

}  // namespace

std::map<std::string, std::string> program_versions(const std::string& version) {
  std::map<std::string, std::string> versions{{"evener", version}};
#ifdef __clang__
  versions["compiler"] = std::string("clang ") + __clang_version__;
#else
  versions["compiler"] = std::string("g++ ") + __VERSION__;
#endif
#ifdef __OPTIMIZE__
  versions["build"] = "optimised";
#else
  versions["build"] = "not optimised";
#endif
  if (!identity_at_start().empty()) versions["program"] = identity_at_start();
  return versions;
}

OthersLoad::OthersLoad(std::filesystem::path root)
    : root_(std::move(root)), start_(read_counters(root_, live_children())) {}

std::optional<double> OthersLoad::share() const {
  const Counters now = read_counters(root_, live_children());
  const Usage usage = usage_between(start_, now);
  if (!usage.others_percent || now.cores.empty()) return std::nullopt;
  const double percent = *usage.others_percent + usage.steal_percent.value_or(0);
  return std::min(1.0, percent / 100 / static_cast<double>(now.cores.size()));
}

std::string others_text(double share) {
  if (share < kMuch) return "";
  return fmt::format(
      "others used {:.0f} % of this machine's CPUs meanwhile: speeds, times and energy are those of a busy "
      "machine, and say little of a quiet one",
      100 * share);
}

}  // namespace evener::measure
