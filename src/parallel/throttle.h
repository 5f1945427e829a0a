// Emulates a device of a fraction of this one's speed ("@0.25" in a placement), for tests of unequal replicas.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/runner.h"

namespace evener::parallel {

/// Makes work take 1 / `factor` times as long, by waiting. `factor` in (0, 1]; 1 never waits.
class Throttle {
 public:
  explicit Throttle(double factor) : factor_(factor) {}

  void begin() {
    clock_ = Stopwatch();
    excluded_s_ = slept_s_ = 0;
    carried_s_ = missing_s_;
  }
  /// Waits until the work since begin() has taken as long as on the slower device. Call this during the work too, so
  /// that its intermediate results (gradients that become ready) come as late as from the slower device. A wait that
  /// was too long is taken from later ones, also after the next begin().
  void catch_up() {
    // How much too late a sleep may end. For so long the clock is watched instead, as steps of small networks are
    // shorter.
    constexpr double kLate_s = 0.0003;
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
  /// Leaves `seconds` of the time since begin() out, which were spent waiting for others.
  void exclude(double seconds) { excluded_s_ += seconds; }
  /// The slower device's time since begin(): work and sleep, without excluded time.
  double seconds() const { return clock_.seconds() - excluded_s_; }

 private:
  const double factor_;
  Stopwatch clock_;
  double excluded_s_ = 0, slept_s_ = 0;
  double missing_s_ = 0;  // sleep that is still owed; negative after one that was too long
  double carried_s_ = 0;  // missing_s_ at begin()
};

/// A runner of an emulated slower device ("@0.5" in a placement).
/// Makes each call take 1 / `factor` times as long, by sleeping. Only one call may be under way at a time.
class ThrottledRunner : public engine::Runner {
 public:
  ThrottledRunner(std::unique_ptr<engine::Runner> runner, double factor)
      : runner_(std::move(runner)), throttle_(factor) {}

  void start(const engine::ImageSpan& images) override {
    throttle_.begin();
    runner_->start(images);
  }
  void start_of_size(const engine::ImageSpan& images, std::int64_t count, std::int64_t height,
                     std::int64_t width) override {
    throttle_.begin();
    runner_->start_of_size(images, count, height, width);
  }
  void start_stage(const std::vector<HostTensor>& received) override {
    throttle_.begin();
    runner_->start_stage(received);
  }
  TensorMap wait() override {
    TensorMap outputs = runner_->wait();
    throttle_.catch_up();
    return outputs;
  }
  std::map<std::string, int> executed() const override { return runner_->executed(); }
  std::string note() const override { return runner_->note(); }

 private:
  std::unique_ptr<engine::Runner> runner_;
  Throttle throttle_;
};

}  // namespace evener::parallel
