// Sweeps that are cut short at any moment and go on: no run is lost, none is made twice to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>

#include "base/error.h"
#include "base/test_folder.h"
#include "bench/sweep/child_executor.h"
#include "bench/sweep/runner.h"

namespace evener::bench {
namespace {

using record::RunEnd;
using record::SweepRun;
using test::TestFolder;

struct Cut : std::runtime_error {
  Cut() : std::runtime_error("cut short") {}
};

class Silent : public SweepObserver {
 public:
  void on_begin(const SweepRun&, const record::SweepCell&, std::size_t, std::size_t) override {}
  void on_end(const SweepRun&, const record::SweepCell&, std::optional<double>) override {}
};

/// Makes runs that take no time; the `cut_at`-th ends in the middle, or after its record and before the journal knows.
class MadeUp : public Executor {
 public:
  ExecutedRun execute(const record::SweepCell& cell, const std::filesystem::path& folder) override {
    const bool is_cut = ++made == cut_at;
    if (is_cut && !cut_after_the_record) throw Cut();
    ++ended[folder.string()];
    order.push_back(cell.key);
    if (is_cut) throw Cut();
    return end_of(cell.key);
  }
  std::optional<ExecutedRun> left_in(const std::filesystem::path& folder) override {
    return ended.contains(folder.string())
               ? std::optional(ExecutedRun{.end = RunEnd::kDone, .reason = {}, .seconds = 1, .figure = 1})
               : std::nullopt;
  }
  ExecutedRun end_of(const std::string& key) const {
    const bool is_bad = bad.contains(key);
    return {
        .end = is_bad ? RunEnd::kFailed : RunEnd::kDone, .reason = is_bad ? "no luck" : "", .seconds = 1, .figure = 1};
  }

