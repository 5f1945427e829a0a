// Sweeps that are cut short at any moment and go on: no run is lost, none is made twice to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/stop.h"
#include "base/test_folder.h"
#include "base/thrown.h"
#include "sweep/run/child_executor.h"
#include "sweep/run/pilot.h"
#include "sweep/run/runner.h"

namespace evener::sweeps {
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
  const MadeRuns outcome = run_sweep(sweep, folder.path(), runs, silent);
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
  const MadeRuns outcome = run_sweep(sweep, folder.path(), runs, silent);
  EXPECT_EQ(outcome.made, 0U);
  EXPECT_THAT(outcome.stopped, testing::HasSubstr("time limit"));
}

TEST(SweepRunner, AStopRequestEndsItBeforeTheNextRun) {
  const TestFolder folder;
  // A Ctrl-C as the second run ends.
  struct Stopping : MadeUp {
    ExecutedRun execute(const record::SweepCell& cell, const std::filesystem::path& at) override {
      if (made == 1) request_stop();
      return MadeUp::execute(cell, at);
    }
  } runs;
  Silent silent;
  const auto sweep = sweep_with({"a", "b"}, 2);
  EXPECT_THAT(test::thrown_by<Interrupted>([&] { run_sweep(sweep, folder.path(), runs, silent); }),
              testing::HasSubstr("the same command goes on with it"));
  clear_stop_request();
  EXPECT_EQ(runs.made, 2);
  EXPECT_EQ(record::read_journal(folder.path()).runs.size(), 2U) << "the third has left no trace";
  MadeUp others;
  EXPECT_EQ(run_sweep(sweep, folder.path(), others, silent).made, 2U);
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

// How long pilot runs say that a run has to be, on runs whose noise the test makes up.

/// A run whose speed is 100 images/s in each of `samples` samples but for `noise`, of which neighbours are alike.
record::Record run_of(int samples, double noise, double likeness, std::uint64_t seed) {
  Random random(seed, Purpose::kBootstrap);
  std::vector<double> rates;
  double now = random.normal();
  for (int n = 0; n < samples; ++n) {
    rates.push_back(100 * (1 + noise * now));
    now = likeness * now + std::sqrt(1 - likeness * likeness) * random.normal();
  }
  record::Record record;
  record.images_per_s = record::throughput_of(std::move(rates), "blocks");
  return record;
}

double standard_deviation(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

TEST(Pilot, RunsOfTheLengthThatItFindsDeviateAsLittleAsWasAskedFor) {
  constexpr int kSamplesPerSecond = 10, kSweeps = 60, kRuns = 60;
  constexpr double kAsked = 0.01;
  for (const double likeness : {0.0, 0.4}) {
    int within = 0, lengthened = 0;
    for (std::uint64_t sweep = 0; sweep < kSweeps; ++sweep) {
      std::uint64_t seed = 1000 * (sweep + 1);
      const auto pilot = [&](double length) {
        const auto run = run_of(static_cast<int>(length * kSamplesPerSecond), 0.06, likeness, seed++);
        return PilotRun{.failure = {}, .seconds = length, .deviation = deviation_within(run)};
      };
      const FoundLength found = steady_length(1, {.deviation = kAsked}, pilot);
      std::vector<double> speeds;
      for (int n = 0; n < kRuns; ++n) {
        const auto run = run_of(static_cast<int>(found.length * kSamplesPerSecond), 0.06, likeness, seed++);
        speeds.push_back(run.images_per_s.median.value() / 100);
      }
      // A standard deviation of so many runs is itself known to a tenth.
      within += standard_deviation(speeds) <= 1.1 * kAsked ? 1 : 0;
      lengthened += found.length > 2 ? 1 : 0;
    }
    EXPECT_GE(within, 0.8 * kSweeps) << "neighbours alike by " << likeness;
    EXPECT_GE(lengthened, 0.95 * kSweeps) << "a second deviates by 2 %";
  }
}

/// The lengths of the pilot runs that are made where a run deviates by 10 % of the root of its length.
std::vector<double> lengths_of(double first, const PilotGoal& goal, double seconds_of_one = 1, double energy_s = 0) {
  std::vector<double> lengths;
  steady_length(first, goal, [&](double length) {
    lengths.push_back(length);
    return PilotRun{.failure = {},
                    .seconds = length * seconds_of_one,
                    .deviation = 0.1 / std::sqrt(length),
                    .energy_needs = std::max(1.0, energy_s / length)};
  });
  return lengths;
}

TEST(Pilot, GrowsByWhatTheDeviationSaysWithinBounds) {
  using Lengths = std::vector<double>;
  EXPECT_EQ(lengths_of(1, {.deviation = 0.1}), Lengths{1}) << "steady from the first";
  EXPECT_EQ(lengths_of(1, {.deviation = 0.05}), (Lengths{1, 4.8}));
  EXPECT_EQ(lengths_of(1, {.deviation = 0.099}), (Lengths{1, 1.5})) << "half as long again at least";
  EXPECT_EQ(lengths_of(1, {.deviation = 0.02}), (Lengths{1, 8, 30})) << "eight times at most, then 8 x 3.75";
  EXPECT_EQ(lengths_of(3, {.deviation = 0.05, .is_whole = true}), (Lengths{3, 5})) << "whole epochs";
  EXPECT_EQ(lengths_of(1, {.deviation = 0.02, .longest_run_s = 20}), (Lengths{1, 8, 20})) << "no longer than that";
  EXPECT_EQ(lengths_of(3, {.deviation = 0.05, .longest_run_s = 9, .is_whole = true}, 2), (Lengths{3, 4}));
  EXPECT_EQ(lengths_of(1, {.deviation = 0.1}, 1, 3), (Lengths{1, 3.6})) << "a sensor of energy needs three seconds";
  EXPECT_LE(lengths_of(0.001, {.deviation = 0.001}).size(), 5U);
  EXPECT_EQ(lengths_of(1, {.deviation = 0.005}), Lengths{1}) << "480 s are far more than a minute";
}

TEST(Pilot, AFailureKeepsTheLengthBeforeIt) {
  const auto failing_from = [](double too_long) {
    return steady_length(1, {.deviation = 0.01}, [&](double length) {
      if (length >= too_long) return PilotRun{.failure = "out of memory"};
      return PilotRun{.failure = {}, .seconds = length, .deviation = 0.02};
    });
  };
  const FoundLength grown = failing_from(20);
  EXPECT_EQ(grown.length, 4.8);
  EXPECT_EQ(grown.last.failure, "");
  EXPECT_FALSE(grown.is_steady);
  EXPECT_EQ(failing_from(1).length, 1);
  EXPECT_EQ(failing_from(1).last.failure, "out of memory");
}

TEST(Pilot, WithoutADeviationItTriesFourTimesTheLength) {
  std::vector<double> lengths;
  const FoundLength found = steady_length(1, {.deviation = 0.05}, [&](double length) {
    lengths.push_back(length);
    return PilotRun{.failure = {}, .seconds = length, .deviation = deviation_within(run_of(3 * length, 0.01, 0, 1))};
  });
  EXPECT_EQ(lengths, (std::vector<double>{1, 4}));
  EXPECT_TRUE(found.is_steady);
  EXPECT_FALSE(deviation_within(run_of(9, 0.01, 0, 1)));
  EXPECT_FALSE(deviation_within({}));
}

TEST(Pilot, ASensorOfEnergyWhoseValuesComeSeldomNeedsTenOfThem) {
  record::Record record;
  record.energy.seconds = 2;
  record.energy.devices = std::vector<record::DeviceEnergy>(2);
  record.energy.devices[0].update_period_s = 1;
  record.energy.devices[1].update_period_s = 0.001;
  EXPECT_EQ(energy_needs(record), 5);
  record.energy.joules = 40;
  EXPECT_EQ(energy_needs(record), 1) << "it was measured";
  EXPECT_EQ(energy_needs({}), 1);
}

}  // namespace

}  // namespace evener::sweeps
