// Which run of a sweep comes next, how many are left and how long they take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/test_folder.h"
#include "sweep/run/runner.h"

namespace evener::sweeps {
namespace {

using record::RunEnd;
using record::SweepJournal;
using record::SweepRecord;
using record::SweepRun;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

record::SweepRecord cells(std::vector<std::string> keys, int repeats) {
  record::SweepRecord sweep;
  sweep.command = "train";
  sweep.repeats = repeats;
  sweep.series = {{}};
  for (const std::string& key : keys) {
    record::SweepCell& cell = sweep.cells.emplace_back();
    cell.key = key;
    cell.folder = "of-" + key;
  }
  return sweep;
}

SweepRun ended(const std::string& cell, int block, RunEnd end = RunEnd::kDone, double seconds = 1) {
  SweepRun run;
  run.cell = cell;
  run.block = block;
  run.end = end;
  run.seconds = seconds;
  return run;
}

/// Makes runs that all end well; returns "cell part block" of each.
std::vector<std::string> run_all(Schedule& schedule, std::size_t most = 1000) {
  std::vector<std::string> made;
  while (made.size() < most) {
    auto run = schedule.next();
    if (!run) break;
    made.push_back(run->cell + " " + run->part + " " + std::to_string(run->block));
    run->end = RunEnd::kDone;
    schedule.ended(*run);
  }
  return made;
}

TEST(BlockOrder, IsOfTheSeedThePartAndTheBlock) {
  const auto order = block_order(20, 1, "measure", 1);
  EXPECT_EQ(std::set(order.begin(), order.end()).size(), 20u);
  EXPECT_EQ(order, block_order(20, 1, "measure", 1));
  EXPECT_NE(order, block_order(20, 2, "measure", 1));
  EXPECT_NE(order, block_order(20, 1, "energy", 1));
  EXPECT_NE(order, block_order(20, 1, "measure", 2));
  EXPECT_NE(block_order(20, 1, "measure", 2), block_order(20, 1, "measure", 3));
}

TEST(ScheduleTest, RunsHaveFoldersOfTheirSeriesPartAndBlock) {
  auto sweep = cells({"a"}, 2);
  sweep.warmup = sweep.energy_repeats = 1;
  Schedule schedule(sweep, {});
  std::vector<std::string> folders;
  while (auto run = schedule.next()) {
    folders.push_back(run->folder);
    run->end = RunEnd::kDone;
    schedule.ended(*run);
  }
  EXPECT_THAT(folders, ElementsAre("of-a/w001", "of-a/b001", "of-a/b002", "of-a/e001"));
  sweep.series.push_back({.number = 12, .started = "", .program = "", .machine = ""});
  sweep.series_now = 12;
  Schedule later(sweep, {});
  const auto run = later.next();
  EXPECT_EQ(run->folder, "of-a/s12-w001");
  EXPECT_EQ(run->series, 12);
}

TEST(ScheduleTest, ABlockIsToldOnceBeforeItsFirstRun) {
  const auto sweep = cells({"a", "b"}, 2);
  Schedule schedule(sweep, {});
  EXPECT_FALSE(schedule.begun_block());
  auto run = schedule.next();
  const auto block = schedule.begun_block();
  ASSERT_TRUE(block);
  EXPECT_EQ(block->block, 1);
  EXPECT_THAT(block->cells, UnorderedElementsAre("a", "b"));
  EXPECT_EQ(run->cell, block->cells.front());
  EXPECT_FALSE(schedule.begun_block());
  run->end = RunEnd::kDone;
  schedule.ended(*run);
  EXPECT_EQ(schedule.next()->cell, block->cells.back());
  EXPECT_FALSE(schedule.begun_block()) << "it went on with one";
}

TEST(ScheduleTest, GoesOnWithABlockInItsOwnOrder) {
  const auto sweep = cells({"a", "b", "c"}, 1);
  record::SweepJournal journal;
  journal.blocks.push_back({.series = 1, .part = record::kMeasurePart, .block = 7, .cells = {"c", "gone", "a", "b"}});
  journal.runs = {ended("c", 7)};
  Schedule schedule(sweep, journal);
  EXPECT_THAT(run_all(schedule), ElementsAre("a measure 7", "b measure 7"));
}

TEST(ScheduleTest, ARunThatOnlyBeganComesAgainAndCountsForNothing) {
  const auto sweep = cells({"a"}, 1);
  record::SweepJournal journal;
  journal.blocks.push_back({.series = 1, .part = record::kMeasurePart, .block = 1, .cells = {"a"}});
  journal.runs = {ended("a", 1, RunEnd::kBegun)};
  Schedule schedule(sweep, journal);
  EXPECT_EQ(schedule.done(), 0u);
  EXPECT_THAT(schedule.runs_left(), ElementsAre(0));
  EXPECT_THAT(schedule.bad_cells(), IsEmpty());
  EXPECT_THAT(run_all(schedule), ElementsAre("a measure 1"));
  EXPECT_EQ(schedule.runs().size(), 1u) << "its end replaces its begin";
}

TEST(ScheduleTest, OtherSeriesAndOtherCellsDontCount) {
  auto sweep = cells({"a", "b"}, 2);
  sweep.series_now = 2;
  record::SweepJournal journal;
  journal.blocks.push_back({.series = 1, .part = record::kMeasurePart, .block = 5, .cells = {"a", "b"}});
  journal.runs = {ended("a", 5), ended("a", 1), ended("gone", 1)};
  journal.runs[1].series = journal.runs[2].series = 2;
  Schedule schedule(sweep, journal);
  EXPECT_EQ(schedule.done(), 1u);
  EXPECT_EQ(schedule.runs().size(), 2u);
  EXPECT_THAT(schedule.runs_left(), ElementsAre(0, 1, 1));
  EXPECT_EQ(schedule.next()->block, 1) << "blocks of another series don't count";
}

TEST(ScheduleTest, WhatFailedComesNotAgainAndWhatIsInvalidDoes) {
  auto sweep = cells({"a", "b", "c", "d"}, 3);
  sweep.energy_repeats = 2;
  for (const RunEnd end : {RunEnd::kFailed, RunEnd::kKilled, RunEnd::kOutOfMemory, RunEnd::kOutOfTime}) {
    record::SweepJournal journal;
    journal.runs = {ended("a", 1, end), ended("b", 1, RunEnd::kInvalid), ended("c", 1)};
    Schedule schedule(sweep, journal);
    EXPECT_THAT(schedule.bad_cells(), ElementsAre("a", "b"));
    EXPECT_EQ(schedule.done(), 3u);
    EXPECT_THAT(schedule.runs_left(), ElementsAre(1, 1, 2, 2, 3, 3, 3, 1, 1, 2, 2, 3, 3));
  }
}

TEST(ScheduleTest, AgainForgetsWhatIsNotGoodAndMakesItInABlockOfItsOwn) {
  const auto sweep = cells({"a", "b"}, 3);
  record::SweepJournal journal;
  for (int block = 1; block <= 3; ++block) {
    journal.blocks.push_back({.series = 1, .part = record::kMeasurePart, .block = block, .cells = {"a", "b"}});
    journal.runs.push_back(ended("a", block, block == 2 ? RunEnd::kInvalid : RunEnd::kDone));
    journal.runs.push_back(ended("b", block, block == 1 ? RunEnd::kInvalid : RunEnd::kDone));
  }
  Schedule schedule(sweep, journal);
  schedule.again("a");
  EXPECT_EQ(schedule.done(), 5u) << "the good ones stay, and those of other cells";
  EXPECT_THAT(schedule.bad_cells(), ElementsAre("b"));
  EXPECT_THAT(run_all(schedule), ElementsAre("a measure 4"));
}

std::size_t runs_until(double width, std::vector<double> figures, int repeats, int most) {
  auto sweep = cells({"a"}, repeats);
  sweep.until_width = width;
  sweep.max_runs = most;
  record::SweepJournal journal;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    journal.runs.push_back(ended("a", static_cast<int>(i) + 1));
    journal.runs.back().figure = figures[i];
  }
  const Schedule schedule(sweep, journal);
  return figures.size() + schedule.runs_left().size();
}

TEST(ScheduleTest, MoreRunsUntilTheIntervalIsNarrow) {
  const std::vector<double> noisy = {100, 110, 90, 105, 95}, quiet = {100, 100.1, 99.9, 100.05, 99.95};
  EXPECT_EQ(runs_until(0.05, quiet, 5, 30), 5u);
  const std::size_t wanted = runs_until(0.05, noisy, 5, 300);
  EXPECT_GT(wanted, 8u);
  EXPECT_LT(wanted, 60u);
  EXPECT_EQ(runs_until(0.05, noisy, 5, 8), 8u) << "at most";
  EXPECT_EQ(runs_until(0.05, {100, 110, 90}, 5, 30), 5u) << "the spread is not known before";
  EXPECT_EQ(runs_until(0.05, {}, 1, 30), 3u) << "fewer tell no spread";
}

TEST(ExpectedSeconds, AreOfTheCellOrPredictedOrOfAnyCell) {
  auto sweep = cells({"a", "b", "c"}, 4);
  record::SweepJournal journal;
  EXPECT_FALSE(expected_seconds(sweep, Schedule(sweep, journal)));
  journal.runs = {ended("a", 1, RunEnd::kDone, 10), ended("a", 2, RunEnd::kInvalid, 30),
                  ended("a", 3, RunEnd::kDone, 11)};
  sweep.cells[1].predicted = record::CellPrediction{.images_per_s = 1, .run_s = 100};
  // One of a at its median, four of b as predicted, four of c at the median of all.
  EXPECT_DOUBLE_EQ(expected_seconds(sweep, Schedule(sweep, journal)).value(), 11 + 4 * 100 + 4 * 11);
  journal.runs.push_back(ended("c", 1, RunEnd::kFailed, 1000));
  EXPECT_DOUBLE_EQ(expected_seconds(sweep, Schedule(sweep, journal)).value(), 11 + 4 * 100) << "c comes no more";
  journal.runs.push_back(ended("b", 1, RunEnd::kDone, 50));
  EXPECT_DOUBLE_EQ(expected_seconds(sweep, Schedule(sweep, journal)).value(), 11 + 3 * 50) << "measured is better";
  journal.runs = {ended("a", 1, RunEnd::kDone, 10)};
  journal.runs.front().seconds.reset();
  EXPECT_FALSE(expected_seconds(sweep, Schedule(sweep, journal)));
}

/// What is told while a sweep runs.
class Told : public SweepObserver {
 public:
  void on_begin(const SweepRun& run, const record::SweepCell& cell, std::size_t number, std::size_t all) override {
    lines.push_back(std::to_string(number) + "/" + std::to_string(all) + " " + cell.key + " " + run.part);
    EXPECT_FALSE(run.began.empty());
  }
  void on_end(const SweepRun& run, const record::SweepCell& cell, std::optional<double> left_s) override {
    EXPECT_EQ(run.cell, cell.key);
    left.push_back(left_s.value_or(-1));
  }
  std::vector<std::string> lines;
  std::vector<double> left;
};

class Steady : public Executor {
 public:
  ExecutedRun execute(const record::SweepCell& cell, const std::filesystem::path& folder) override {
    folders.push_back(folder.string());
    return {.end = cell.key == "bad" ? RunEnd::kInvalid : RunEnd::kDone,
            .reason = cell.key == "bad" ? "others used 40 %" : "",
            .seconds = 4,
            .figure = 7};
  }
  std::optional<ExecutedRun> left_in(const std::filesystem::path&) override { return std::nullopt; }
  std::vector<std::string> folders;
};

TEST(RunSweep, NumbersRunsAndTellsTheTimeLeft) {
  const test::TestFolder folder;
  auto sweep = cells({"a"}, 3);
  sweep.warmup = 1;
  Told told;
  Steady steady;
  EXPECT_EQ(run_sweep(sweep, folder.path(), steady, told).made, 4u);
  EXPECT_THAT(told.lines, ElementsAre("1/4 a warm-up", "2/4 a measure", "3/4 a measure", "4/4 a measure"));
  EXPECT_THAT(told.left, ElementsAre(12, 8, 4, 0));
  EXPECT_EQ(steady.folders.front(), (folder / "of-a/w001").string());
  const auto runs = record::read_journal(folder.path()).runs;
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[3].seconds, 4);
  EXPECT_EQ(runs[3].figure, 7);
  sweep.repeats = 5;
  Told more;
  run_sweep(sweep, folder.path(), steady, more);
  EXPECT_THAT(more.lines, ElementsAre("5/6 a measure", "6/6 a measure")) << "those of before count";
}

