#include "parallel/pace.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "parallel/paced_runner.h"

namespace evener::parallel {
namespace {

void work(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// Sleeping takes at least as long as asked, so these bounds hold on a loaded machine too.
TEST(Pace, WorkTakesAsLongAsOnTheSlowerDevice) {
  Pace pace(0.25);
  pace.begin();
  work(10);
  pace.catch_up();
  EXPECT_GE(pace.seconds(), 0.039);
  work(5);
  pace.catch_up();
  EXPECT_GE(pace.seconds(), 0.059);
}

TEST(Pace, ShortStepsAreStretchedTogether) {
  Pace pace(0.25);
  double worked_s = 0;
  const Stopwatch all;
  while (worked_s < 0.01) {
    pace.begin();
    const Stopwatch clock;
    while (clock.seconds() < 0.00005) {
    }
    worked_s += clock.seconds();
    pace.catch_up();
  }
  EXPECT_GE(all.seconds(), 4 * worked_s - 0.001);
}

TEST(Pace, WaitingForOthersIsNotStretched) {
  Pace pace(0.001);  // stretched, 10 ms would be 10 s
  pace.begin();
  const Stopwatch waiting;
  work(10);
  pace.exclude(waiting.seconds());
  pace.catch_up();
  EXPECT_LT(pace.seconds(), 5);
}

TEST(Pace, FullSpeedNeverSleeps) {
  Pace pace(1);
  pace.begin();
  for (int i = 0; i < 1000; ++i) pace.catch_up();
  EXPECT_LT(pace.seconds(), 1);
}

TEST(PacedRunner, CallsTakeAsLongAsOnTheSlowerDevice) {
  struct Sleeper : engine::Runner {
    void start(const engine::ImageSpan&) override {}
    TensorMap wait() override {
      work(10);
      return {{"output", HostTensor::of_floats({1}, {7})}};
    }
  };
  PacedRunner runner(std::make_unique<Sleeper>(), 0.2);
  const Stopwatch clock;
  runner.start(std::span<const float>());
  EXPECT_EQ(runner.wait().at("output").floats()[0], 7);
  EXPECT_GE(clock.seconds(), 0.049);
}

}  // namespace
}  // namespace evener::parallel
