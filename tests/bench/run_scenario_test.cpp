// Scenarios on systems whose latencies are known.
#include "bench/run_scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/stop.h"
#include "bench/simulated_lanes_helpers.h"

namespace evener::bench {
namespace {

constexpr const char* kLoadGensNames[] = {"single-stream", "multi-stream", "server", "offline"};

using test::SimulatedLanes;
using test::SimulatedSystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ScenarioOptions quick(Scenario scenario) {
  ScenarioOptions options = quick_options(scenario);
  options.samples = 50;
  options.warm_up = 0;
  return options;
}

ScenarioResult simulate(const ScenarioOptions& options, int lanes, SimulatedSystem& system) {
  SimulatedLanes simulated(system, lanes);
  return run_scenario(options, system, simulated);
}

ScenarioResult simulate(const ScenarioOptions& options, int lanes, SimulatedSystem::Service service) {
  SimulatedSystem system(std::move(service));
  return simulate(options, lanes, system);
}

/// Each answer takes a random time of this mean.
SimulatedSystem::Service exponential_service(double mean_s) {
  return [next = test::exponential_times(mean_s)](int, const Query&) { return next(); };
}

std::vector<std::string> rules(const ScenarioResult& result) {
  std::vector<std::string> rules;
  for (const auto& reason : result.validity.reasons) rules.push_back(reason.rule);
  return rules;
}

class StopAfterwards : public ::testing::Test {
 protected:
  void TearDown() override { clear_stop_request(); }
};
using Stopped = StopAfterwards;

TEST(SingleStream, AKnownPercentileIsFound) {
  ScenarioOptions options = full_options(Scenario::kSingleStream, 50);
  options.samples = 50;
  const ScenarioResult result = simulate(options, 1, exponential_service(0.01));
  const double truth = -0.01 * std::log(1 - 0.9);
  EXPECT_EQ(result.validity.valid, true);
  ASSERT_TRUE(result.estimate);
  EXPECT_GE(result.estimate->latency_s, truth);
  EXPECT_LT(result.estimate->latency_s, 1.03 * truth);  // 600 s are some 60,000 queries
  EXPECT_GE(result.log.seconds, 600);
  EXPECT_LT(result.log.seconds, 601);
}

TEST(SingleStream, AsksForTheNextWhenTheLastIsAnswered) {
  const ScenarioResult result = simulate(quick(Scenario::kSingleStream), 1, [](int, const Query& query) {
    EXPECT_EQ(query.samples.size(), 1u);
    return 0.25;
  });
  EXPECT_EQ(result.log.queries.size(), 64u);  // 5 s would take 20, the percentile takes 64
  EXPECT_EQ(result.log.queries[3].scheduled_s, 0.75);
  EXPECT_EQ(result.log.queries[3].latency_s, 0.25);
  EXPECT_EQ(result.estimate->latency_s, 0.25);
  EXPECT_FLOAT_EQ(static_cast<float>(*result.log.mean_parts_s()[3]), 0.25f);  // compute
}

TEST(SingleStream, SlowSystemsEndAfterAMinuteWithTooFewQueries) {
  const ScenarioResult result = simulate(quick(Scenario::kSingleStream), 1, [](int, const Query&) { return 2.0; });
  EXPECT_EQ(result.log.queries.size(), 30u);
  EXPECT_FALSE(result.estimate);
  ASSERT_THAT(rules(result), ElementsAre("too few queries"));
  EXPECT_THAT(result.validity.reasons[0].what, HasSubstr("30 queries (at least 64"));
  EXPECT_THAT(result.validity.reasons[0].advice, HasSubstr("--full"));
}

TEST(SingleStream, EndsWhenAsManyAreKeptAsMayBe) {
  ScenarioOptions options = quick(Scenario::kSingleStream);
  options.max_queries = 1000;
  const ScenarioResult result = simulate(options, 1, [](int, const Query&) { return 1e-5; });
  EXPECT_EQ(result.log.queries.size(), 1000u);
  EXPECT_EQ(result.validity.valid, true);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_THAT(result.notes[0], HasSubstr("after 1000 queries"));
}

TEST(MultiStream, TheSlowestPartDecides) {
  ScenarioOptions options = quick(Scenario::kMultiStream);
  options.samples_per_query = 2;
  options.min_duration_s = 200;
  options.max_duration_s.reset();
  const ScenarioResult result = simulate(options, 2, exponential_service(0.01));
  // The larger of two exponential times: (1 - exp(-x / mean))^2 = 0.99.
  const double truth = -0.01 * std::log(1 - std::sqrt(0.99));
  ASSERT_TRUE(result.estimate);
  EXPECT_GE(result.estimate->latency_s, truth);
  EXPECT_LT(result.estimate->latency_s, 1.08 * truth);
  EXPECT_EQ(result.log.samples, 2 * static_cast<std::int64_t>(result.log.queries.size()));
}

TEST(MultiStream, PartsGoToWhoeverIsFree) {
  ScenarioOptions options = quick(Scenario::kMultiStream);
  const auto service = [](int lane, const Query& query) {
    return (lane == 0 ? 0.001 : 0.003) * static_cast<double>(query.samples.size());
  };
  options.largest_batch = 1;  // the first lane does six of eight samples
  EXPECT_NEAR(simulate(options, 2, service).estimate->latency_s, 0.006, 1e-9);
  options.largest_batch = 8;  // each half
  EXPECT_NEAR(simulate(options, 2, service).estimate->latency_s, 0.012, 1e-9);
  EXPECT_NEAR(simulate(options, 1, service).estimate->latency_s, 0.008, 1e-9);
}

TEST(Offline, LanesAddUp) {
  ScenarioOptions options = quick(Scenario::kOffline);
  options.largest_batch = 4;
  const ScenarioResult result = simulate(options, 2, [](int lane, const Query& query) {
    EXPECT_EQ(query.samples.size(), 4u);
    return lane == 0 ? 0.010 : 0.020;
  });
  EXPECT_EQ(result.validity.valid, true);
  EXPECT_NEAR(static_cast<double>(result.log.samples) / result.log.seconds, 600, 3);
  EXPECT_GE(result.log.seconds, 5);
  for (const double rate : result.log.rates_of_tenths(true)) EXPECT_NEAR(rate, 600, 20);
}

TEST(Offline, HasAsManySamplesAsLoadGenAsksFor) {
  ScenarioOptions options = full_options(Scenario::kOffline, 1'000'000);
  options.samples = 1'000'000;
  options.largest_batch = 32;
  EXPECT_EQ(simulate(options, 1, [](int, const Query&) { return 1.0; }).log.samples, 24'576);
  EXPECT_EQ(fewest_queries(full_options(Scenario::kOffline, 100)), 100);
}

TEST(Offline, TakesEachSampleOnceBeforeAnyComesAgain) {
  ScenarioOptions options = quick(Scenario::kOffline);
  options.largest_batch = 10;
  SimulatedSystem system([](int, const Query&) { return 1.0; });
  simulate(options, 1, system);
  ASSERT_EQ(system.answered.size(), 5u);
  std::set<std::int64_t> seen;
  for (const Query& query : system.answered) seen.insert(query.samples.begin(), query.samples.end());
  EXPECT_EQ(seen.size(), 50u);
  EXPECT_EQ(system.loaded.size(), 50u);
}

TEST(WarmUp, IsNotMeasured) {
  ScenarioOptions options = quick(Scenario::kMultiStream);
  options.warm_up = 3;
  options.largest_batch = 8;
  int calls = 0;
  const ScenarioResult result = simulate(options, 1, [&](int, const Query&) { return ++calls <= 3 ? 9.0 : 0.001; });
  EXPECT_NEAR(result.estimate->latency_s, 0.001, 1e-9);
  EXPECT_LT(result.log.sorted_latencies_s().back(), 0.002);
}

TEST(Seeds, ChangeWhatTheyAreForAlone) {
  const auto run = [](const ScenarioOptions& options) {
    SimulatedSystem system([](int, const Query&) { return 0.01; });
    ScenarioResult result = simulate(options, 1, system);
    std::vector<std::vector<std::int64_t>> asked;
    std::vector<std::vector<std::size_t>> logged;
    for (const Query& query : system.answered) {
      asked.push_back(query.samples);
      logged.push_back(query.logged);
    }
    std::ranges::sort(system.loaded);
    return std::tuple(system.loaded, asked, result.log.queries.at(10).scheduled_s, logged);
  };
  ScenarioOptions options = quick(Scenario::kServer);
  options.samples = 2000;
  options.target_rate = 20;
  options.accuracy_log_share = 0.5;
  const auto first = run(options);
  EXPECT_EQ(run(options), first);
  EXPECT_EQ(std::get<0>(first).size(), 1024u);

  ScenarioOptions other = options;
  other.seeds.schedule = 33;
  EXPECT_NE(std::get<2>(run(other)), std::get<2>(first));
  EXPECT_EQ(std::get<0>(run(other)), std::get<0>(first));
  EXPECT_EQ(std::get<1>(run(other)).front(), std::get<1>(first).front());

  other = options;
  other.seeds.sample_index = 33;
  EXPECT_NE(std::get<1>(run(other)), std::get<1>(first));
  EXPECT_EQ(std::get<2>(run(other)), std::get<2>(first));
  EXPECT_EQ(std::get<0>(run(other)), std::get<0>(first));

  other = options;
  other.seeds.sample_set = 33;
  EXPECT_NE(std::get<0>(run(other)), std::get<0>(first));
  EXPECT_EQ(std::get<2>(run(other)), std::get<2>(first));

  other = options;
  other.seeds.accuracy_log = 33;
  EXPECT_NE(std::get<3>(run(other)), std::get<3>(first));
  EXPECT_EQ(std::get<1>(run(other)), std::get<1>(first));
  std::size_t kept = 0;
  for (const auto& places : std::get<3>(first)) kept += places.size();
  EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(std::get<3>(first).size()), 0.5, 0.1);
}

TEST(MultiStream, LoggedPlacesAreThoseOfTheSamples) {
  ScenarioOptions options = quick(Scenario::kMultiStream);
  options.largest_batch = 8;
  options.accuracy_log_share = 0.5;
  std::int64_t kept = 0, all = 0;
  simulate(options, 2, [&](int, const Query& query) {
    EXPECT_EQ(query.samples.size(), 4u);
    for (const std::size_t place : query.logged) EXPECT_LT(place, 4u);
    kept += static_cast<std::int64_t>(query.logged.size());
    all += 4;
    return 0.01;
  });
  EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(all), 0.5, 0.05);
}

TEST_F(Stopped, EachScenarioEndsWithWhatIsKnown) {
  for (const std::string name : kLoadGensNames) {
    ScenarioOptions options = quick(parse_scenario(name));
    options.largest_batch = 2;
    int calls = 0;
    const ScenarioResult result = simulate(options, 2, [&](int, const Query&) {
      if (++calls == 20) request_stop();
      return 0.01;
    });
    EXPECT_LE(calls, 22) << name;
    EXPECT_TRUE(result.log.stopped) << name;
    EXPECT_EQ(result.validity.valid, false) << name;
    ASSERT_FALSE(result.validity.reasons.empty()) << name;
    EXPECT_EQ(result.validity.reasons[0].rule, "unfinished") << name;
    EXPECT_TRUE(result.rates.empty()) << "what was stopped says nothing of a rate";
    clear_stop_request();
  }
}

TEST_F(Stopped, ARunThatWasStoppedSaysWhatItLacks) {
  int calls = 0;
  const ScenarioResult result = simulate(quick(Scenario::kSingleStream), 1, [&](int, const Query&) {
    if (++calls == 10) request_stop();
    return 0.01;
  });
  EXPECT_EQ(result.log.queries.size(), 10u);
  EXPECT_THAT(rules(result), ElementsAre("unfinished", "too few queries", "too short"));
}

TEST(Scenarios, TellHowFarTheyAre) {
  struct Observer final : ScenarioObserver {
    void on_part(const std::string& what) override { parts.push_back(what); }
    void on_progress(double seconds, std::int64_t queries) override { told.emplace_back(seconds, queries); }
    std::vector<std::string> parts;
    std::vector<std::pair<double, std::int64_t>> told;
  } observer;
  SimulatedSystem system([](int, const Query&) { return 0.01; });
  SimulatedLanes lanes(system, 1);
  run_scenario(quick(Scenario::kSingleStream), system, lanes, &observer);
  EXPECT_THAT(observer.parts, ElementsAre("warming up", "measuring"));
  EXPECT_GT(observer.told.size(), 15u);
  EXPECT_LT(observer.told.size(), 25u);
  EXPECT_TRUE(std::ranges::is_sorted(observer.told));
}

TEST(Scenarios, ImpossibleOptionsAreRefused) {
  const auto refusal = [](const std::function<void(ScenarioOptions&)>& change) -> std::string {
    ScenarioOptions options = quick(Scenario::kServer);
    change(options);
    try {
      check_options(options);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal([](ScenarioOptions&) {}), IsEmpty());
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.percentile = 1; }), HasSubstr("the percentile is 1"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.samples = 0; }), HasSubstr("number of samples is 0"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.lanes = 0; }), HasSubstr("lanes is 0"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.target_rate = -3; }), HasSubstr("rate is -3"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.latency_limit_s = 0; }), HasSubstr("latency limit in seconds is 0"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.min_duration_s = NAN; }), HasSubstr("nan"));
}

TEST(Scenarios, AreNamedAsInLoadGen) {
  for (const char* name : kLoadGensNames) EXPECT_STREQ(scenario_name(parse_scenario(name)), name);
  EXPECT_EQ(parse_scenario("single-stream"), Scenario::kSingleStream);
  EXPECT_EQ(parse_scenario("multi-stream"), Scenario::kMultiStream);
  EXPECT_EQ(parse_scenario("server"), Scenario::kServer);
  try {
    parse_scenario("single-steam");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'single-stream'"));
  }
}

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
  for (const std::string name : kLoadGensNames) {
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
