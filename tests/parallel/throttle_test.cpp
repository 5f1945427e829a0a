#include "parallel/throttle.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace evener::parallel {
namespace {

void work(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// Sleeping takes at least as long as asked, so these bounds hold on a loaded machine too.
TEST(Throttle, WorkTakesAsLongAsOnTheSlowerDevice) {
  Throttle throttle(0.25);
  throttle.begin();
  work(10);
  throttle.catch_up();
  EXPECT_GE(throttle.seconds(), 0.039);
  work(5);
  throttle.catch_up();
  EXPECT_GE(throttle.seconds(), 0.059);
}

TEST(Throttle, ShortStepsAreStretchedTogether) {
  Throttle throttle(0.25);
  double worked_s = 0;
  const Stopwatch all;
  while (worked_s < 0.01) {
    throttle.begin();
    const Stopwatch clock;
    while (clock.seconds() < 0.00005) {
    }
    worked_s += clock.seconds();
    throttle.catch_up();
  }
  EXPECT_GE(all.seconds(), 4 * worked_s - 0.001);
}

TEST(Throttle, WaitingForOthersIsNotStretched) {
  Throttle throttle(0.001);  // stretched, 10 ms would be 10 s
  throttle.begin();
  const Stopwatch waiting;
  work(10);
  throttle.exclude(waiting.seconds());
  throttle.catch_up();
  EXPECT_LT(throttle.seconds(), 5);
}

TEST(Throttle, FullSpeedNeverSleeps) {
  Throttle throttle(1);
  throttle.begin();
  for (int i = 0; i < 1000; ++i) throttle.catch_up();
  EXPECT_LT(throttle.seconds(), 1);
}

TEST(ThrottledRunner, CallsTakeAsLongAsOnTheSlowerDevice) {
  struct Sleeper : engine::Runner {
    void start(const engine::ImageSpan&) override {}
    TensorMap wait() override {
      work(10);
      return {{"output", HostTensor::of_floats({1}, {7})}};
    }
  };
  ThrottledRunner runner(std::make_unique<Sleeper>(), 0.2);
  const Stopwatch clock;
  runner.start(std::span<const float>());
  EXPECT_EQ(runner.wait().at("output").floats()[0], 7);
  EXPECT_GE(clock.seconds(), 0.049);
}

}  // namespace
}  // namespace evener::parallel
