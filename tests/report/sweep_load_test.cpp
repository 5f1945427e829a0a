// What sweeps claim beside other programs, on sweeps whose truth is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "report/sweep_claims.h"
#include "report/sweep_page.h"
#include "report/sweep_simulation_helpers.h"

namespace evener::report {
namespace {

using test::claims_anything;
using test::OtherLoad;
using test::simulate;
using test::simulated_record;
using test::SimulatedSweep;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kSweeps = 200;

/// In how many of the sweeps `holds` is true.
template <class Holds>
int sweeps_with(const SimulatedSweep& simulated, int repeats, int trials, Holds holds) {
  int count = 0;
  for (int trial = 0; trial < trials; ++trial) {
    count += holds(
        simulate(simulated_record(simulated.speeds.size(), repeats), simulated, static_cast<std::uint64_t>(trial)));
  }
  return count;
}

TEST(SweepLoad, EqualCellsStayUndecidedUnderEachLoad) {
  int all = 0, sweeps = 0;
  for (const OtherLoad& load : test::other_loads()) {
    const int claims = sweeps_with({.speeds = {100, 100}, .noise = 0.025, .load = &load}, 5, kSweeps, claims_anything);
    std::printf("%s: %d of %d sweeps of equal cells claim anything\n", load.name, claims, kSweeps);
    EXPECT_LE(claims, (load.leans ? 0.05 : 0.07) * kSweeps) << load.name;
    all += claims;
    sweeps += kSweeps;
  }
  EXPECT_LE(all, 0.05 * sweeps);
}

TEST(SweepLoad, ALoadThatLeansOnOneOfSeveralCellsMakesNoWinner) {
  for (const OtherLoad& load : test::other_loads()) {
    if (!load.leans) continue;
    const SimulatedSweep simulated{.speeds = {100, 100, 100, 100}, .noise = 0.025, .load = &load, .slower_by = 3};
    EXPECT_LE(sweeps_with(simulated, 5, 50, claims_anything), 0.05 * 50) << load.name;
  }
}

TEST(SweepLoad, TenPercentAreFoundBesideOtherPrograms) {
  for (const OtherLoad& load : test::other_loads()) {
    if (load.leans) continue;
    const SimulatedSweep simulated{.speeds = {100, 110}, .noise = 0.02, .load = &load, .slower_by_noise = 0.05};
    const int found = sweeps_with(simulated, 5, 100, [](const Sweep& sweep) { return sweep.jobs[0].winner == 1U; });
    std::printf("%s: %d of 100 sweeps find a difference of 10 %%\n", load.name, found);
    EXPECT_GE(found, 80) << load.name;
  }
}

// Three of five blocks have the load beside the first cell, two beside the second: as they are, the ratios are 0.9 or
// 1.34, and at equal load 1.1.
TEST(SweepLoad, RatiosAreThoseAtEqualLoadWhereItSwitchesWithinBlocks) {
  int run = 0;
  const OtherLoad switching{"switches", false, [&run](double) {
                              return [&run](std::size_t cell, Random&) {
                                const bool loaded = run++ / 2 % 2 == static_cast<int>(cell);
                                return loaded ? 20.0 : 0.0;
                              };
                            }};
  const Sweep sweep = simulate(simulated_record(2, 5), {.speeds = {100, 110}, .noise = 0.01, .load = &switching}, 3);
  const CellClaim& claim = sweep.cells[1].claim;
  EXPECT_EQ(claim.verdict, record::Verdict::kFaster) << claim.reason;
  EXPECT_NEAR(claim.speedup.value(), 1.1, 0.02);
  EXPECT_LT(claim.interval->high - claim.interval->low, 0.1);
  EXPECT_EQ(sweep.jobs[0].winner, 1U);
  EXPECT_TRUE(claim.at_equal_load);
  EXPECT_THAT(sweep_conclusion(sweep), Contains(EndsWith("ratios are those at equal load.")));
}

// The second cell is the faster one by a tenth, and has the worse mean, as chance put the heavier load beside it.
TEST(SweepLoad, TheBetterCellAtEqualLoadMayHaveTheWorseMean) {
  int run = 0;
  const OtherLoad unequal{"unequal", false, [&run](double) {
                            return [&run](std::size_t cell, Random&) {
                              const bool is_even = run++ / 2 % 2 == 0;
                              if (is_even) return cell == 1 ? 50.0 : 0.0;
                              return cell == 0 ? 10.0 : 0.0;
                            };
                          }};
  const Sweep sweep = simulate(simulated_record(2, 5), {.speeds = {100, 110}, .noise = 0.005, .load = &unequal}, 3);
  EXPECT_LT(*sweep.cells[1].figure("images_per_s")->mean.mean, *sweep.cells[0].figure("images_per_s")->mean.mean);
  EXPECT_EQ(sweep.cells[1].claim.verdict, record::Verdict::kFaster);
  EXPECT_EQ(sweep.jobs[0].winner, 1U);
  EXPECT_EQ(sweep.jobs[0].cells.front(), 1U);
}

const OtherLoad kLeaning{
    "12 % and 30 %", true,
    [](double) { return [](std::size_t cell, Random& random) { return (cell == 0 ? 30 : 12) + random.normal(); }; }};

TEST(SweepLoad, AnUndecidedPairSaysOnWhichCellTheLoadLeaned) {
  const Sweep sweep = simulate(simulated_record(2, 5), {.speeds = {100, 120}, .load = &kLeaning, .cpus = 4}, 1);
  EXPECT_FALSE(claims_anything(sweep));
  EXPECT_TRUE(sweep.cells[1].claim.interval.has_value());
  EXPECT_THAT(sweep_conclusion(sweep)[0], AllOf(HasSubstr("is undecided between"),
                                                HasSubstr("other programs took 30 % of the CPUs beside on=way-0"),
                                                HasSubstr("13 % beside on=way-1")));
  EXPECT_THAT(sweep_table(sweep).notes, Contains(HasSubstr("on=way-1 against on=way-0 is undecided: other programs")));
}

// On 4 CPUs, 4 threads and 30 % of the CPUs don't fit: the 4 threads took what the others lack.
TEST(SweepLoad, MoreThreadsMayPushOthersAsideAndAQuietMachineMayDiffer) {
  SimulatedSweep simulated{.speeds = {100, 180}, .load = &kLeaning, .cpus = 4};
  simulated.threads = [](std::size_t cell) { return cell == 0 ? 1 : 4; };
  const Sweep sweep = simulate(simulated_record(2, 5), simulated, 1);
  EXPECT_EQ(sweep.jobs[0].winner, 1U);
  EXPECT_EQ(sweep.cells[1].claim.beside, BesideOthers::kWithOtherThreads);
  EXPECT_THAT(sweep_conclusion(sweep)[0],
              AllOf(HasSubstr("best is on=way-1"),
                    HasSubstr("beside other programs: on a quiet machine the difference may be another")));
  simulated.threads = [](std::size_t cell) { return cell == 0 ? 1 : 2; };  // there was room for all
  EXPECT_FALSE(claims_anything(simulate(simulated_record(2, 5), simulated, 1)));
}

TEST(SweepLoad, ABusyMachineIsToldInPassing) {
  const OtherLoad& even = test::other_loads().front();
  const Sweep sweep = simulate(simulated_record(2, 5), {.speeds = {100, 120}, .load = &even}, 1);
  EXPECT_THAT(sweep_conclusion(sweep),
              ElementsAre(AllOf(HasSubstr("best is on=way-1"), EndsWith(", beside other programs.")),
                          StartsWith("Measured beside other programs (8 % of the CPUs): ")));
  const Table table = sweep_table(sweep);
  EXPECT_THAT(table.rows[1], Contains("faster"));
  EXPECT_EQ(table.rows[1].back(), "beside others");
  EXPECT_THAT(sweep_header_part(sweep), AllOf(HasSubstr("beside other programs"), Not(HasSubstr("warns"))));
}

}  // namespace
}  // namespace evener::report
