// Trials of runners, with runners that only wait.
#include "task/runner_trial.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/error.h"

namespace evener::task {
namespace {

class SlowRunner : public engine::Runner {
 public:
  explicit SlowRunner(std::chrono::milliseconds takes) : takes_(takes) {}
  void start(const engine::ImageSpan&) override { std::this_thread::sleep_for(takes_); }
  TensorMap wait() override { return {}; }

 private:
  const std::chrono::milliseconds takes_;
};

/// Its first call takes as long as all others of a trial.
class SlowAtFirst : public engine::Runner {
 public:
  static constexpr double kFirst_s = 0.04;
  void start(const engine::ImageSpan&) override {
    if (!was_called_) std::this_thread::sleep_for(std::chrono::duration<double>(kFirst_s));
    was_called_ = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  TensorMap wait() override { return {}; }

 private:
  bool was_called_ = false;
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

TEST(RunnerTrial, TellsWhichIsFaster) {
  const Runners slow = one(std::make_unique<SlowRunner>(std::chrono::milliseconds(12)));
  const Runners fast = one(std::make_unique<SlowRunner>(std::chrono::milliseconds(1)));
  EXPECT_GT(speed_against(slow, fast, kBatch, 0.1), 1);
  EXPECT_LT(speed_against(fast, slow, kBatch, 0.1), 1);
}

TEST(RunnerTrial, SteadyRatesLeaveOutTheFirstCall) {
  const Runners runner = one(std::make_unique<SlowAtFirst>());
  for (const double rate : steady_call_rates(runner, kBatch, 0.05, 3)) {
    EXPECT_GT(rate, 1 / SlowAtFirst::kFirst_s) << "a line of stages is filled before its first call ends";
  }
  EXPECT_EQ(steady_call_rates(runner, kBatch, 0, 3).size(), 1u) << "one call tells something, too";
}

// Runners compute on threads of their own, where an exception would end the program.
TEST(RunnerTrial, AFailureIsTheCallers) {
  const Runners failing = one(std::make_unique<FailingRunner>());
  EXPECT_THROW(call_rates(failing, kBatch, 0.01, 2), Error);
  EXPECT_THROW(steady_call_rates(failing, kBatch, 0.01, 2), Error);
}

}  // namespace
}  // namespace evener::task
