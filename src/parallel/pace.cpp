#include "parallel/pace.h"

#include <chrono>
#include <thread>

namespace evener::parallel {
namespace {

/// Shorter sleeps cost more than they are long.
constexpr double kShortest_s = 0.0005;

}  // namespace

void Pace::begin() {
  clock_ = Stopwatch();
  excluded_s_ = slept_s_ = 0;
}

void Pace::catch_up() {
  if (factor_ >= 1) return;
  const double worked_s = seconds() - slept_s_;
  const double missing_s = worked_s / factor_ - seconds();
  if (missing_s < kShortest_s) return;
  const Stopwatch sleeping;
  std::this_thread::sleep_for(std::chrono::duration<double>(missing_s));
  slept_s_ += sleeping.seconds();
}

}  // namespace evener::parallel
