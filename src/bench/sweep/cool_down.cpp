#include "bench/sweep/cool_down.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "measure/energy_meter.h"
#include "measure/machine.h"
#include "measure/sensors/open_sensors.h"

namespace evener::bench {
namespace {

namespace fs = std::filesystem;

constexpr double kLook_s = 1;  // duration of a measurement of the load
constexpr double kLongestWait_s = 120;
constexpr double kLongestFixed_s = 24 * 3600;
constexpr double kMoreLoad = 0.05;  // share of the CPUs that load may exceed its start by
constexpr double kWarmer_celsius = 3;
constexpr double kMoreWatts = 5;

void sleep_s(double seconds) {
  const Stopwatch clock;
  while (clock.seconds() < seconds && !stop_requested()) {
    const double left = seconds - clock.seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(left, 0.0, 0.1)));
  }
}

/// The energy sensors, opened for the first look: most sweeps don't look at all.
class PowerLook {
 public:
  explicit PowerLook(fs::path root) : root_(std::move(root)) {}

  void begin() {
    if (!meter_) meter_.emplace(measure::open_sensors({}, root_, boot_now_s));
    meter_->poll();
    begin_s_ = meter_->seconds();
    begin_j_ = meter_->joules_so_far();
  }
  void end() {
    meter_->poll();
    const auto joules = meter_->joules_so_far();
    const double seconds = meter_->seconds() - begin_s_;
    watts_ = joules && begin_j_ && seconds > 0 ? std::optional((*joules - *begin_j_) / seconds) : std::nullopt;
  }
  std::optional<double> watts() const { return watts_; }

 private:
  fs::path root_;
  std::optional<measure::EnergyMeter> meter_;
  double begin_s_ = 0;
  std::optional<double> begin_j_, watts_;
};

/// ", 12 W more"; "" if absent.
std::string difference_text(const std::optional<double>& more, const char* unit) {
  return more ? fmt::format(", {:.0f} {} {}", std::abs(*more), unit, *more < 0 ? "less" : "more") : "";
}

}  // namespace

CoolDownMachine machine_to_cool(const fs::path& root) {
  const auto power = std::make_shared<PowerLook>(root);
  return {.now_s = now_s,
          .sleep_s = sleep_s,
          .others_load =
              [root, power] {
                power->begin();
                const measure::OthersLoad load(root);
                sleep_s(kLook_s);
                power->end();
                return load.share().value_or(0);
              },
          .warmest_celsius = [root] { return warmest_celsius(root); },
          .watts = [power] { return power->watts(); }};
}

std::optional<double> warmest_celsius(const fs::path& root) {
  std::optional<double> warmest;
  std::error_code error;
  for (auto zone = fs::directory_iterator(root / "sys/class/thermal", error);
       !error && zone != fs::directory_iterator(); zone.increment(error)) {
    std::ifstream file(zone->path() / "temp");
    double thousandths = 0;
    if (file >> thousandths) warmest = std::max(warmest.value_or(-300), thousandths / 1000);
  }
  return warmest;
}

CoolDown::CoolDown(const std::string& text, CoolDownMachine machine) : machine_(std::move(machine)) {
  if (text.empty()) return;
  if (text == "load") {
    by_load_ = true;
    load_at_start_ = machine_.others_load();
    celsius_at_start_ = machine_.warmest_celsius();
    watts_at_start_ = machine_.watts();
    return;
  }
  seconds_ = to_number<double>(text).value_or(-1);
  if (!(seconds_ >= 0) || seconds_ > kLongestFixed_s) {
    throw UsageError(fmt::format("--cool-down is {}; it has to be seconds (such as 30), or load", quoted_text(text)));
  }
}

CoolDown::Difference CoolDown::look() const {
  const auto more = [](const std::optional<double>& now, const std::optional<double>& start) {
    return now && start ? std::optional(*now - *start) : std::nullopt;
  };
  Difference difference;
  difference.load = machine_.others_load() - load_at_start_;
  difference.celsius = more(machine_.warmest_celsius(), celsius_at_start_);
  difference.watts = more(machine_.watts(), watts_at_start_);
  return difference;
}

std::string CoolDown::wait() const {
  if (!by_load_) {
    if (seconds_ > 0) machine_.sleep_s(seconds_);
    return seconds_ > 0 ? fmt::format("waited {:g} s before the run (--cool-down)", seconds_) : "";
  }
  const double begin_s = machine_.now_s();
  Difference now;
  bool is_as_at_start = false;
  do {
    now = look();
    is_as_at_start =
        now.load <= kMoreLoad && now.celsius.value_or(0) <= kWarmer_celsius && now.watts.value_or(0) <= kMoreWatts;
  } while (!is_as_at_start && machine_.now_s() - begin_s < kLongestWait_s && !stop_requested());
  return fmt::format("waited {:.0f} s before the run, {} (--cool-down): others' load{}{}{}", machine_.now_s() - begin_s,
                     is_as_at_start ? "until the machine was nearly as at the start"
                                    : "the longest, and the machine was still not as at the start",
                     difference_text(100 * now.load, "% of the CPUs").substr(1),
                     difference_text(now.celsius, "degrees"), difference_text(now.watts, "W"));
}

}  // namespace evener::bench