TEST(RunSweep, WhatIsInvalidIsRepeatedWhenAskedFor) {
  const test::TestFolder folder;
  const auto sweep = cells({"a", "bad"}, 2);
  Told told;
  Steady steady;
  run_sweep(sweep, folder.path(), steady, told);
  EXPECT_EQ(record::read_journal(folder.path()).runs.size(), 4u);
  EXPECT_EQ(run_sweep(sweep, folder.path(), steady, told).made, 0u);
  EXPECT_EQ(run_sweep(sweep, folder.path(), steady, told, {.again_failed = true, .before_run = {}}).made, 2u);
  for (const SweepRun& run : record::read_journal(folder.path()).runs) {
    EXPECT_EQ(run.reason, run.cell == "bad" ? "others used 40 %" : "");
    EXPECT_EQ(run.end, run.cell == "bad" ? RunEnd::kInvalid : RunEnd::kDone);
  }
}

TEST(RunSweep, IsAskedBeforeEachRunAndLeavesNoTraceOfARefusedOne) {
  const test::TestFolder folder;
  const auto sweep = cells({"a"}, 3);
  Told told;
  Steady steady;
  int asked = 0;
  const SweepOptions options{.again_failed = false, .before_run = [&](const record::SweepCell& cell) {
                               EXPECT_EQ(cell.key, "a");
                               if (++asked == 2) throw Error("the data has changed");
                             }};
  EXPECT_THROW(run_sweep(sweep, folder.path(), steady, told, options), Error);
  EXPECT_EQ(steady.folders.size(), 1u);
  EXPECT_EQ(record::read_journal(folder.path()).runs.size(), 1u);
}

TEST(RunSweep, ATimeLimitThatIsFarLetsAllRun) {
  const test::TestFolder folder;
  auto sweep = cells({"a"}, 2);
  sweep.time_limit_s = 1e6;
  Told told;
  Steady steady;
  const MadeRuns outcome = run_sweep(sweep, folder.path(), steady, told);
  EXPECT_EQ(outcome.made, 2u);
  EXPECT_EQ(outcome.stopped, "");
}

// Which run comes next, how many there are to be, and how long that takes.

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

}  // namespace evener::sweeps
