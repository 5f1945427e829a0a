// Medians don't see what lasts longer than most: a speed is claimed where all images over all seconds say the same, in
// sweeps, in single runs and in histories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "report/conclusion.h"
#include "sweep/history/history.h"
#include "sweep/made_history_helpers.h"
#include "sweep/sweep_simulation_helpers.h"

namespace evener::sweeps {
namespace {

using record::Verdict;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// EVENER_SIMULATIONS=1000 makes simulations longer.
int simulations(int few) {
  const char* const asked = std::getenv("EVENER_SIMULATIONS");
  return asked == nullptr ? few : std::max(few, std::atoi(asked));
}

/// Of so many sweeps of two cells, in five blocks, those in which the second one is called faster, and slower.
struct Called {
  int faster = 0, slower = 0;
};
Called called(double median_ratio, double whole_ratio, double whole_noise, int sweeps) {
  Called result;
  const record::SweepRecord record = test::simulated_record(2, 5);
  for (int trial = 0; trial < sweeps; ++trial) {
    const Sweep sweep = test::simulate(record,
                                       {.speeds = {100, 100 * median_ratio},
                                        .noise = 0.05,
                                        .wholes = {80, 80 * whole_ratio},
                                        .whole_noise = whole_noise},
                                       static_cast<std::uint64_t>(trial));
    result.faster += sweep.cells[1].claim.verdict == Verdict::kFaster;
    result.slower += sweep.cells[1].claim.verdict == Verdict::kSlower;
    EXPECT_THAT(test::contradictions(sweep), IsEmpty());
  }
  return result;
}

// As two processes on two busy cores: 1.8 times as fast by the median block, and no faster by the time of an epoch.
TEST(MedianAndWhole, ASweepClaimsWhatBothShow) {
  const int sweeps = simulations(100);
  for (const double whole_noise : {0.03, 0.3}) {
    const Called unseen = called(1.8, 1, whole_noise, sweeps), against = called(1.8, 0.7, whole_noise, sweeps);
    EXPECT_LE(unseen.faster, 0.08 * sweeps) << whole_noise;
    EXPECT_EQ(unseen.slower, 0) << whole_noise;
    EXPECT_LE(against.faster, 0.01 * sweeps) << whole_noise;
    EXPECT_EQ(against.slower, 0) << "the median says faster";
  }
  EXPECT_GE(called(1.8, 1.7, 0.03, sweeps).faster, 0.95 * sweeps);
  EXPECT_GE(called(1.8, 1.7, 0.15, sweeps).faster, 0.85 * sweeps);
  EXPECT_GE(called(0.7, 0.7, 0.03, sweeps).slower, 0.95 * sweeps);
}

TEST(MedianAndWhole, ASweepSaysWhatTheWholeShows) {
  const Sweep sweep = test::simulate(test::simulated_record(2, 5),
                                     {.speeds = {100, 180}, .noise = 0.01, .wholes = {80, 78}, .whole_noise = 0.01}, 1);
  const CellClaim& claim = sweep.cells[1].claim;
  EXPECT_NEAR(*claim.whole, 0.975, 0.03);
  EXPECT_THAT(claim.reason, AllOf(HasSubstr("all images over all seconds show 0.9"), HasSubstr("longer than most")));
  EXPECT_FALSE(claim.to_decide) << "more runs wouldn't show it";
  EXPECT_THAT(sweep_conclusion(sweep),
              Contains(AllOf(HasSubstr("undecided"), HasSubstr("longer than most"), Not(HasSubstr("would show it")))));
  EXPECT_THAT(sweep_table(sweep).notes, Contains(HasSubstr("all images over all seconds")));
  const auto json = nlohmann::json::parse(sweep_json(sweep));
  EXPECT_NEAR(json["cells"][1]["speedup_of_the_whole"].get<double>(), 0.975, 0.03);
  EXPECT_EQ(json["cells"][1]["verdict"], "undecided");
}

/// A run of a job with a steady median and another whole.
report::Run run_of(const char* placement, double median, double whole) {
  report::Run run;
  run.name = placement;
  record::Record& made = run.record;
  made.kind = "infer";
  made.model.name = "resnet18";
  made.placement.text = placement;
  made.placement.replicas.resize(1);
  made.placement.replicas[0].stages = {{.device = "cpu", .threads = 1, .cpus = {}, .emulated_speed = {}}};
  std::vector<double> rates;
  for (int n = 0; n < 20; ++n) rates.push_back(median * (1 + 0.001 * ((7 * n) % 20 - 9.5)));
  made.images_per_s = record::throughput_of(rates, "blocks of images");
  record::add_metric(made, record::plain_number(record::kOverallSpeed, "", "", whole));
  made.validity.valid = true;
  return run;
}

TEST(MedianAndWhole, OfSingleRunsNoneIsFastestThatIsSoByItsMedianAlone) {
  const auto told = [](double whole) {
    return report::conclusion(std::vector<report::Run>{run_of("cpu/t1", 100, 80), run_of("2xcpu/t1", 180, whole)})
        .front();
  };
  EXPECT_THAT(told(150), HasSubstr("fastest on 2xcpu/t1"));
  for (const double whole : {60.0, 80.0, 82.0}) {
    EXPECT_THAT(told(whole), AllOf(HasSubstr("undecided"), HasSubstr("all images over all seconds don't show it")));
  }
}

/// A history whose speed falls by 20 % in the middle, and whose whole goes another way.
History history_with(double whole_after) {
  std::vector<HistoryRun> runs = test::runs_of_nights({.count = 40, .slower_from = 20, .slower_by = 0.2});
  for (std::size_t n = 0; n < runs.size(); ++n) {
    runs[n].record.kind = "infer";
    const double whole = (n < 20 ? 80 : whole_after) + 0.01 * static_cast<double>(n % 3);
    record::add_metric(runs[n].record, record::plain_number(record::kOverallSpeed, "", "", whole));
    runs[n].metrics = record::metrics_of(runs[n].record);
  }
  return history_of(std::move(runs));
}

TEST(MedianAndWhole, AHistoryFailsOnWhatBothShow) {
  const std::vector<HistoryLimit> limits = parse_history_limits("slower=5%");
  const HeldLimits both = hold_against(history_with(64), limits);
  EXPECT_THAT(both.failures, ElementsAre(HasSubstr("slower")));
  EXPECT_THAT(both.undecided, IsEmpty());
  const History apart = history_with(81);
  const HeldLimits held = hold_against(apart, limits);
  EXPECT_THAT(held.failures, IsEmpty());
  EXPECT_THAT(held.undecided,
              ElementsAre(AllOf(HasSubstr("all images over all seconds are 1.2 % faster"), HasSubstr("undecided"))));
  EXPECT_THAT(history_sentences(apart.series[0], apart.tests), Contains(HasSubstr("but all images over all seconds")));
}

}  // namespace
}  // namespace evener::sweeps
