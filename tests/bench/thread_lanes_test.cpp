#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/stop.h"
#include "bench/run_scenario.h"

namespace evener::bench {
namespace {

using ::testing::HasSubstr;

ScenarioOptions short_options(Scenario scenario) {
  ScenarioOptions options = quick_options(scenario);
  options.samples = 10;
  options.min_duration_s = 0;
  return options;
}

/// Answers at once.
class NullSystem : public System {
 public:
  void begin_lane(int lane) override {
    const std::lock_guard lock(mutex_);
    begun.emplace(lane, std::this_thread::get_id());
    ++begins;
  }
  LatencyParts answer(int lane, const Query&) override {
    const std::lock_guard lock(mutex_);
    if (begun.contains({lane, std::this_thread::get_id()})) ++answers;
    return {};
  }
  std::set<std::pair<int, std::thread::id>> begun;
  int begins = 0, answers = 0;

 private:
  std::mutex mutex_;
};

TEST(ThreadLanes, ANullSystemIsMeasuredInEachScenario) {
  for (const std::string& name : scenario_names()) {
    ScenarioOptions options = short_options(parse_scenario(name));
    options.lanes = 3;
    options.target_rate = 1e5;
    options.latency_limit_s = 10;
    options.warm_up = 0;
    NullSystem system;
    const ScenarioResult result = run_scenario(options, system);
    EXPECT_EQ(result.validity.valid, true) << name;
    EXPECT_EQ(system.begins, name == "single-stream" ? 1 : 3) << name << ": each lane begins once";
    EXPECT_GE(system.answers, static_cast<int>(result.log.queries.size())) << name << ": in the lane's own thread";
    for (const AnsweredQuery& query : result.log.queries) ASSERT_GE(query.latency_s, 0) << name;
  }
}

TEST(ThreadLanes, AnswerAtTheSameTime) {
  struct Meeting final : System {
    std::latch all{3};
    LatencyParts answer(int, const Query&) override {
      if (!all.try_wait()) all.arrive_and_wait();  // returns when three are here
      return {};
    }
  } system;
  ScenarioOptions options = short_options(Scenario::kOffline);
  options.lanes = 3;
  options.min_queries = 100;
  options.warm_up = 1;
  EXPECT_EQ(run_scenario(options, system).log.samples, 100);
}

TEST(ThreadLanes, WhatASystemThrowsArrives) {
  struct Failing final : System {
    LatencyParts answer(int lane, const Query&) override {
      if (lane == 1) throw UsageError("lane 1 has no memory left");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return {};
    }
  } system;
  for (const Scenario scenario : {Scenario::kMultiStream, Scenario::kServer, Scenario::kOffline}) {
    ScenarioOptions options = short_options(scenario);
    options.lanes = 2;
    options.min_duration_s = 100;
    options.target_rate = 100;
    try {
      run_scenario(options, system);
      FAIL();
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("no memory left"));
    }
  }
}

TEST(ThreadLanes, AStopRequestEndsAWaitForTheNextQuery) {
  struct Stopping final : System {
    LatencyParts answer(int, const Query&) override {
      request_stop();
      return {};
    }
  } system;
  ScenarioOptions options = short_options(Scenario::kServer);
  options.target_rate = 0.0001;  // the second query would come after hours
  options.warm_up = 0;
  options.lanes = 2;
  const ScenarioResult result = run_scenario(options, system);
  clear_stop_request();
  EXPECT_TRUE(result.log.stopped);
  EXPECT_EQ(result.log.queries.size(), 1u);
}

}  // namespace
}  // namespace evener::bench
