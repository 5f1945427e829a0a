// Made-up trees of /sys, and sensors with known curves, under a clock that tests turn.
#pragma once

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/test_folder.h"
#include "measure/energy_meter.h"

namespace evener::test {

/// A clock that goes on when it is told to.
class TurnedClock {
 public:
  std::function<double()> reader() {
    return [time = time_] { return *time; };
  }
  double now() const { return *time_; }
  void turn(double seconds) { *time_ += seconds; }

 private:
  std::shared_ptr<double> time_ = std::make_shared<double>(1000);
};

/// A tree with powercap zones.
class PowercapTree {
 public:
  void zone(const std::string& id, const std::string& name, std::uint64_t energy_uj,
            std::uint64_t range_uj = 262'143'328'850) const {
    write_text(folder_ / (kZones + id + "/name"), name + "\n");
    write_text(folder_ / (kZones + id + "/max_energy_range_uj"), std::to_string(range_uj) + "\n");
    count(id, energy_uj);
  }
  void count(const std::string& id, std::uint64_t energy_uj) const {
    write_text(folder_ / (kZones + id + "/energy_uj"), std::to_string(energy_uj) + "\n");
  }
  /// The counter's file says something else than a number.
  void says(const std::string& id, const std::string& text) const {
    std::filesystem::permissions(folder_ / (kZones + id + "/energy_uj"), std::filesystem::perms(0644));
    write_text(folder_ / (kZones + id + "/energy_uj"), text);
  }
  /// Even its owner may not read it, but for root (WithoutRights).
  void unreadable(const std::string& id) const {
    std::filesystem::permissions(folder_ / (kZones + id + "/energy_uj"), std::filesystem::perms::none);
  }
  void vanish(const std::string& id) const { std::filesystem::remove(folder_ / (kZones + id + "/energy_uj")); }
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  const std::string kZones = "sys/class/powercap/";
  TestFolder folder_;
};

/// Root may read every file. While this lives, this thread may not.
class WithoutRights {
 public:
  WithoutRights() {
    call(SYS_capget, had_);
    std::array<__user_cap_data_struct, 2> less = had_;
    less[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
    call(SYS_capset, less);
  }
  ~WithoutRights() { call(SYS_capset, had_); }
  WithoutRights(const WithoutRights&) = delete;
  WithoutRights& operator=(const WithoutRights&) = delete;

 private:
  static void call(long number, std::array<__user_cap_data_struct, 2>& rights) {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    if (syscall(number, &header, rights.data()) != 0) std::abort();
  }
  std::array<__user_cap_data_struct, 2> had_{};
};

/// A sensor of given channels whose readings the test makes.
class MadeUpSensor final : public measure::EnergySensor {
 public:
  using Readings = std::function<std::vector<measure::Reading>()>;
  MadeUpSensor(std::string name, std::vector<measure::Channel> channels, Readings readings)
      : name_(std::move(name)), readings_(std::move(readings)) {
    channels_ = std::move(channels);
  }
  std::string name() const override { return name_; }
  std::vector<measure::Reading> read(double /*wait_s*/) override { return readings_(); }

 private:
  std::string name_;
  Readings readings_;
};

inline measure::Sensors only(std::unique_ptr<measure::EnergySensor> sensor) {
  measure::Sensors sensors;
  sensors.push_back(std::move(sensor));
  return sensors;
}

}  // namespace evener::test
