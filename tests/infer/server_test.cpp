// The server scenario, against what queueing theory knows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "infer/scenarios/run_scenario.h"
#include "infer/simulated_lanes_helpers.h"

namespace evener::inference {
namespace {

using test::SimulatedLanes;
using test::SimulatedSystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

ScenarioOptions full_server() {
  ScenarioOptions options = full_options(Scenario::kServer, 50);
  options.samples = 50;
  options.warm_up = 0;
  return options;
}

ScenarioResult simulate(const ScenarioOptions& options, int lanes, SimulatedSystem::Service service) {
  SimulatedSystem system(std::move(service));
  SimulatedLanes simulated(system, lanes);
  return run_scenario(options, system, simulated);
}

/// 100 queries per second, exponential.
SimulatedSystem::Service hundred_per_second() {
  return [next = test::exponential_times(0.01)](int, const Query& query) {
    return next() * static_cast<double>(query.samples.size());
  };
}

// With one server and exponential times, latency is exponential with the rate (100 - arrivals): its 99th percentile is
// log(100) / (100 - arrivals), which is 0.1 s at 53.95 queries per second.
constexpr double kHighest = 100 - 46.0517;

TEST(Server, TheHighestRateIsThatOfTheory) {
  const ScenarioResult result = simulate(full_server(), 1, hundred_per_second());
  EXPECT_EQ(result.validity.valid, true);
  ASSERT_TRUE(result.highest_rate);
  EXPECT_LT(*result.highest_rate, 1.02 * kHighest);
  EXPECT_GT(*result.highest_rate, 0.9 * kHighest);  // latencies that follow each other are alike: the limit is uneven
  EXPECT_NEAR(*result.arrival_rate, *result.highest_rate, 0.02 * kHighest);
  EXPECT_GE(result.log.seconds, 599);
  EXPECT_LE(result.log.late, *allowed_late(static_cast<std::int64_t>(result.log.queries.size()), 0.99));
}

TEST(Server, LatencyCountsFromTheArrival) {
  ScenarioOptions options = full_server();
  options.target_rate = 50;
  const ScenarioResult result = simulate(options, 1, hundred_per_second());
  EXPECT_EQ(result.validity.valid, true);
  const auto sorted = result.log.sorted_latencies_s();
  EXPECT_NEAR(plain_percentile(sorted, 0.5), std::log(2) / 50, 0.05 * std::log(2) / 50);
  EXPECT_NEAR(plain_percentile(sorted, 0.99), std::log(100) / 50, 0.1 * std::log(100) / 50);
  const auto parts = result.log.mean_parts_s();
  EXPECT_NEAR(*parts[0], 0.01, 0.001);  // waiting: 1 / 50 less the time of an answer
  EXPECT_NEAR(*parts[3], 0.01, 0.0005);
  const auto& queries = result.log.queries;
  EXPECT_EQ(result.log.late, std::ranges::count_if(sorted, [](double latency_s) { return latency_s > 0.1; }));
  EXPECT_GT(result.log.late, 0);
  double last_s = 0;
  for (const AnsweredQuery& query : queries) last_s = std::max(last_s, query.scheduled_s);
  EXPECT_DOUBLE_EQ(result.arrival_rate.value(), static_cast<double>(queries.size() - 1) / last_s);
  ASSERT_EQ(result.rates.size(), 1u);
  EXPECT_EQ(result.rates[0].rate, 50);
  EXPECT_TRUE(result.rates[0].held);
  EXPECT_EQ(result.rates[0].queries, static_cast<std::int64_t>(queries.size()));
  EXPECT_EQ(result.rates[0].seconds, result.log.seconds);
  EXPECT_EQ(result.rates[0].latency_s, plain_percentile(sorted, 0.99));
  EXPECT_EQ(result.rates[0].latency_p50_s, plain_percentile(sorted, 0.5));
  EXPECT_EQ(result.highest_rate, 50);
}

TEST(Server, OverloadIsInvalidWithTheHighestRateThatHeld) {
  ScenarioOptions options = full_server();
  options.target_rate = 200;
  const ScenarioResult result = simulate(options, 1, hundred_per_second());
  EXPECT_EQ(result.validity.valid, false);
  ASSERT_EQ(result.validity.reasons.size(), 1u);
  EXPECT_EQ(result.validity.reasons[0].rule, "latency limit");
  EXPECT_THAT(result.validity.reasons[0].what,
              AllOf(HasSubstr("took longer than 100 ms"), HasSubstr("the highest rate that held was")));
  EXPECT_THAT(result.validity.reasons[0].advice, HasSubstr("--target-rate"));
  ASSERT_TRUE(result.highest_rate);
  EXPECT_NEAR(*result.highest_rate, kHighest, 0.1 * kHighest);
  EXPECT_FALSE(result.rates.front().held);
  EXPECT_EQ(result.rates.front().rate, 200);
  EXPECT_NEAR(*result.arrival_rate, 200, 20) << "the figures stay those of the rate that was asked for";
  EXPECT_LT(result.log.seconds, 60) << "hopeless runs end early";
}

TEST(Server, ALimitBelowTheTimeOfAnAnswerIsNeverKept) {
  ScenarioOptions options = full_server();
  options.latency_limit_s = 0.02;
  const ScenarioResult result = simulate(options, 2, [](int, const Query&) { return 0.05; });
  EXPECT_EQ(result.validity.valid, false);
  EXPECT_FALSE(result.highest_rate);
  ASSERT_EQ(result.validity.reasons.size(), 1u);
  EXPECT_THAT(result.validity.reasons[0].what, HasSubstr("no rate that was tried held"));
  EXPECT_THAT(result.validity.reasons[0].advice, HasSubstr("--latency-limit"));
}

// Trials are over before the system gets tired.
TEST(Server, WhatTrialsDontSeeIsFoundByWholeRuns) {
  ScenarioOptions options = quick_options(Scenario::kServer);
  options.samples = 50;
  options.warm_up = 0;
  int answers = 0;
  const ScenarioResult result =
      simulate(options, 1, [&](int, const Query&) { return ++answers < 2000 ? 0.01 : 0.015; });
  EXPECT_EQ(result.validity.valid, true);
  ASSERT_TRUE(result.highest_rate);
  EXPECT_LT(*result.highest_rate, 0.79 / 0.015);
  EXPECT_GT(*result.highest_rate, 0.5 / 0.015);
  EXPECT_NEAR(*result.arrival_rate, *result.highest_rate, 0.1 * *result.highest_rate);
  EXPECT_LE(result.log.late, *allowed_late(static_cast<std::int64_t>(result.log.queries.size()), 0.99));
}

TEST(Server, LanesAndBatchesRaiseTheRate) {
  const auto service = [](int, const Query& query) {
    return 0.010 + 0.001 * static_cast<double>(query.samples.size());
  };
  ScenarioOptions options = full_server();
  options.min_duration_s = 60;
  const double alone = *simulate(options, 1, service).highest_rate;
  // An M/D/1 queue: its waiting times exceed eight answers once in a hundred times at a load of some 0.77.
  EXPECT_LT(alone, 0.79 / 0.011);
  EXPECT_GT(alone, 0.69 / 0.011);  // rates go down in steps of 5 %
  EXPECT_GT(*simulate(options, 2, service).highest_rate, 1.9 * alone);
  options.largest_batch = 16;
  const ScenarioResult batches = simulate(options, 1, service);
  EXPECT_GT(*batches.highest_rate, 4 * alone);
  EXPECT_LT(*batches.highest_rate, 16 / 0.026);
}

TEST(Server, QueriesThatAreAnsweredTogetherKeepTheirOwnArrivals) {
  ScenarioOptions options = full_server();
  options.target_rate = 300;
  options.largest_batch = 16;
  const ScenarioResult result = simulate(options, 1, [](int, const Query&) { return 0.02; });
  const auto& queries = result.log.queries;
  ASSERT_GT(queries.size(), 1000u);
  std::size_t together = 0;
  for (std::size_t n = 1; n < queries.size(); ++n) {
    const AnsweredQuery &before = queries[n - 1], &query = queries[n];
    ASSERT_GT(query.scheduled_s, before.scheduled_s);
    together += std::abs(query.scheduled_s + query.latency_s - before.scheduled_s - before.latency_s) < 1e-9;
  }
  EXPECT_GT(together, queries.size() / 2) << "some six arrive during an answer";
}

TEST(Server, ArrivalsAreAPoissonProcess) {
  ScenarioOptions options = full_server();
  options.target_rate = 30;
  const ScenarioResult result = simulate(options, 1, [](int, const Query&) { return 1e-6; });
  double sum = 0, squares = 0;
  const auto& queries = result.log.queries;
  for (std::size_t n = 1; n < queries.size(); ++n) {
    const double gap_s = queries[n].scheduled_s - queries[n - 1].scheduled_s;
    sum += gap_s;
    squares += gap_s * gap_s;
  }
  const auto gaps = static_cast<double>(queries.size() - 1);
  EXPECT_NEAR(sum / gaps, 1.0 / 30, 0.03 / 30);                       // some 18,000 gaps: four standard deviations
  EXPECT_NEAR(squares / gaps, 2.0 / (30 * 30), 0.1 * 2 / (30 * 30));  // the second moment of exponential times
}

TEST(Server, QuickRunsAreShort) {
  ScenarioOptions options = quick_options(Scenario::kServer);
  options.samples = 50;
  double total_s = 0;
  const ScenarioResult result = simulate(options, 1, [&](int, const Query& query) {
    const double took_s = 0.01 * static_cast<double>(query.samples.size());
    total_s += took_s;
    return took_s;
  });
  EXPECT_EQ(result.validity.valid, true);
  EXPECT_LT(total_s, 60);
  EXPECT_GE(result.log.queries.size(), 662u);
}

}  // namespace
}  // namespace evener::inference
