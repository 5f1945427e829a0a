// Trials of runners, with runners that only wait.
#include "task/inference/runner_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/error.h"

namespace evener::task {
namespace {

using testing::ElementsAre;

class SlowRunner : public engine::Runner {
 public:
  explicit SlowRunner(std::chrono::milliseconds takes) : takes_(takes) {}
  void start(const engine::ImageSpan&) override { std::this_thread::sleep_for(takes_); }
  TensorMap wait() override { return {}; }

 private:
  const std::chrono::milliseconds takes_;
};

class FailingRunner : public engine::Runner {
 public:
  void start(const engine::ImageSpan&) override { throw Error("no memory for it"); }
  TensorMap wait() override { return {}; }
};

Runners one(std::unique_ptr<engine::Runner> runner) {
  Runners runners;
  runners.push_back(std::move(runner));
  return runners;
}

const SampleValues kBatch = {.bytes = {1}, .floats = {}};

// A line of stages is filled before its first call ends.
TEST(RunnerTrial, SteadyRatesLeaveOutTheFirstCall) {
  EXPECT_THAT(rates_between({5, 5.5, 6, 6.25, 6.5, 7, 7.5}, 1, 3), ElementsAre(2, 4, 2));
  EXPECT_THAT(rates_between({5, 5, 6, 6, 8, 8}, 2, 3), ElementsAre(2, 1)) << "two end together";
  EXPECT_THAT(rates_between({0.25}, 1, 3), ElementsAre(4)) << "one call tells something, too";
}

TEST(RunnerTrial, SteadyRatesAreOfTheCallsThatWereMade) {
  const Runners runner = one(std::make_unique<SlowRunner>(std::chrono::milliseconds(1)));
  EXPECT_THAT(steady_call_rates(runner, kBatch, 0, 3), ElementsAre(testing::AllOf(testing::Gt(0), testing::Le(1000))));
}

// Runners compute on threads of their own, where an exception would end the program.
TEST(RunnerTrial, AFailureIsTheCallers) {
  const Runners failing = one(std::make_unique<FailingRunner>());
  EXPECT_THROW(call_rates(failing, kBatch, 0.01, 2), Error);
  EXPECT_THROW(steady_call_rates(failing, kBatch, 0.01, 2), Error);
}

}  // namespace
}  // namespace evener::task
