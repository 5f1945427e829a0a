// Made-up limits of processors below a folder that stands in for the machine's root, and processes that set them.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/cpu.h"
#include "base/files.h"
#include "base/test_folder.h"
#include "measure/limits/held_limits.h"

namespace evener::test {

/// Two cpufreq policies of 800 to 3500 MHz, and a package whose limit is at most 95 W. "policy0" is of the first CPU
/// that this process may use, "policy7" of a CPU that no machine has.
class LimitsTree {
 public:
  LimitsTree() {
    policy("policy0", cpu_topology().allowed.front());
    policy("policy7", 1'000'000);
    const std::string zone = "sys/class/powercap/intel-rapl:0/";
    write_text(folder_ / (zone + "name"), "package-0\n");
    write_text(folder_ / (zone + "constraint_0_name"), "long_term\n");
    write_text(folder_ / (zone + "constraint_0_max_power_uw"), "95000000\n");
    write_text(folder_ / kPackage, "80000000\n");
  }

  void policy(const std::string& name, int cpu) const {
    const std::string files = "sys/devices/system/cpu/cpufreq/" + name + "/";
    write_text(folder_ / (files + "affected_cpus"), std::to_string(cpu) + " 999999\n");
    write_text(folder_ / (files + "cpuinfo_min_freq"), "800000\n");
    write_text(folder_ / (files + "cpuinfo_max_freq"), "3500000\n");
    write_text(frequency_file(name), "3400000\n");
  }
  std::filesystem::path frequency_file(const std::string& name = "policy0") const {
    return folder_ / ("sys/devices/system/cpu/cpufreq/" + name + "/scaling_max_freq");
  }
  std::filesystem::path power_file() const { return folder_ / kPackage; }
  std::filesystem::path state_file() const { return folder_ / "run/evener/limits.json"; }
  std::string frequency(const std::string& name = "policy0") const { return read_file(frequency_file(name)); }
  std::string power() const { return read_file(power_file()); }

  /// `nvml`: path of a library; by default there is none.
  measure::LimitPlaces places(const std::filesystem::path& nvml = "/nonexistent/libnvidia-ml.so.1") const {
    return {.root = folder_.path(), .state = folder_ / "run/evener", .nvml = nvml};
  }
  const std::filesystem::path& path() const { return folder_.path(); }
  /// Lets a user without rights have a state file, but no limit.
  void open_folders_to_all() const {
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all | std::filesystem::perms::group_all |
                                             std::filesystem::perms::others_all);
    std::filesystem::create_directories(state_file().parent_path().parent_path());
    std::filesystem::permissions(state_file().parent_path().parent_path(), std::filesystem::perms::all);
  }

 private:
  const std::string kPackage = "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw";
  TestFolder folder_;
};

/// What keeps these limits from being held; "" = nothing.
inline std::string limits_refusal(const measure::LimitOptions& options, const measure::LimitPlaces& places) {
  try {
    const measure::HeldLimits held(options, places);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// Runs as a user without rights for its lifetime, if this process has the rights of root.
class WithoutRights {
 public:
  WithoutRights() {
    if (was_root_ && seteuid(65534) != 0) ADD_FAILURE() << "can't give up root's rights";
  }
  ~WithoutRights() {
    if (was_root_ && seteuid(0) != 0) ADD_FAILURE() << "can't become root again";
  }
  WithoutRights(const WithoutRights&) = delete;
  WithoutRights& operator=(const WithoutRights&) = delete;

 private:
  const bool was_root_ = geteuid() == 0;
};

/// Another process that holds limits until it is killed.
class OtherRun {
 public:
  OtherRun(const measure::LimitOptions& options, const measure::LimitPlaces& places) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    process_ = fork();
    if (process_ == 0) {
      const measure::HeldLimits held(options, places);
      [[maybe_unused]] const auto told = write(ready[1], "x", 1);
      while (true) pause();
    }
    char told = 0;
    close(ready[1]);
    EXPECT_EQ(read(ready[0], &told, 1), 1) << "the other run could not set its limits";
    close(ready[0]);
  }
  ~OtherRun() { kill(); }
  OtherRun(const OtherRun&) = delete;
  OtherRun& operator=(const OtherRun&) = delete;

  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  int process() const { return process_; }

 private:
  int process_ = -1;
};

}  // namespace evener::test
