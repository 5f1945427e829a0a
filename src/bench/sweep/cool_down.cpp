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

constexpr double kLook_s = 1;  // how long the load is looked at
constexpr double kLongestWait_s = 120;
constexpr double kLongestFixed_s = 24 * 3600;
constexpr double kMoreLoad = 0.05;  // share of the processors
constexpr double kWarmer_celsius = 3;

void sleep_s(double seconds) {
  const Stopwatch clock;
  while (clock.seconds() < seconds && !stop_requested()) {
    const double left = seconds - clock.seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(left, 0.0, 0.1)));
  }
}

Restedness restedness(const fs::path& root) {
  const measure::OthersLoad load(root);
  sleep_s(kLook_s);
  return {load.share().value_or(0), warmest_celsius(root)};
}

}  // namespace

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

bool is_as_rested(const Restedness& now, const Restedness& start) {
  if (now.load > start.load + kMoreLoad) return false;
  return !now.celsius || !start.celsius || *now.celsius <= *start.celsius + kWarmer_celsius;
}

CoolDown::CoolDown(const std::string& text, fs::path root) : root_(std::move(root)) {
  if (text.empty()) return;
  if (text == "load") {
    by_load_ = true;
    at_start_ = restedness(root_);
    return;
  }
  seconds_ = to_number<double>(text).value_or(-1);
  if (!(seconds_ >= 0) || seconds_ > kLongestFixed_s) {
    throw UsageError(fmt::format("--cool-down is {}; it has to be seconds (such as 30), or load", quoted_text(text)));
  }
}

void CoolDown::wait() const {
  sleep_s(seconds_);
  const Stopwatch clock;
  while (by_load_ && clock.seconds() < kLongestWait_s && !stop_requested() &&
         !is_as_rested(restedness(root_), at_start_)) {
    continue;
  }
}

}  // namespace evener::bench
