// Scenarios on systems whose latencies are known.
#include "infer/scenarios/run_scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/stop.h"
#include "base/this_work.h"
#include "infer/simulated_lanes_helpers.h"

namespace evener::inference {
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
  EXPECT_EQ(result.validity.reasons[0].what, "30 queries (at least 64, to vouch for 90 % of all latencies)");
  EXPECT_EQ(result.validity.reasons[0].advice, "let it run longer: --full has no longest duration");
}

TEST(MultiStream, TooFewQueriesAreEnoughForALowerPercentile) {
  const ScenarioResult result = simulate(quick(Scenario::kMultiStream), 1, [](int, const Query&) { return 0.125; });
  EXPECT_EQ(result.log.queries.size(), 60u) << "of eight samples";
  ASSERT_THAT(rules(result), ElementsAre("too few queries"));
  EXPECT_EQ(result.validity.reasons[0].what, "60 queries (at least 662, to vouch for 99 % of all latencies)");
  EXPECT_THAT(result.validity.reasons[0].advice, HasSubstr("; --percentile 0.9 takes 64 queries"));
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

// The second lane takes 4 ms for a sample, the first one 1 ms: it has done the other three by then. One lane alone
// begins its second part when the first is done.
TEST(MultiStream, TheLogTellsOfTheSlowestPart) {
  ScenarioOptions options = quick(Scenario::kMultiStream);
  options.samples_per_query = 4;
  options.largest_batch = 1;
  const ScenarioResult two = simulate(options, 2, [](int lane, const Query&) { return lane == 0 ? 0.001 : 0.004; });
  EXPECT_EQ(two.log.queries[5].lane, 1);
  EXPECT_EQ(two.log.queries[5].samples, 4);
  EXPECT_NEAR(two.log.queries[5].scheduled_s, 5 * 0.004, 1e-9);
  EXPECT_NEAR(two.log.queries[5].latency_s, 0.004, 1e-9);
  EXPECT_NEAR(two.log.queries[5].parts_s[0], 0, 1e-6);
  EXPECT_NEAR(two.log.queries[5].parts_s[3], 0.004, 1e-6);
  options.largest_batch = 3;
  const ScenarioResult one =
      simulate(options, 1, [](int, const Query& query) { return query.samples.size() == 3 ? 0.003 : 0.002; });
  EXPECT_NEAR(one.log.queries[5].latency_s, 0.005, 1e-9);
  EXPECT_NEAR(one.log.queries[5].parts_s[0], 0.003, 1e-6) << "it waited for the part before";
  EXPECT_NEAR(one.log.queries[5].parts_s[3], 0.002, 1e-6);
  EXPECT_EQ(one.log.queries[5].lane, 0);
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

TEST(Offline, EndsWhenAsManyBatchesAreKeptAsMayBe) {
  ScenarioOptions options = quick(Scenario::kOffline);
  options.largest_batch = 4;
  options.max_queries = 3;
  const ScenarioResult result = simulate(options, 1, [](int, const Query&) { return 0.01; });
  EXPECT_EQ(result.log.samples, 12);
  EXPECT_TRUE(result.log.full);
  EXPECT_THAT(rules(result), IsEmpty());
  EXPECT_THAT(result.notes, ElementsAre(HasSubstr("before its least duration, after 3 queries")));
}

TEST(Offline, TooFewSamplesAreToldAsSuch) {
  ScenarioOptions options = quick(Scenario::kOffline);
  options.min_queries = 100;
  const ScenarioResult result = simulate(options, 1, [](int, const Query&) { return 2.0; });
  ASSERT_THAT(rules(result), ElementsAre("too few queries"));
  EXPECT_EQ(result.validity.reasons[0].what, "30 samples (at least 100)");
  EXPECT_EQ(result.validity.reasons[0].advice, "let it run longer: --full has no longest duration");
}

// Offline asks for all samples, the others for a set of them, which is what the system loads.
TEST(SampleSets, AreAsLargeAsAskedForButOffline) {
  for (const std::string name : kLoadGensNames) {
    ScenarioOptions options = quick(parse_scenario(name));
    options.samples = 60;
    options.set_samples = 7;
    options.target_rate = 50;
    SimulatedSystem system([](int, const Query&) { return 0.01; });
    simulate(options, 1, system);
    const std::set<std::int64_t> loaded(system.loaded.begin(), system.loaded.end());
    EXPECT_EQ(system.loaded.size(), name == "offline" ? 60u : 7u) << name;
    EXPECT_EQ(loaded.size(), system.loaded.size()) << name << ": each once";
    std::set<std::int64_t> asked;
    for (const Query& query : system.answered) asked.insert(query.samples.begin(), query.samples.end());
    EXPECT_EQ(asked, loaded) << name;
  }
}

/// Counts the answers that came before the present part.
struct PartsObserver final : ScenarioObserver {
  explicit PartsObserver(const SimulatedSystem& of) : system(of) {}
  void on_part(const std::string& what) override { parts.emplace_back(what, system.answered.size()); }
  const SimulatedSystem& system;
  std::vector<std::pair<std::string, std::size_t>> parts;
};

TEST(WarmUp, HasEachSizeOnEachLaneInEachRound) {
  const auto sizes = [](const std::string& name, int lanes, std::int64_t largest) {
    ScenarioOptions options = quick(parse_scenario(name));
    options.warm_up = 2;
    options.largest_batch = largest;
    options.target_rate = 10;
    std::vector<std::vector<std::size_t>> asked(static_cast<std::size_t>(lanes));
    SimulatedSystem system([&](int lane, const Query& query) {
      asked[static_cast<std::size_t>(lane)].push_back(query.samples.size());
      return 0.01;
    });
    PartsObserver observer(system);
    SimulatedLanes simulated(system, lanes);
    run_scenario(options, system, simulated, &observer);
    const std::size_t all = observer.parts.at(1).second;
    EXPECT_EQ(observer.parts[0], std::pair(std::string("warming up"), std::size_t{0}));
    EXPECT_EQ(all % static_cast<std::size_t>(lanes), 0u);
    for (auto& of_lane : asked) of_lane.resize(all / static_cast<std::size_t>(lanes));
    for (const auto& of_lane : asked) EXPECT_EQ(of_lane, asked.front()) << name;
    return asked.front();
  };
  EXPECT_THAT(sizes("single-stream", 1, 4), ElementsAre(1, 1));
  EXPECT_THAT(sizes("multi-stream", 1, 5), ElementsAre(5, 5));
  EXPECT_THAT(sizes("multi-stream", 3, 5), ElementsAre(3, 3)) << "a third of eight";
  EXPECT_THAT(sizes("server", 2, 6), ElementsAre(1, 2, 4, 6, 1, 2, 4, 6));
  EXPECT_THAT(sizes("server", 1, 1), ElementsAre(1, 1));
  EXPECT_THAT(sizes("offline", 2, 6), ElementsAre(6, 6));
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

// Which answers are kept is of the sample's place in the sequence, whatever queries, parts and batches it is cut into.
TEST(Seeds, KeepTheAnswersAtTheSamePlacesInEachScenario) {
  constexpr std::size_t kPlaces = 300;
  std::set<std::vector<bool>> all_kept;
  for (const std::string name : kLoadGensNames) {
    ScenarioOptions options = quick(parse_scenario(name));
    options.warm_up = 1;
    options.largest_batch = 3;
    options.target_rate = 150;
    options.accuracy_log_share = 0.4;
    SimulatedSystem system([](int, const Query&) { return 0.01; });
    PartsObserver observer(system);
    SimulatedLanes lanes(system, 1);
    run_scenario(options, system, lanes, &observer);
    ASSERT_EQ(observer.parts.size(), 2u) << name;
    std::vector<bool> kept;
    for (std::size_t n = 0; n < system.answered.size(); ++n) {
      const Query& query = system.answered[n];
      if (n < observer.parts[1].second) {
        EXPECT_THAT(query.logged, IsEmpty()) << name << ": of the warm-up nothing is kept";
        continue;
      }
      const std::size_t first = kept.size();
      kept.resize(first + query.samples.size());
      for (const std::size_t place : query.logged) kept.at(first + place) = true;
    }
    ASSERT_GE(kept.size(), kPlaces) << name;
    kept.resize(kPlaces);
    EXPECT_NEAR(static_cast<double>(std::ranges::count(kept, true)), 0.4 * kPlaces, 30) << name;
    all_kept.insert(kept);
  }
  EXPECT_EQ(all_kept.size(), 1u);
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
  ASSERT_THAT(rules(result), ElementsAre("unfinished", "too few queries", "too short"));
  EXPECT_EQ(result.validity.reasons[2].what, "it took 100 ms (at least 5.0 s)");
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
  for (const auto& [seconds, queries] : observer.told) EXPECT_NEAR(static_cast<double>(queries), 100 * seconds, 0.01);
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
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.min_duration_s = -1; }), HasSubstr("least duration in seconds is -1"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.min_duration_s = INFINITY; }), HasSubstr("is inf; it has to be 0"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.min_duration_s = 0; }), IsEmpty());
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.set_samples = 0; }), HasSubstr("size of the sample set is 0"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.largest_batch = 0; }), HasSubstr("largest batch is 0"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.samples_per_query = 0; }), HasSubstr("samples per query is 0"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.min_queries = 0; }), HasSubstr("fewest queries is 0"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.percentile = 0; }), HasSubstr("the percentile is 0"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.percentile = 0.9999; }), IsEmpty());
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.latency_limit_s = INFINITY; }), HasSubstr("seconds is inf"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.target_rate = INFINITY; }), HasSubstr("the rate is inf"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.accuracy_log_share = 1.5; }), HasSubstr("answers that are kept is 1"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.accuracy_log_share = -0.5; }), HasSubstr("kept is -0.5"));
  EXPECT_THAT(refusal([](ScenarioOptions& o) { o.accuracy_log_share = 1; }), IsEmpty());
}

