// Trials of runners, with runners that only wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "task/inference/infer.h"

namespace evener::task {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;

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
TEST(RunnerTrial, RatesLeaveOutTheFirstCalls) {
  EXPECT_THAT(rates_between({{5, 5.5, 6, 6.25, 6.5, 7, 7.5}}, 1), ElementsAre(2.4)) << "6 calls in 2.5 s";
  EXPECT_THAT(rates_between({{5, 6, 6.25, 6.5, 7}}, 2), ElementsAre(1, 3));
  EXPECT_THAT(rates_between({{0.25}}, 3), ElementsAre(4)) << "one call tells something, too";
  EXPECT_THAT(rates_between({{0.5, 1}, {2}}, 3), ElementsAre(1.5)) << "one was too slow for a second call";
  EXPECT_THAT(rates_between({{0.5}, {}}, 3), IsEmpty()) << "stopped";
}

// Beside another program one runner is slower: none waits for it, and what it has half done counts.
TEST(RunnerTrial, RatesAreOfAllRunnersAtTheirOwnPace) {
  EXPECT_THAT(rates_between({{1, 2, 3, 4, 5, 6, 7}, {2, 4, 6}}, 2), ElementsAre(1.5, 1.5)) << "from 2 to 6 s";
  EXPECT_THAT(rates_between({{1, 2, 3, 4, 5, 6, 7}, {2, 4, 6}}, 10), ElementsAre(1.5, 1.5))
      << "each ends a call in each stretch";
  EXPECT_THAT(rates_between({{1, 2, 3, 4, 5}, {1, 3, 5}}, 1), ElementsAre(1.5));
  EXPECT_THAT(rates_between({{1, 2, 3, 4, 5, 6, 7}, {1.5, 4.5, 5.75}}, 1),
              ElementsAre(DoubleNear((4.25 + 2) / 4.25, 1e-12)))
      << "half a call at the begin, three quarters of one at the end";
}

TEST(RunnerTrial, RatesAreOfTheCallsThatWereMade) {
  const Runners runner = one(std::make_unique<SlowRunner>(std::chrono::milliseconds(1)));
  EXPECT_THAT(call_rates(runner, kBatch, 0, 3), ElementsAre(testing::AllOf(testing::Gt(0), testing::Le(1000))));
}

// Runners compute on threads of their own, where an exception would end the program.
TEST(RunnerTrial, AFailureIsTheCallers) {
  const Runners failing = one(std::make_unique<FailingRunner>());
  EXPECT_THROW(call_rates(failing, kBatch, 0.01, 2), Error);
}

}  // namespace
}  // namespace evener::task
