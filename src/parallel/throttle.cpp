#include "parallel/throttle.h"

#include <chrono>
#include <thread>

namespace evener::parallel {
namespace {

/// Shorter sleeps would be too inaccurate.
constexpr double kShortest_s = 0.0005;

}  // namespace

void Throttle::begin() {
  clock_ = Stopwatch();
  excluded_s_ = slept_s_ = 0;
  carried_s_ = missing_s_;
}

void Throttle::catch_up() {
  if (factor_ >= 1) return;
  const double worked_s = seconds() - slept_s_;
  missing_s_ = carried_s_ + worked_s / factor_ - (worked_s + slept_s_);
  if (missing_s_ < kShortest_s) return;
  const Stopwatch sleeping;
  std::this_thread::sleep_for(std::chrono::duration<double>(missing_s_));
  const double slept_s = sleeping.seconds();
  slept_s_ += slept_s;
  missing_s_ -= slept_s;
}

}  // namespace evener::parallel
