// Which run comes next, how many there are to be, and how long that takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/sweep/runner.h"
#include "bench/sweep/schedule.h"

namespace evener::bench {
namespace {

using record::RunEnd;
using record::SweepJournal;
using record::SweepRecord;
using record::SweepRun;

SweepRecord cells_named(const std::vector<std::string>& keys, int repeats) {
  SweepRecord sweep;
  sweep.repeats = repeats;
  sweep.series = {{}};
  for (const std::string& key : keys) {
    record::SweepCell& cell = sweep.cells.emplace_back();
    cell.key = cell.folder = key;
  }
  return sweep;
}

SweepRun run_of(const std::string& cell, int block, double seconds, RunEnd end = RunEnd::kDone) {
  SweepRun run;
  run.cell = cell;
  run.block = block;
  run.end = end;
  run.seconds = seconds;
  return run;
}

SweepRun with_figure(int block, double figure, RunEnd end = RunEnd::kDone) {
  SweepRun run = run_of("a", block, 1, end);
  run.figure = figure;
  return run;
}

// A machine that becomes slower by the same amount with each run favours the first of each block.
TEST(SweepSchedule, TheSecondBlockTurnsTheFirstOneRound) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const auto first = block_order(6, seed, record::kMeasurePart, 1), second = block_order(6, seed, "measure", 2);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), second.rbegin()));
    EXPECT_THAT(first, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_NE(block_order(6, seed, "measure", 3), first);
    EXPECT_NE(block_order(6, seed, "measure", 4), block_order(6, seed, "measure", 3));
    EXPECT_NE(block_order(6, seed, record::kEnergyPart, 1), first);
  }
  EXPECT_NE(block_order(6, 1, "measure", 1), block_order(6, 2, "measure", 1));
}

TEST(SweepSchedule, TheTimeLeftIsByTheMedianOfACellsRuns) {
  SweepRecord sweep = cells_named({"a", "b", "c"}, 5);
  // Of a come two more, of b four, of c five.
  SweepJournal journal;
  journal.runs = {run_of("a", 1, 10), run_of("a", 2, 11, RunEnd::kInvalid), run_of("a", 3, 90), run_of("b", 1, 40)};
  EXPECT_EQ(expected_seconds(sweep, Schedule(sweep, journal)), 2 * 11 + 4 * 40 + 5 * 25.5)
      << "of c nothing is known but the median of all: 10, 11, 40, 90";
  sweep.cells[2].predicted = record::CellPrediction{.images_per_s = 1, .run_s = 7};
  sweep.cells[0].predicted = record::CellPrediction{.images_per_s = 1, .run_s = 1000};
  EXPECT_EQ(expected_seconds(sweep, Schedule(sweep, journal)), 2 * 11 + 4 * 40 + 5 * 7);
  // How long it takes to fail says nothing, and a cell that failed has no runs left.
  journal.runs.push_back(run_of("b", 2, 1, RunEnd::kFailed));
  EXPECT_EQ(expected_seconds(sweep, Schedule(sweep, journal)), 2 * 11 + 5 * 7);
  EXPECT_FALSE(expected_seconds(cells_named({"a"}, 1), Schedule(sweep, {})).has_value());
}

TEST(SweepSchedule, TheSpreadOfTheFirstRunsSaysHowManyThereAre) {
  SweepRecord sweep = cells_named({"a"}, 5);
  sweep.until_width = 0.02;
  sweep.max_runs = 30;
  const auto left = [&](std::vector<SweepRun> runs) {
    return Schedule(sweep, {.runs = std::move(runs), .blocks = {}, .warnings = {}}).runs_left().size();
  };
  EXPECT_EQ(left({}), 5U);
  EXPECT_EQ(left({with_figure(1, 100), with_figure(2, 101)}), 3U);
  const std::vector<SweepRun> steady = {with_figure(1, 100), with_figure(2, 100.1), with_figure(3, 99.9),
                                        with_figure(4, 100), with_figure(5, 100)};
  EXPECT_EQ(left(steady), 0U);
  const auto ten = {with_figure(1, 100), with_figure(2, 103), with_figure(3, 98, RunEnd::kInvalid), with_figure(4, 102),
                    with_figure(5, 98.5)};
  // log(100), ...: deviation 0.0216; t of 4 degrees is 2.7764: (2.7764 x 0.0216 / log(1.02))^2 = 9.2.
  EXPECT_EQ(left(ten), 5U);
  const auto noisy = {with_figure(1, 100), with_figure(2, 150), with_figure(3, 90), with_figure(4, 120),
                      with_figure(5, 80)};
  EXPECT_EQ(left(noisy), 25U) << "not more than 30 of a cell";
  sweep.repeats = 2;
  EXPECT_EQ(left({}), 3U) << "two have no spread to go by";
}

TEST(SweepSchedule, RepeatsOfBadRunsStandInBlocksOfTheirOwn) {
  const SweepRecord sweep = cells_named({"a", "b"}, 2);
  Schedule schedule(sweep, {});
  std::vector<std::string> made;
  while (auto run = schedule.next()) {
    run->end = run->cell == "b" && run->block == 1 ? RunEnd::kInvalid : RunEnd::kDone;
    schedule.ended(*run);
  }
  EXPECT_EQ(schedule.done(), 4U);
  EXPECT_THAT(schedule.bad_cells(), testing::ElementsAre("b"));
  schedule.again("b");
  EXPECT_THAT(schedule.runs_left(), testing::ElementsAre(1));
  const auto run = schedule.next();
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->cell, "b");
  EXPECT_EQ(run->block, 3);
  EXPECT_EQ(run->folder, "b/b003");
  EXPECT_THAT(schedule.begun_block()->cells, testing::ElementsAre("b"));
  EXPECT_FALSE(schedule.begun_block().has_value());
}

}  // namespace
}  // namespace evener::bench
