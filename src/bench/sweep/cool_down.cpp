#include "bench/sweep/cool_down.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "measure/others_load.h"

namespace evener::bench {
namespace {

namespace fs = std::filesystem;

constexpr double kLook_s = 1;  // duration of a measurement of the load
constexpr double kLongestWait_s = 120;
constexpr double kLongestFixed_s = 24 * 3600;
constexpr double kMoreLoad = 0.05;  // share of the CPUs that load may exceed its start by
constexpr double kWarmer_celsius = 3;

void sleep_s(double seconds) {
  const Stopwatch clock;
  while (clock.seconds() < seconds && !stop_requested()) {
    const double left = seconds - clock.seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(left, 0.0, 0.1)));
  }
}

}  // namespace

CoolDownMachine machine_to_cool(const fs::path& root) {
  return {.now_s = now_s,
          .sleep_s = sleep_s,
          .others_load =
              [root] {
                const measure::OthersLoad load(root);
                sleep_s(kLook_s);
                return load.share().value_or(0);
              },
          .warmest_celsius = [root] { return warmest_celsius(root); }};
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
    return;
  }
  seconds_ = to_number<double>(text).value_or(-1);
  if (!(seconds_ >= 0) || seconds_ > kLongestFixed_s) {
    throw UsageError(fmt::format("--cool-down is {}; it has to be seconds (such as 30), or load", quoted_text(text)));
  }
}

bool CoolDown::is_as_at_start() const {
  if (machine_.others_load() > load_at_start_ + kMoreLoad) return false;
  const auto celsius = machine_.warmest_celsius();
  return !celsius || !celsius_at_start_ || *celsius <= *celsius_at_start_ + kWarmer_celsius;
}

void CoolDown::wait() const {
  if (!by_load_) {
    if (seconds_ > 0) machine_.sleep_s(seconds_);
    return;
  }
  const double begin_s = machine_.now_s();
  while (machine_.now_s() - begin_s < kLongestWait_s && !stop_requested() && !is_as_at_start()) continue;
}

}  // namespace evener::bench
