// Which runs of a history belong together, under which name, and what of them counts.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "base/test_folder.h"
#include "measure/sensors_helpers.h"
#include "record/sweep_file.h"
#include "sweep/history/history.h"
#include "sweep/made_history_helpers.h"

namespace evener::sweeps {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

using Change = std::function<void(HistoryRun&)>;

/// The names of the cells of twelve nights, of which the last six are changed.
std::vector<std::string> cells_after(const Change& change, const Change& of_all = {}) {
  std::vector<HistoryRun> runs = test::runs_of_nights({.count = 12});
  for (std::size_t n = 0; n < runs.size(); ++n) {
    if (of_all) of_all(runs[n]);
    if (n >= 6) change(runs[n]);
  }
  std::vector<std::string> cells;
  for (const HistorySeries& series : history_of(std::move(runs)).series) cells.push_back(series.cell);
  return cells;
}

TEST(HistoryCells, EachPartOfTheWorkMakesACellAndItsName) {
  const std::pair<Change, const char*> rows[] = {
      {[](HistoryRun& run) { run.record.kind = "infer"; }, "infer resnet34 on synth:masks, cpu/t2, fp32, batch 32"},
      {[](HistoryRun& run) { run.record.model.name = "vgg"; }, "train vgg on synth:masks, cpu/t2, fp32, batch 32"},
      {[](HistoryRun& run) { run.record.data.location = ""; }, "train resnet34, cpu/t2, fp32, batch 32"},
      {[](HistoryRun& run) {
         run.record.data.shape = {1, 197, 148};
       },
       ""},
      {[](HistoryRun& run) { run.record.scenario.name = "server"; },
       "train resnet34 on synth:masks, server, cpu/t2, fp32, batch 32"},
      {[](HistoryRun& run) { run.record.scenario.percentile = 0.99; }, ""},
      {[](HistoryRun& run) { run.record.scenario.latency_limit_s = 0.1; }, ""},
      {[](HistoryRun& run) { run.record.scenario.samples_per_query = 8; }, ""},
      {[](HistoryRun& run) { run.record.precision = "bf16"; }, "train resnet34 on synth:masks, cpu/t2, bf16, batch 32"},
      {[](HistoryRun& run) { run.record.batch = 64; }, "train resnet34 on synth:masks, cpu/t2, fp32, batch 64"},
      {[](HistoryRun& run) { run.record.batch.reset(); }, "train resnet34 on synth:masks, cpu/t2, fp32"},
      {[](HistoryRun& run) { run.record.placement.replicas.push_back(run.record.placement.replicas[0]); }, ""},
      {[](HistoryRun& run) { run.record.placement.replicas[0].stages[0].device = "cuda:0"; }, ""},
      {[](HistoryRun& run) { run.record.placement.replicas[0].stages[0].threads = 1; }, ""},
      {[](HistoryRun& run) { run.record.placement.replicas[0].stages[0].emulated_speed = 0.5; }, ""},
      {[](HistoryRun& run) {
         run.environment = {{"A", "1"}, {"B", "2"}};
       },
       "train resnet34 on synth:masks, cpu/t2, fp32, batch 32, A=1, B=2"},
  };
  const std::string whole = "train resnet34 on synth:masks, cpu/t2, fp32, batch 32";
  for (const auto& [change, name] : rows) {
    EXPECT_THAT(cells_after(change), UnorderedElementsAre(whole, *name == '\0' ? whole : name)) << name;
  }
}

TEST(HistoryCells, WhatIsFoundOutOrChanceMakesNoCell) {
  for (const char* option : {"seed", "mean", "standard-deviation", "resume", "on", "quiet", "engine"}) {
    const auto with = [option](const char* value) {
      return [=](HistoryRun& run) { run.record.config[option] = value; };
    };
    EXPECT_THAT(cells_after(with("2"), with("1")), SizeIs(1)) << option;
  }
  // An engine is a choice of the user's who named it.
  const Change chosen[] = {[](HistoryRun& run) {
                             run.record.command = {"evener", "train", "--engine=native"};
                           },
                           [](HistoryRun& run) { run.record.options["engine"] = {"native"}; }};
  for (const Change& choose : chosen) {
    EXPECT_THAT(cells_after([](HistoryRun& run) { run.record.config["engine"] = "native"; },
                            [&](HistoryRun& run) {
                              run.record.config["engine"] = "torch";
                              choose(run);
                            }),
                UnorderedElementsAre(HasSubstr(", engine=native"), HasSubstr(", engine=torch")));
  }
}

TEST(HistoryCells, OnlyCellsOfOneNameAndMachineAreToldApartByOptions) {
  std::vector<HistoryRun> runs;
  const auto add = [&](const test::Nights& nights, const char* lr) {
    for (HistoryRun& run : test::runs_of_nights(nights)) {
      run.record.config["lr"] = lr;
      runs.push_back(std::move(run));
    }
  };
  add({.count = 2}, "1");
  add({.count = 2}, "2");
  add({.count = 2, .cpu = "Xeon"}, "3");
  add({.count = 2, .placement = "cpu/t1"}, "4");
  for (HistoryRun& run : runs) {
    if (run.record.machine.cpu != "Xeon") continue;
    run.record.gpus.resize(2);
    run.record.gpus[0].name = "H200";
    run.record.gpus[1].name = "L4";
    run.record.placement.replicas[0].host = "far";
  }
  const History history = history_of(std::move(runs));
  std::vector<std::string> cells;
  for (const HistorySeries& series : history.series) {
    cells.push_back(series.cell.substr(series.cell.find("cpu/")) + " of " +
                    series.machine.substr(0, series.machine.find(' ')));
  }
  EXPECT_THAT(cells, ElementsAre("cpu/t1, fp32, batch 32 of Zen,", "cpu/t2, fp32, batch 32 of Xeon,",
                                 "cpu/t2, fp32, batch 32, lr=1 of Zen,", "cpu/t2, fp32, batch 32, lr=2 of Zen,"));
  EXPECT_THAT(history.series[1].machine, testing::EndsWith(", H200, L4, far"));
}

TEST(HistoryCells, TheLatestEnergyThatIsKnownNamesItsClass) {
  std::vector<HistoryRun> runs = test::runs_of_nights({.count = 12});
  for (std::size_t n = 0; n < 9; ++n) {
    runs[n].record.energy.joules = n < 4 ? 900 : 500;
    runs[n].record.energy.kind = n < 4 ? record::EnergyClass::kEstimated : record::EnergyClass::kMeasured;
    runs[n].metrics = record::metrics_of(runs[n].record);
  }
  const History history = history_of(runs);
  const HistoryFigure& energy = history.series[0].figures.back();
  EXPECT_EQ(energy.metric.label, "energy (measured)");
  EXPECT_THAT(energy.runs, ElementsAre(4, 5, 6, 7, 8)) << "the last three runs tell none";
  EXPECT_EQ(energy.runs_missing, 5U);
  EXPECT_FALSE(energy.metric.value);
}

TEST(HistoryCells, AFigureThatStandsInIsToldOnlyAlone) {
  std::vector<HistoryRun> runs = test::runs_of_nights({.count = 2});
  const auto names = [&] {
    std::vector<std::string> all;
    const History history = history_of(runs);
    for (const HistoryFigure& figure : history.series[0].figures) all.push_back(figure.metric.name);
    return all;
  };
  EXPECT_THAT(names(), ElementsAre("images_per_s", "test_accuracy", "peak_rss_bytes"));
  for (HistoryRun& run : runs) {
    run.record.training.accuracy.test.reset();
    run.metrics = record::metrics_of(run.record);
  }
  EXPECT_THAT(names(), ElementsAre("images_per_s", "best_val_accuracy", "peak_rss_bytes"));
}

// Two runs that don't count stand before the changes, so that a figure's runs have other numbers in the series.
TEST(HistoryCells, TwoChangesHaveTheirOwnPlacesLevelsAndIntervals) {
  std::vector<HistoryRun> runs = test::runs_of_nights({.count = 48});
  for (std::size_t n = 0; n < runs.size(); ++n) {
    *runs[n].record.images_per_s.median *= n < 18 ? 1 : n < 34 ? 1.5 : 0.75;
    runs[n].metrics = record::metrics_of(runs[n].record);
  }
  runs[2].left_out = runs[11].left_out = "INVALID: swap";
  std::ranges::reverse(runs);  // they are put in the order of their dates
  const History history = history_of(runs);
  const HistoryFigure& speed = history.series[0].figures.front();
  ASSERT_THAT(speed.changes, SizeIs(2));
  EXPECT_EQ(speed.runs[speed.changes[0].at], 18U);
  EXPECT_EQ(speed.runs[speed.changes[1].at], 34U);
  EXPECT_NEAR(speed.changes[0].before, 100, 2);
  EXPECT_NEAR(speed.changes[0].after, 150, 3);
  EXPECT_NEAR(speed.changes[1].before, 150, 3);
  EXPECT_NEAR(speed.changes[1].after, 75, 2);
  EXPECT_NEAR(speed.changes[0].change, 0.5, 0.03);
  EXPECT_NEAR(speed.changes[1].change, -0.5, 0.01);
  for (const HistoryChange& change : speed.changes) {
    ASSERT_TRUE(change.interval);
    EXPECT_LT(change.interval->low, change.change);
    EXPECT_GT(change.interval->high, change.change);
    EXPECT_LT(change.interval->high - change.interval->low, 0.05);
    EXPECT_LT(change.p, 0.05);
  }
  ASSERT_THAT(speed.levels, SizeIs(3));
  EXPECT_EQ(speed.runs[speed.levels[1].first], 18U);
  EXPECT_EQ(speed.runs[speed.levels[1].last], 33U);
  EXPECT_EQ(speed.levels[2].last, 45U);
  EXPECT_LT(speed.noise.deviation, 0.02) << "between the changes";
  EXPECT_THAT(history_sentences(history.series[0], history.tests),
              ElementsAre(AllOf(HasSubstr(" faster "), HasSubstr("from 2026-10-19 on")),
                          AllOf(HasSubstr(" slower "), HasSubstr("from 2026-11-04 on"))));
}

class HistoryRuns : public testing::Test {
 protected:
  record::Record record(int night) { return test::record_of_night({}, night); }
  void write(const std::string& name, const record::Record& record) {
    std::filesystem::create_directories(folder_ / name);
    record::write_record(folder_ / name, record);
  }

