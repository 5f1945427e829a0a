#include "parallel/throttle.h"

#include <chrono>
#include <thread>

namespace evener::parallel {
namespace {

/// How much too late a sleep may end. For so long the clock is watched instead, as steps of small networks are shorter.
constexpr double kLate_s = 0.0003;

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
  if (missing_s_ <= 0) return;
  const Stopwatch sleeping;
  if (missing_s_ > kLate_s) std::this_thread::sleep_for(std::chrono::duration<double>(missing_s_ - kLate_s));
  while (sleeping.seconds() < missing_s_) __builtin_ia32_pause();
  const double slept_s = sleeping.seconds();
  slept_s_ += slept_s;
  missing_s_ -= slept_s;
}

}  // namespace evener::parallel