  int made = 0, cut_at = -1;
  bool cut_after_the_record = false;
  std::set<std::string> bad;
  std::map<std::string, int> ended;  // how often a run in that folder came to its end
  std::vector<std::string> order;
};

record::SweepRecord sweep_with(std::vector<std::string> keys, int repeats) {
  record::SweepRecord sweep;
  sweep.command = "train";
  sweep.repeats = repeats;
  sweep.series = {{}};
  sweep.axes.emplace_back().names = {"on"};
  for (const std::string& key : keys) {
    sweep.axes.front().steps.push_back({key});
    record::SweepCell& cell = sweep.cells.emplace_back();
    cell.key = cell.folder = key;
    cell.values = {{"on", key}};
  }
  return sweep;
}

std::map<std::string, int> runs_by_cell(const std::filesystem::path& folder) {
  std::map<std::string, int> runs;
  for (const SweepRun& run : record::read_journal(folder).runs) runs[run.cell] += record::has_figures(run.end);
  return runs;
}

TEST(SweepRunner, EachBlockRunsEachCellOnceInAnOrderOfItsOwn) {
  const TestFolder folder;
  MadeUp runs;
  Silent silent;
  const auto sweep = sweep_with({"a", "b", "c", "d", "e", "f"}, 4);
  const SweepOutcome outcome = run_sweep(sweep, folder.path(), runs, silent);
  EXPECT_EQ(outcome.made, 24U);
  std::set<std::vector<std::string>> orders;
  for (int block = 0; block < 4; ++block) {
    const std::vector<std::string> order(runs.order.begin() + 6 * block, runs.order.begin() + 6 * block + 6);
    EXPECT_EQ(std::set<std::string>(order.begin(), order.end()).size(), 6U);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 2U);
  MadeUp again;
  EXPECT_EQ(run_sweep(sweep, folder.path(), again, silent).made, 0U);
}

TEST(SweepRunner, GoesOnAfterACutAtAnyRun) {
  const auto sweep = sweep_with({"a", "b", "c"}, 3);
  for (const bool after_the_record : {false, true}) {
    for (int cut = 1; cut <= 9; ++cut) {
      const TestFolder folder;
      MadeUp runs;
      Silent silent;
      runs.cut_at = cut;
      runs.cut_after_the_record = after_the_record;
      EXPECT_THROW(run_sweep(sweep, folder.path(), runs, silent), Cut);
      std::ofstream(folder / record::kJournalFile, std::ios::app) << "{\"event\":\"beg";  // a torn line
      runs.cut_at = -1;
      run_sweep(sweep, folder.path(), runs, silent);
      EXPECT_EQ(runs.ended.size(), 9U) << cut;
      for (const auto& [name, times] : runs.ended) EXPECT_EQ(times, 1) << name << ", cut at " << cut;
      EXPECT_THAT(runs_by_cell(folder.path()), testing::Each(testing::Pair(testing::_, 3)));
    }
  }
}

TEST(SweepRunner, ANewValueOnlyAddsRuns) {
  const TestFolder folder;
  MadeUp first, second;
  Silent silent;
  run_sweep(sweep_with({"a", "b"}, 3), folder.path(), first, silent);
  run_sweep(sweep_with({"a", "b", "c"}, 3), folder.path(), second, silent);
  EXPECT_THAT(second.order, testing::ElementsAre("c", "c", "c"));
  // They were not made side by side with the others, and so stand in other blocks.
  std::set<int> of_a, of_c;
  for (const SweepRun& run : record::read_journal(folder.path()).runs)
    (run.cell == "c" ? of_c : of_a).insert(run.block);
  for (const int block : of_c) EXPECT_FALSE(of_a.contains(block));
}

TEST(SweepRunner, WhatFailsIsToldAndRepeatedOnlyWhenAskedFor) {
  const TestFolder folder;
  const auto sweep = sweep_with({"a", "b"}, 3);
  MadeUp runs;
  Silent silent;
  runs.bad = {"b"};
  run_sweep(sweep, folder.path(), runs, silent);
  EXPECT_EQ(std::ranges::count(runs.order, "b"), 1);
  EXPECT_EQ(std::ranges::count(runs.order, "a"), 3);
  const auto journal = record::read_journal(folder.path());
  const auto failed = std::ranges::find(journal.runs, RunEnd::kFailed, &SweepRun::end);
  ASSERT_NE(failed, journal.runs.end());
  EXPECT_EQ(failed->reason, "no luck");
  MadeUp idle;
  EXPECT_EQ(run_sweep(sweep, folder.path(), idle, silent).made, 0U);
  MadeUp better;
  EXPECT_EQ(run_sweep(sweep, folder.path(), better, silent, {.again_failed = true, .before_run = {}}).made, 3U);
  EXPECT_THAT(better.order, testing::Each("b"));
  EXPECT_EQ(runs_by_cell(folder.path()).at("b"), 3);
}

TEST(SweepRunner, AnotherSeriesBeginsAnew) {
  const TestFolder folder;
  auto sweep = sweep_with({"a", "b"}, 2);
  MadeUp first, second;
  Silent silent;
  run_sweep(sweep, folder.path(), first, silent);
  sweep.series.push_back({.number = 2, .started = "", .program = "other", .machine = ""});
  sweep.series_now = 2;
  run_sweep(sweep, folder.path(), second, silent);
  EXPECT_EQ(second.order.size(), 4U);
  EXPECT_EQ(second.ended.count((folder.path() / "a" / "s2-b001").string()), 1U);
}

TEST(SweepRunner, WarmUpsComeFirstAndEnergyLast) {
  const TestFolder folder;
  auto sweep = sweep_with({"a", "b"}, 2);
  sweep.warmup = 1;
  sweep.energy_repeats = 1;
  MadeUp runs;
  Silent silent;
  run_sweep(sweep, folder.path(), runs, silent);
  std::vector<std::string> parts;
  for (const SweepRun& run : record::read_journal(folder.path()).runs) parts.push_back(run.part);
  EXPECT_THAT(parts, testing::ElementsAre("warm-up", "warm-up", "measure", "measure", "measure", "measure", "energy",
                                          "energy"));
}

TEST(SweepRunner, StopsWhenTheTimeIsOver) {
  const TestFolder folder;
  auto sweep = sweep_with({"a"}, 2);
  sweep.time_limit_s = 1e-9;
  MadeUp runs;
  Silent silent;
  const SweepOutcome outcome = run_sweep(sweep, folder.path(), runs, silent);
  EXPECT_EQ(outcome.made, 0U);
  EXPECT_THAT(outcome.stopped, testing::HasSubstr("time limit"));
}

TEST(SweepRunner, ABrokenLineOfTheJournalIsLeftOutAndTold) {
  const TestFolder folder;
  MadeUp runs;
  Silent silent;
  run_sweep(sweep_with({"a"}, 2), folder.path(), runs, silent);
  std::ofstream(folder / record::kJournalFile, std::ios::app)
      << "not json\n{\"event\":\"end\",\"cell\":\"a\",\"status\":\"wonderful\"}\n{\"event\":7}\n"
      << "{\"event\":\"end\",\"cell\":\"a\",\"folder\":\"../../etc\",\"status\":\"done\"}\n";
  const auto journal = record::read_journal(folder.path());
  EXPECT_EQ(journal.runs.size(), 2U);
  EXPECT_EQ(journal.warnings.size(), 4U);
}

TEST(CoolDownTest, TakesSecondsOrLoad) {
  EXPECT_NO_THROW(CoolDown(""));
  EXPECT_NO_THROW(CoolDown("0.5"));
  EXPECT_THROW(CoolDown("a while"), UsageError);
  EXPECT_THROW(CoolDown("-1"), UsageError);
  EXPECT_THROW(CoolDown("nan"), UsageError);
}

}  // namespace
}  // namespace evener::bench