  test::TestFolder folder_;
};

TEST_F(HistoryRuns, OfTheSameMomentAreCopiesOnlyWhereAllIsEqual) {
  for (const char* name : {"a", "b", "c"}) write(name, record(0));
  record::Record other = record(0);
  *other.times.total += 1;
  write("d", other);
  other = record(0);
  other.command.push_back("--quiet");
  write("e", other);
  other = record(0);
  *other.memory.peak_rss_bytes += 1;
  write("f", other);
  const History history = load_history({folder_.path()});
  EXPECT_THAT(history.series[0].runs, SizeIs(4));
  EXPECT_THAT(history.notes, Contains("2 copies of another run left out"));
}

TEST_F(HistoryRuns, AFolderNamedPilotIsOneOfASweepAlone) {
  write("pilot/a", record(0));
  test::write_text(folder_ / "broken/sweep.json", "{");
  write("broken/run", record(1));
  const History history = load_history({folder_.path()});
  EXPECT_THAT(history.series[0].runs, SizeIs(2));
  EXPECT_THAT(history.notes,
              ElementsAre(AllOf(HasSubstr("the sweep's own files are not read: "), HasSubstr("sweep.json"))));
}

TEST_F(HistoryRuns, OfASweepAreOfTheirCellsEnvironments) {
  record::SweepRecord sweep;
  sweep.command = "train";
  sweep.series = {{.number = 1, .started = "", .program = "", .machine = ""}};
  for (const char* key : {"first", "second"}) {
    sweep.cells.emplace_back().key = key;
    sweep.cells.back().folder = key;
    sweep.cells.back().environment = {{"WAITS", key}};
  }
  record::write_sweep(folder_.path(), sweep);
  record::JournalWriter journal(folder_.path());
  for (int night = 0; night < 4; ++night) {
    record::SweepRun run;
    run.series = 1;
    run.cell = night % 2 == 0 ? "first" : "second";
    run.block = night;
    run.folder = run.cell + "/b" + std::to_string(night);
    if (night < 2) run.part = record::kWarmupPart;
    run.end = record::RunEnd::kDone;
    record::Record made = record(night);
    if (night == 1) made.validity = {false, {{"swap", "1 GB", "use less"}, {"throttling", "5 times", "cool it"}}};
    write(run.folder, made);
    journal.begin(run);
    journal.end(run);
  }
  const History history = load_history({folder_.path()});
  ASSERT_THAT(history.series, SizeIs(2));
  for (const std::size_t cell : {0, 1}) {
    const HistorySeries& series = history.series[cell];
    EXPECT_THAT(series.cell, testing::EndsWith(cell == 0 ? ", WAITS=first" : ", WAITS=second"));
    EXPECT_THAT(series.figures.front().runs, ElementsAre(1)) << "the other one is the warm-up";
  }
  EXPECT_EQ(history.series[1].runs[0].left_out, "INVALID: swap, throttling") << "said before that it is a warm-up";
}

TEST_F(HistoryRuns, AFolderThatCantBeReadIsNamed) {
  namespace fs = std::filesystem;
  write("a", record(0));
  fs::create_directory(folder_ / "closed");
  fs::permissions(folder_ / "closed", fs::perms::none);
  {
    const test::WithoutRights no_root;
    EXPECT_THAT(load_history({folder_.path()}).notes,
                ElementsAre((folder_ / "closed").string() + " can't be read: Permission denied"));
    try {
      load_history({folder_ / "closed"});
      ADD_FAILURE() << "there is no run";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("no run in or below the given folders; " + (folder_ / "closed").string() +
                                          " can't be read: Permission denied. A run is"));
    }
  }
  fs::permissions(folder_ / "closed", fs::perms::owner_all);
}

}  // namespace
}  // namespace evener::sweeps