TEST(Scenarios, AreAsLongAsLoadGensOrQuick) {
  for (const std::string name : kLoadGensNames) {
    const Scenario scenario = parse_scenario(name);
    const ScenarioOptions brief = quick_options(scenario), whole = full_options(scenario, 100);
    EXPECT_EQ(brief.scenario, scenario);
    EXPECT_EQ(brief.percentile, name == "single-stream" ? 0.9 : 0.99) << name;
    EXPECT_EQ(whole.percentile, brief.percentile) << name;
    EXPECT_EQ(std::pair(brief.min_duration_s, brief.max_duration_s), std::pair(5.0, std::optional(60.0))) << name;
    EXPECT_EQ(std::pair(whole.min_duration_s, whole.max_duration_s), std::pair(600.0, std::optional<double>())) << name;
    EXPECT_EQ(std::pair(brief.trial_s, whole.trial_s), std::pair(1.0, 10.0)) << name;
    EXPECT_EQ(fewest_queries(brief), name == "single-stream" ? 64 : name == "offline" ? 1 : 662) << name;
    ScenarioOptions more = brief, fewer = brief;
    more.min_queries = 1000;
    fewer.min_queries = 10;
    EXPECT_EQ(fewest_queries(more), 1000) << name;
    EXPECT_EQ(fewest_queries(fewer), name == "offline" ? 10 : fewest_queries(brief)) << name;
  }
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

TEST(ThreadLanes, ALaneThatCanNotBeginIsToldAndBeginsAgainInTheNextRun) {
  struct Late final : System {
    std::atomic<int> begins = 0;
    void begin_lane(int lane) override {
      if (lane == 1 && ++begins == 1) throw Error("the device of lane 1 is busy");
    }
    LatencyParts answer(int, const Query&) override { return {}; }
  } system;
  const auto lanes = thread_lanes(system, 2);
  EXPECT_EQ(lanes->count(), 2);
  ScenarioOptions options = short_options(Scenario::kOffline);
  options.min_queries = 50;
  try {
    run_scenario(options, system, *lanes);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the device of lane 1 is busy");
  }
  EXPECT_EQ(run_scenario(options, system, *lanes).log.samples, 50) << "the failure was of the run before";
  EXPECT_EQ(system.begins, 2);
}

// As a server of several jobs has it: the flag is of this one alone, not of the process.
TEST(ThreadLanes, WorkForTheJobThatStartsThem) {
  struct Asking final : System {
    StopFlag stop;
    std::array<std::atomic<bool>, 3> told = {};
    std::latch all{3};
    LatencyParts answer(int lane, const Query&) override {
      if (!all.try_wait()) all.arrive_and_wait();  // each of the lanes is here
      stop.request();
      told[static_cast<std::size_t>(lane)] = stop_requested();
      return {};
    }
  } system;
  const WorkScope scope(this_work_until(&system.stop));
  ScenarioOptions options = short_options(Scenario::kOffline);
  options.lanes = 3;
  options.min_duration_s = 100;
  options.warm_up = 0;
  EXPECT_TRUE(run_scenario(options, system).log.stopped);
  for (const auto& told : system.told) EXPECT_TRUE(told);
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

}  // namespace evener::inference
