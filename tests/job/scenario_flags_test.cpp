#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "job/infer/infer_flags.h"

namespace evener::job {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Words = std::vector<std::pair<std::string, std::string>>;  // option, value

/// The options as a command line gives them, checked.
void give_scenario(ScenarioFlags& flags, const Words& words) {
  for (const auto& [name, value] : words) {
    const auto& options = flags.options();
    const auto option = std::ranges::find(options, name, &OptionBase::name);
    ASSERT_NE(option, options.end()) << name;
    (*option)->read({value});
  }
  flags.check();
}

std::string scenario_refusal(const Words& words) {
  ScenarioFlags flags;
  try {
    give_scenario(flags, words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ScenarioFlags, DefaultsAreThoseOfTheScenario) {
  ScenarioFlags none;
  give_scenario(none, {});
  EXPECT_FALSE(none.wanted());

  ScenarioFlags single;
  give_scenario(single, {{"--scenario", "single-stream"}});
  const bench::ScenarioOptions quick = single.scenario_options(200);
  EXPECT_EQ(quick.scenario, bench::Scenario::kSingleStream);
  EXPECT_EQ(quick.samples, 200);
  EXPECT_EQ(quick.percentile, 0.9);
  EXPECT_EQ(quick.min_duration_s, 5);
  EXPECT_EQ(quick.max_duration_s, 60);

  ScenarioFlags offline;
  give_scenario(offline, {{"--scenario", "offline"}, {"--full", "true"}});
  const bench::ScenarioOptions full = offline.scenario_options(50'000);
  EXPECT_EQ(full.min_duration_s, 600);
  EXPECT_EQ(full.min_queries, 24'576);
  EXPECT_FALSE(full.max_duration_s);
}

TEST(ScenarioFlags, EachReachesItsOption) {
  ScenarioFlags server;
  give_scenario(server, {{"--scenario", "server"},
                         {"--latency-limit", "15"},
                         {"--target-rate", "40.5"},
                         {"--percentile", "0.97"},
                         {"--min-duration", "90"},
                         {"--scenario-seeds", "5,6,7,18446744073709551615"}});
  const bench::ScenarioOptions options = server.scenario_options(10);
  EXPECT_EQ(options.latency_limit_s, 0.015);
  EXPECT_EQ(options.target_rate, 40.5);
  EXPECT_EQ(options.percentile, 0.97);
  EXPECT_EQ(options.min_duration_s, 90);
  EXPECT_FALSE(options.max_duration_s) << "shorter than the least duration";
  EXPECT_EQ(options.seeds.sample_set, 5u);
  EXPECT_EQ(options.seeds.sample_index, 6u);
  EXPECT_EQ(options.seeds.schedule, 7u);
  EXPECT_EQ(options.seeds.accuracy_log, 18446744073709551615u);

  ScenarioFlags multi;
  give_scenario(multi, {{"--scenario", "multi-stream"}, {"--samples-per-query", "4"}});
  EXPECT_EQ(multi.scenario_options(10).samples_per_query, 4);
  EXPECT_EQ(multi.scenario_options(10).percentile, 0.99);
}

TEST(ScenarioFlags, WhatHasNoEffectIsRefused) {
  EXPECT_THAT(scenario_refusal({{"--scenario", "server"}, {"--quick", "true"}}), IsEmpty());
  EXPECT_THAT(scenario_refusal({{"--quick", "true"}}), HasSubstr("--quick has no effect without --scenario"));
  EXPECT_THAT(scenario_refusal({{"--scenario", "sever"}}), HasSubstr("did you mean 'server'"));
  EXPECT_THAT(scenario_refusal({{"--scenario", "server"}, {"--quick", "true"}, {"--full", "true"}}),
              HasSubstr("exclude"));
  EXPECT_THAT(scenario_refusal({{"--scenario", "offline"}, {"--target-rate", "4"}}), HasSubstr("it is for server"));
  EXPECT_THAT(scenario_refusal({{"--scenario", "offline"}, {"--percentile", "0.9"}}), HasSubstr("single-stream"));
  EXPECT_THAT(scenario_refusal({{"--scenario", "server"}, {"--samples-per-query", "4"}}), HasSubstr("multi-stream"));
  EXPECT_THAT(scenario_refusal({{"--scenario", "server"}, {"--latency-limit", "0"}}), HasSubstr("more than 0"));
  EXPECT_THAT(scenario_refusal({{"--scenario", "server"}, {"--percentile", "1"}}), HasSubstr("0.9999"));
  for (const char* seeds : {"1,2,3", "1,2,3,4,5", "1,2,x,4", "1,2,3,", "-1,2,3,4"}) {
    EXPECT_THAT(scenario_refusal({{"--scenario", "server"}, {"--scenario-seeds", seeds}}),
                HasSubstr("four whole numbers"));
  }
}

}  // namespace
}  // namespace evener::job
