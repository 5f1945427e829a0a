// Histories: which runs belong to a cell, what counts, what is told of changes, and limits.
#include "sweep/history/history.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/test_folder.h"
#include "record/sweep_file.h"
#include "support/browser_helpers.h"
#include "sweep/made_history_helpers.h"

namespace evener::sweeps {
namespace {

using test::Nights;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const HistoryFigure& figure_of(const HistorySeries& series, const std::string& name) {
  for (const HistoryFigure& figure : series.figures) {
    if (figure.metric.name == name) return figure;
  }
  throw std::out_of_range(name);
}

std::vector<std::string> sentences_of(const History& history) {
  return history_sentences(history.series[0], history.tests);
}

/// Gives the runs another value of a figure, from the `first`th on.
void change_runs(std::vector<HistoryRun>& runs, std::size_t first, const auto& change) {
  for (std::size_t n = first; n < runs.size(); ++n) {
    change(runs[n].record, n);
    runs[n].metrics = record::metrics_of(runs[n].record);
  }
}

TEST(History, TellsWhenWhichProgramBecameSlowerAndByHowMuch) {
  const History history = history_of(test::runs_of_nights({.slower_from = 35}));
  ASSERT_THAT(history.series, SizeIs(1));
  const HistorySeries& series = history.series[0];
  EXPECT_EQ(series.cell, "train resnet34 on synth:masks, cpu/t2, fp32, batch 32");
  EXPECT_EQ(series.figures.front().metric.name, "images_per_s") << "the speed is told first";
  const HistoryFigure& speed = series.figures.front();
  ASSERT_THAT(speed.changes, SizeIs(1));
  EXPECT_EQ(speed.changes[0].at, 35U);
  EXPECT_NEAR(speed.changes[0].change, -0.06, 0.01);
  ASSERT_TRUE(speed.changes[0].interval);
  EXPECT_LT(speed.changes[0].interval->low, -0.06);
  EXPECT_GT(speed.changes[0].interval->high, -0.06);
  EXPECT_NEAR(speed.changes[0].before, 100, 1);
  EXPECT_NEAR(speed.changes[0].after, 94, 1);
  EXPECT_LT(speed.changes[0].p, 0.05);
  EXPECT_THAT(figure_of(series, "peak_rss_bytes").changes, IsEmpty());
  EXPECT_GE(history.tests, 2 * series.figures.size());
  EXPECT_THAT(
      history_sentences(series, history.tests),
      ElementsAre(AllOf(
          HasSubstr("training speed: "), HasSubstr(" % slower (95 %: "), HasSubstr("from 2026-11-05 on"),
          HasSubstr(
              "between evener 0.7.0, program aaaaaaaa of 2026-11-04 and evener 0.8.0, program bbbbbbbb of 2026-11-05"),
          Not(HasSubstr("the program is the same")))));
}

TEST(History, SaysWhereTheProgramIsTheSameOnBothSidesOfAChange) {
  std::vector<HistoryRun> runs = test::runs_of_nights({.slower_from = 30});
  for (HistoryRun& run : runs) run.record.versions = {{"evener", "0.7.0"}};
  EXPECT_THAT(
      sentences_of(history_of(runs)),
      ElementsAre(HasSubstr("evener 0.7.0 of 2026-10-30 and evener 0.7.0 of 2026-10-31; the program is the same")));
  for (std::size_t n = 31; n < runs.size(); ++n) runs[n].record.versions = {{"evener", "0.7.1"}};
  EXPECT_THAT(sentences_of(history_of(runs)),
              ElementsAre(HasSubstr("the program changed 1 run later, from evener 0.7.0 to evener 0.7.1")));
  for (HistoryRun& run : runs) run.record.versions = {{"evener", "0.7.0"}};
  for (std::size_t n = 30; n < runs.size(); ++n) runs[n].record.machine.kernel = "Linux 7";
  EXPECT_THAT(sentences_of(history_of(runs)), ElementsAre(HasSubstr("-> Linux 7)")));
}

TEST(History, AConstantSpeedHasNoChange) {
  const History history = history_of(test::runs_of_nights({.count = 30}));
  EXPECT_THAT(sentences_of(history),
              ElementsAre(testing::MatchesRegex("no change of training speed, test accuracy and peak memory in 30 runs "
                                                "\\(found would be [12]\\.[0-9] %, any and 0\\.[0-9]+ %\\)")));
  const HeldLimits held = hold_against(history, parse_history_limits("slower=0%,memory=0.5%,accuracy=0%,slower=3%"));
  EXPECT_THAT(held.failures, IsEmpty());
  EXPECT_THAT(held.undecided, IsEmpty());
  EXPECT_THAT(hold_against(history, parse_history_limits("slower=1%")).undecided,
              ElementsAre(HasSubstr("training speed: 30 runs can't show a change of 1 %, only of ")));
}

TEST(History, FewRunsAreSaidToBeTooFew) {
  const History history = history_of(test::runs_of_nights({.count = 3, .slower_from = 1, .slower_by = 0.5}));
  EXPECT_EQ(history.tests, 0U);
  EXPECT_THAT(sentences_of(history), ElementsAre("too few runs to look for changes: 7 more"));
  EXPECT_THAT(versions_table(history.series[0]).rows, SizeIs(2));
}

TEST(History, FewRunsAndManyCellsShowAHalvedSpeed) {
  for (const auto& [count, cells] : {std::pair{10, 1}, {14, 5}, {20, 30}}) {
    std::vector<HistoryRun> runs;
    for (int cell = 0; cell < cells; ++cell) {
      const Nights nights{
          .count = count, .slower_from = count / 2, .slower_by = 0.5, .cpu = fmt::format("Zen {}", cell)};
      for (HistoryRun& run : test::runs_of_nights(nights)) runs.push_back(std::move(run));
    }
    const History history = history_of(std::move(runs));
    EXPECT_THAT(history.series, SizeIs(static_cast<std::size_t>(cells)));
    for (const HistorySeries& series : history.series) {
      ASSERT_THAT(series.figures.front().changes, SizeIs(1)) << cells << " cells: " << series.cell;
      EXPECT_NEAR(series.figures.front().changes[0].change, -0.5, 0.02);
      EXPECT_EQ(series.figures.front().changes[0].at, static_cast<std::size_t>(count / 2));
    }
    EXPECT_THAT(hold_against(history, parse_history_limits("slower=5%")).failures,
                SizeIs(static_cast<std::size_t>(cells)));
  }
}

TEST(History, WhatCanNotBeShownIsNoUnchangedFigure) {
  // Ten nights have too few orders for figures that never vary, among so many tests.
  std::vector<HistoryRun> runs;
  for (const char* cpu : {"Zen", "Xeon", "Graviton"}) {
    for (HistoryRun& run : test::runs_of_nights({.count = 10, .cpu = cpu})) runs.push_back(std::move(run));
  }
  const History history = history_of(std::move(runs));
  EXPECT_THAT(
      sentences_of(history),
      ElementsAre("test accuracy: 10 runs can't show a change, however large, among 14 tests; 13 runs would",
                  testing::StartsWith("no change of training speed and peak memory in 10 runs (found would be ")));
  const HeldLimits held = hold_against(history, parse_history_limits("accuracy=2%"));
  EXPECT_THAT(held.failures, IsEmpty());
  ASSERT_THAT(held.undecided, SizeIs(3));
  EXPECT_THAT(held.undecided[0], HasSubstr("test accuracy: 10 runs can't show a change of 2 points; 13 runs would"));
}

TEST(History, AFigureThatGoesToAndFroIsTold) {
  std::vector<HistoryRun> runs = test::runs_of_nights({.count = 24});
  change_runs(runs, 0,
              [](record::Record& record, std::size_t n) { *record.images_per_s.median *= n % 2 == 0 ? 1 : 0.7; });
  const History history = history_of(runs);
  EXPECT_THAT(sentences_of(history),
              Contains(AllOf(HasSubstr("training speed: goes to and fro between two levels, 23 times: "),
                             HasSubstr(" images/s in 12 runs, as two states"))));
  EXPECT_THAT(sentences_of(history), Not(Contains(HasSubstr("no change of training speed"))));
  EXPECT_EQ(nlohmann::json::parse(history_json(history, {}))["series"][0]["figures"][0]["two_levels"]["switches"], 23);
}

TEST(History, ASpeedOf0IsNoMeasurement) {
  std::vector<HistoryRun> runs = test::runs_of_nights({.count = 16});
  change_runs(runs, 15, [](record::Record& record, std::size_t) {
    record.images_per_s.median = 0;
    record.memory.peak_rss_bytes = 0;
  });
  const History history = history_of(runs);
  EXPECT_THAT(figure_of(history.series[0], "images_per_s").values, SizeIs(15));
  EXPECT_THAT(history.notes,
              testing::IsSupersetOf({"1 run with a training speed of 0, which is no measurement: not counted there",
                                     "1 run with a peak memory of 0, which is no measurement: not counted there"}));
  EXPECT_THAT(sentences_of(history), ElementsAre(HasSubstr("no change of training speed")));
}

TEST(History, AFigureBelow0ChangesByItsUnit) {
  std::vector<HistoryRun> runs = test::runs_of_nights({.count = 20});
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const double noise = 0.01 * static_cast<double>(n * 7 % 5);
    runs[n].metrics.push_back({.name = "margin_db",
                               .unit = "dB",
                               .title = "margin",
                               .label = "margin",
                               .role = record::MetricRole::kQuality,
                               .value = (n < 10 ? 0.5 : -1) + noise});
  }
  const History history = history_of(runs);
  EXPECT_THAT(sentences_of(history), Contains(HasSubstr("margin: 1.50 dB lower (95 %: 1.4")));
  EXPECT_THAT(history_json(history, {}), HasSubstr("\"1.50 dB lower\""));
}

TEST(History, OneRuleSaysWhatAMachineIs) {
  const auto machines = [](const auto& change) {
    std::vector<HistoryRun> runs = test::runs_of_nights({.count = 12});
    for (HistoryRun& run : runs) run.record.machine.memory_bytes = 31'400'000'000;
    change_runs(runs, 6, [&](record::Record& record, std::size_t) { change(record); });
    return history_of(runs).series.size();
  };
  EXPECT_EQ(machines([](record::Record& record) { record.machine.memory_bytes -= 1'100'000'000; }), 1U);
  EXPECT_EQ(machines([](record::Record& record) { record.machine.memory_bytes += 40'000'000; }), 1U);
  EXPECT_EQ(machines([](record::Record& record) { record.machine.memory_bytes = 0; }), 1U) << "not known";
  EXPECT_EQ(machines([](record::Record& record) { record.machine.memory_bytes = 24'000'000'000; }), 2U);
  EXPECT_EQ(machines([](record::Record& record) { ++record.machine.cores; }), 2U);
  EXPECT_EQ(machines([](record::Record& record) { ++record.machine.logical_cpus; }), 2U);
  EXPECT_EQ(machines([](record::Record& record) { record.machine.quota_cpus = 1.5; }), 2U);
  EXPECT_EQ(machines([](record::Record& record) { record.gpus.emplace_back().name = "H200"; }), 2U);
  EXPECT_EQ(machines([](record::Record& record) { record.placement.replicas[0].host = "b"; }), 2U);
}

TEST(History, MachinesPlacementsAndOptionsAreKeptApart) {
  std::vector<HistoryRun> runs = test::runs_of_nights({.count = 12});
  const auto add = [&](Nights nights, const std::string& value) {
    for (HistoryRun& run : test::runs_of_nights(nights)) {
      if (!value.empty()) run.record.config["new-option"] = value;
      runs.push_back(std::move(run));
    }
  };
  add({.count = 12, .cpu = "Xeon"}, "");
  add({.count = 12, .placement = "cpu/t1"}, "");
  History history = history_of(runs);
  EXPECT_THAT(history.series, SizeIs(3));
  EXPECT_THAT(history.notes, Contains("2 machines: their runs are kept apart"));
  // A version that doesn't know an option does what the first one with it does.
  add({.count = 2}, "5");
  EXPECT_THAT(history_of(runs).series, SizeIs(3));
  add({.count = 2}, "9");
  history = history_of(runs);
  EXPECT_THAT(history.series, SizeIs(4));
  EXPECT_THAT(history_table(history).rows, Contains(Contains(HasSubstr("batch 32, new-option=9"))));
  add({.count = 2}, "5");
  for (HistoryRun& run : runs) run.record.config["seed"] = run.record.started;
  EXPECT_THAT(history_of(runs).series, SizeIs(4)) << "seeds make no cells";
}

TEST(History, AnEngineThatTheProgramChoseTellsNoCellsApart) {
  std::vector<HistoryRun> runs = test::runs_of_nights({.count = 12});
  for (std::size_t n = 0; n < runs.size(); ++n) runs[n].record.config["engine"] = n < 6 ? "\"torch\"" : "\"native\"";
  EXPECT_THAT(history_of(runs).series, SizeIs(1));
  for (HistoryRun& run : runs) run.record.command = {"evener", "train", "--engine", "x"};
  EXPECT_THAT(history_of(runs).series, SizeIs(2));
}

TEST(History, EnergiesOfAnotherClassAreAnotherFigure) {
  std::vector<HistoryRun> runs = test::runs_of_nights({.count = 20});
  for (std::size_t n = 0; n < runs.size(); ++n) {
    runs[n].record.energy.joules = n < 8 ? 900 : 500;
    runs[n].record.energy.kind = n < 8 ? record::EnergyClass::kEstimated : record::EnergyClass::kMeasured;
    runs[n].metrics = record::metrics_of(runs[n].record);
  }
  const History history = history_of(runs);
  EXPECT_THAT(figure_of(history.series[0], "energy_joules").values, testing::AllOf(SizeIs(12), testing::Each(500)));
}

TEST(History, ADriftIsToldAsOne) {
  std::vector<HistoryRun> runs = test::runs_of_nights({});
  for (std::size_t n = 0; n < runs.size(); ++n) {
    *runs[n].record.images_per_s.median *= 1 - 0.2 * static_cast<double>(n) / 59;
    runs[n].metrics = record::metrics_of(runs[n].record);
  }
  const History history = history_of(runs);
  const HistoryFigure& speed = history.series[0].figures.front();
  ASSERT_TRUE(speed.drift);
  EXPECT_NEAR(speed.drift->change, -0.2, 0.02);
  EXPECT_THAT(speed.changes, IsEmpty());
  EXPECT_NEAR(speed.levels.front().first_value, 100, 2);
  EXPECT_NEAR(speed.levels.front().last_value, 80, 2);
  EXPECT_THAT(sentences_of(history), ElementsAre(HasSubstr("training speed: drifts, ")));
  EXPECT_THAT(hold_against(history, parse_history_limits("slower=10%")).failures, ElementsAre(HasSubstr("by a drift")));
  EXPECT_THAT(hold_against(history, parse_history_limits("slower=20%")).undecided,
              ElementsAre(HasSubstr("by a drift")));
}

TEST(HistoryLimits, AreExceededOnlySurelyAndOnlyByTheLatestLevel) {
  std::vector<HistoryRun> runs = test::runs_of_nights({.slower_from = 35});
  const auto beyond = [&](const std::string& limits) {
    return hold_against(history_of(runs), parse_history_limits(limits)).failures;
  };
  const auto undecided = [&](const std::string& limits) {
    return hold_against(history_of(runs), parse_history_limits(limits)).undecided;
  };
  EXPECT_THAT(beyond("slower=5%"),
              ElementsAre(AllOf(HasSubstr("training speed is "), HasSubstr("slower, surely by more than 5 %"),
                                HasSubstr("since 2026-11-05"))));
  EXPECT_THAT(undecided("slower=5%"), IsEmpty());
  EXPECT_THAT(beyond("slower=5.9%"), IsEmpty()) << "within the interval";
  EXPECT_THAT(undecided("slower=5.9%"),
              ElementsAre(AllOf(HasSubstr("training speed is "),
                                HasSubstr("slower, since 2026-11-05; whether by more than 5.9 % is undecided"))));
  EXPECT_THAT(undecided("slower=7%"), IsEmpty()) << "surely less";
  EXPECT_THAT(beyond("memory=0%,accuracy=0%,energy=0%"), IsEmpty());
  EXPECT_THAT(undecided("memory=0%,accuracy=0%,energy=0%"),
              ElementsAre(HasSubstr("no run that counts tells what energy is about")));
  for (std::size_t n = 50; n < runs.size(); ++n) {
    *runs[n].record.images_per_s.median *= 1.1;
    runs[n].metrics = record::metrics_of(runs[n].record);
  }
  EXPECT_THAT(beyond("slower=5%"), IsEmpty()) << "it was mended";
  EXPECT_THAT(undecided("slower=5%"), IsEmpty());
  for (std::size_t n = 50; n < runs.size(); ++n) {
    runs[n].record.memory.peak_rss_bytes = 1'200'000'000 + n;
    runs[n].record.training.accuracy.test = 0.9;
    runs[n].metrics = record::metrics_of(runs[n].record);
  }
  EXPECT_THAT(beyond("memory=15%,accuracy=5%"),
              ElementsAre(HasSubstr("peak memory is 20.0 % more"), HasSubstr("7.2 points lower")));
  EXPECT_THAT(beyond("memory=25%,accuracy=8%"), IsEmpty());
}

TEST(HistoryLimits, AreUndecidedWhereNoOneCanKnow) {
  const auto undecided = [](const Nights& nights, const std::string& limits, const auto& change) {
    std::vector<HistoryRun> runs = test::runs_of_nights(nights);
    change_runs(runs, 0, change);
    const HeldLimits held = hold_against(history_of(runs), parse_history_limits(limits));
    EXPECT_THAT(held.failures, IsEmpty());
    return held.undecided;
  };
  const auto as_it_is = [](record::Record&, std::size_t) {};
  EXPECT_THAT(undecided({.count = 3}, "slower=5%", as_it_is),
              ElementsAre(HasSubstr("training speed: 3 runs can't show a change of 5 %; 10 runs would")));
  EXPECT_THAT(undecided({.count = 1}, "memory=10%", as_it_is), ElementsAre(HasSubstr("at least 10 would")));
  const auto noisy = [](record::Record& record, std::size_t n) {
    record.images_per_s.median = 100 + 4.0 * (static_cast<double>(n * 7 % 11) - 5);
  };
  EXPECT_THAT(undecided({.count = 22}, "slower=5%", noisy),
              ElementsAre(testing::MatchesRegex(".*: training speed: 22 runs can't show a change of 5 %, only of "
                                                "[23].\\.. % and more; [0-9]+ runs would")));
  EXPECT_THAT(undecided({.count = 22}, "slower=40%", noisy), IsEmpty());
  const auto without_accuracy = [](record::Record& record, std::size_t) { record.training = {}; };
  EXPECT_THAT(undecided({.count = 22}, "accuracy=5%", without_accuracy),
              ElementsAre("no run that counts tells an accuracy"));
  std::vector<HistoryRun> runs = test::runs_of_nights({.count = 20});
  for (HistoryRun& run : runs) run.left_out = "INVALID: swap";
  EXPECT_THAT(hold_against(history_of(runs), parse_history_limits("slower=5%")).undecided, SizeIs(1));
}

TEST(HistoryLimits, NonsenseIsRefusedWithWhatToWrite) {
  const auto why = [](const std::string& text) -> std::string {
    try {
      parse_history_limits(text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(why("slow=5%"), HasSubstr("did you mean 'slower'"));
  EXPECT_THAT(why("slower"), HasSubstr("as in slower=5%"));
  for (const char* bad : {"slower=5", "slower=-1%", "slower=nan%", "slower=%", "slower=1e9%", "slower=5%%"}) {
    EXPECT_THAT(why(bad), HasSubstr("as in slower=5%")) << bad;
  }
  EXPECT_THAT(why("slower=5%,"), Not(IsEmpty()));
  EXPECT_EQ(why("slower=5%,memory=0.5%"), "");
  EXPECT_DOUBLE_EQ(parse_history_limits("slower=5%,memory=0.5%")[1].share, 0.005);
  for (const char* bad : {"2026-1-1", "yesterday", "2026-11-010", "2026-13-45", "2026-02-30", "2025-02-29",
                          "0000-00-00", "2026-00-10", "2026-10-00", "2026/10/10", "+026-10-10", ""}) {
    EXPECT_FALSE(is_day(bad)) << bad;
  }
  EXPECT_TRUE(is_day("2026-11-01") && is_day("2024-02-29"));
}

class HistoryFolders : public testing::Test {
 protected:
  record::Record record(int night) { return test::record_of_night({}, night); }
  void write(const std::string& name, const record::Record& record) {
    std::filesystem::create_directories(folder_ / name);
    record::write_record(folder_ / name, record);
  }

  test::TestFolder folder_;
};

TEST_F(HistoryFolders, RunsLieAtAnyDepthAndCountOnce) {
  for (int night = 0; night < 12; ++night) write("a/" + std::to_string(night) + "/run", record(night));
  std::filesystem::copy(folder_ / "a/3", folder_ / "copy", std::filesystem::copy_options::recursive);
  const History history = load_history({folder_.path(), folder_ / "a"});
  ASSERT_THAT(history.series, SizeIs(1));
  EXPECT_THAT(history.series[0].runs, SizeIs(12));
  EXPECT_THAT(history.notes,
              AllOf(Contains(HasSubstr("named more than once")), Contains("1 copy of another run left out")));
  EXPECT_THAT(load_history({folder_ / "a"}, {.count_invalid = false, .since = "2026-10-05"}).series[0].runs, SizeIs(8));
}

TEST_F(HistoryFolders, LinksAreFollowedAndNoCircles) {
  for (int night = 0; night < 12; ++night) write("far/" + std::to_string(night), record(night));
  std::filesystem::create_directories(folder_ / "nights/0");
  for (int night = 0; night < 11; ++night) {
    std::filesystem::create_directory_symlink(folder_ / "far" / std::to_string(night),
                                              folder_ / "nights" / ("link-" + std::to_string(night)));
  }
  std::filesystem::create_directory_symlink(folder_ / "far", folder_ / "nights/0/all");
  std::filesystem::create_directory_symlink("..", folder_ / "nights/0/circle");
  std::filesystem::create_symlink("gone", folder_ / "nights/broken");
  const History history = load_history({folder_ / "nights"});
  ASSERT_THAT(history.series, SizeIs(1));
  EXPECT_THAT(history.series[0].runs, SizeIs(12));
  EXPECT_THAT(history.notes, AllOf(Contains(AllOf(HasSubstr("led to by links, and taken once: "),
                                                  HasSubstr("nights/0/all/0, "), HasSubstr(" and 9 more"))),
                                   Contains(HasSubstr("broken is a link to what isn't there"))));
}

TEST_F(HistoryFolders, ADayAfterAllRunsIsSaid) {
  for (int night = 0; night < 3; ++night) write(std::to_string(night), record(night));
  try {
    load_history({folder_.path()}, {.count_invalid = false, .since = "2026-12-24"});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("--since 2026-12-24: no run is left: 3 runs before 2026-12-24 left out, the last "
                          "of 2026-10-03"));
  }
}

TEST_F(HistoryFolders, WhatDoesNotCountIsShownAndSaid) {
  for (int night = 0; night < 12; ++night) {
    record::Record made = record(night);
    if (night == 4) made.validity = {false, {{"swap", "1 GB", "use less"}}};
    if (night == 5) made.status = record::Status::kInterrupted;
    if (night == 6) made.status = record::Status::kRunning;  // nothing holds its folder: killed
    if (night == 7) made.started.clear();
    if (night == 8) made.validity = {false, {{"other load", "7 %", "end them"}, {"noise", "0.3", "again"}}};
    write(std::to_string(night), made);
  }
  test::write_text(folder_ / "broken/record.json", "{");
  const History history = load_history({folder_.path()});
  EXPECT_THAT(history.series[0].runs, SizeIs(12));
  EXPECT_THAT(history.series[0].figures.front().values, SizeIs(7));
  EXPECT_THAT(
      history.notes,
      AllOf(Contains("1 run not counted: INVALID: swap (--count-invalid counts them)"),
            Contains("1 run not counted: beside other programs and with much noise (--count-invalid counts them)"),
            Contains("1 run not counted: interrupted"), Contains("1 run not counted: killed"),
            Contains("1 run not counted: it has no date"), Contains(HasSubstr("broken"))));
  EXPECT_THAT(load_history({folder_.path()}, {.count_invalid = true, .since = ""}).series[0].figures.front().values,
              SizeIs(9));
}

TEST_F(HistoryFolders, WithoutARunTheReasonIsTold) {
  EXPECT_THROW(load_history({folder_.path()}), UsageError);
  EXPECT_THROW(load_history({folder_ / "nowhere"}), UsageError);
}

TEST_F(HistoryFolders, ASweepTellsTheEnvironmentOfItsRuns) {
  record::SweepRecord sweep;
  sweep.command = "train";
  sweep.series = {{.number = 1, .started = "", .program = "", .machine = ""}};
  sweep.cells.emplace_back().key = "k";
  sweep.cells.back().folder = "cell";
  sweep.cells.back().words = {"train", "resnet34"};
  sweep.cells.back().environment = {{"OMP_WAIT_POLICY", "active"}};
  record::write_sweep(folder_.path(), sweep);
  record::JournalWriter journal(folder_.path());
  for (int night = 0; night < 12; ++night) {
    const std::string name = "cell/b" + std::to_string(night);
    write(name, record(night));
    record::SweepRun run;
    run.series = 1;
    run.cell = "k";
    run.block = night;
    run.folder = name;
    if (night == 0) run.part = record::kWarmupPart;
    run.end = record::RunEnd::kDone;
    journal.begin(run);
    journal.end(run);
  }
  write("pilot/0abc12/cell-2", record(20));  // of the sweep's --steady
  const History history = load_history({folder_.path()});
  ASSERT_THAT(history.series, SizeIs(1));
  EXPECT_THAT(history.series[0].cell, HasSubstr("OMP_WAIT_POLICY=active"));
  EXPECT_THAT(history.notes, Contains("1 run not counted: warm-up"));
}

/// A sweep whose odd runs are those of its energy.
TEST_F(HistoryFolders, RunsThatMeasureEnergyTellNoSpeedAndNoOthersEnergy) {
  record::SweepRecord sweep;
  sweep.command = "train";
  sweep.energy_repeats = 11;
  sweep.series = {{.number = 1, .started = "", .program = "", .machine = ""}};
  sweep.cells.emplace_back().key = "k";
  sweep.cells.back().folder = "cell";
  record::write_sweep(folder_.path(), sweep);
  record::JournalWriter journal(folder_.path());
  for (int night = 0; night < 22; ++night) {
    record::Record made = record(night);
    if (night % 2 == 1) *made.images_per_s.median *= 0.9;
    made.energy.kind = record::EnergyClass::kMeasured;
    made.energy.joules = night % 2 == 1 ? 500 + night : 300 + night;
    record::SweepRun run;
    run.cell = "k";
    run.block = night;
    run.folder = "cell/b" + std::to_string(night);
    run.part = night % 2 == 1 ? record::kEnergyPart : record::kMeasurePart;
    run.end = record::RunEnd::kDone;
    write(run.folder, made);
    journal.begin(run);
    journal.end(run);
  }
  std::filesystem::create_directory_symlink(folder_ / "cell/b3", folder_ / "a-link");
  const History history = load_history({folder_.path()});
  ASSERT_THAT(history.series, SizeIs(1));
  EXPECT_THAT(figure_of(history.series[0], "images_per_s").values, AllOf(SizeIs(11), testing::Each(testing::Gt(95))));
  EXPECT_THAT(figure_of(history.series[0], "energy_joules").values, AllOf(SizeIs(11), testing::Each(testing::Gt(500))));
}

TEST(HistoryJson, HasRunsLevelsAndChanges) {
  const History history = history_of(test::runs_of_nights({.slower_from = 35}));
  const auto json = nlohmann::json::parse(history_json(history, {.failures = {"too slow"}, .undecided = {"open"}}));
  EXPECT_EQ(json["schema"], "evener-history-1");
  EXPECT_EQ(json["failures"][0], "too slow");
  EXPECT_EQ(json["undecided"][0], "open");
  const auto& series = json["series"][0];
  EXPECT_EQ(series["runs"].size(), 60U);
  EXPECT_EQ(series["runs"][40]["versions"]["program"], "bbbbbbbbbbbbbbbb");
  EXPECT_NEAR(series["runs"][40]["figures"]["images_per_s"].get<double>(), 94, 4);
  const auto& speed = series["figures"][0];
  EXPECT_EQ(speed["name"], "images_per_s");
  EXPECT_EQ(speed["changes"][0]["first_run"], 35);
  EXPECT_LT(speed["changes"][0]["interval_95"][0], -0.05);
  EXPECT_EQ(speed["levels"].size(), 2U);
  EXPECT_NEAR(speed["least_change_found"].get<double>(), 0.015, 0.005);
}

// The page of a history, as text and as a browser shows it.

/// A cell that became slower, with a run that doesn't count, and one that didn't.
History made_history() {
  std::vector<HistoryRun> runs = test::runs_of_nights({.slower_from = 35});
  runs[20].left_out = "INVALID: <swap>";
  for (HistoryRun& run : test::runs_of_nights({.count = 20, .placement = "cpu/t1"})) runs.push_back(std::move(run));
  return history_of(std::move(runs));
}

TEST(HistoryPage, SaysAllWithoutPlots) {
  const std::string page = history_page(made_history(), {.failures = {"a <b>limit</b>"}, .undecided = {"an open one"}},
                                        "", "No plots: testing");
  EXPECT_THAT(page, AllOf(HasSubstr("<h1>1 change found</h1>"), HasSubstr("80 runs of 2 cells from 2026-10-01 to"),
                          HasSubstr("program bbbbbbbb"), HasSubstr("No plots: testing")));
  EXPECT_THAT(page, AllOf(HasSubstr("a &lt;b&gt;limit"), HasSubstr("an open one"), Not(HasSubstr("<swap>")),
                          HasSubstr("&lt;swap&gt;")));
  EXPECT_LT(page.find("<h2>train resnet34 on synth:masks, cpu/t2"),
            page.find("<h2>train resnet34 on synth:masks, cpu/t1"))
      << "what changed comes first";
}

class HistoryInBrowser : public testing::TestWithParam<int> {};

TEST_P(HistoryInBrowser, PlotsEachFigureWithItsChange) {
  if (const std::string why = test::why_no_browser(); !why.empty()) GTEST_SKIP() << why;
  const test::TestFolder folder;
  const report::WrittenPage page = write_history_page(folder / "history.html", made_history(), {});
  ASSERT_EQ(page.hint, "");
  std::ofstream(page.path, std::ios::app) << R"(<script>
    window.addEventListener('load', () => {
      const plot = [...document.querySelectorAll('.plot')].find((one) => one.layout.annotations.length);
      document.body.dataset.change = 'change=' + plot.layout.annotations.map((one) => one.text).join();
      document.body.dataset.traces = 'traces=' + plot.data.map((one) => one.name + ' ' + one.x.length).join();
    });</script>)";
  const std::string dom = test::dom_of(page.path, folder / "profile", GetParam());
  const std::string body = dom.substr(dom.find("<main"), dom.find("</main>") - dom.find("<main"));
  std::size_t plots = 0;
  for (std::size_t at = 0; (at = body.find("class=\"plot js-plotly-plot\"", at)) != std::string::npos; ++at) ++plots;
  EXPECT_EQ(plots, 4U);  // three figures of the cell that changed, and the speed of the other
  EXPECT_THAT(body, HasSubstr("id=\"problem\" hidden"));
  EXPECT_THAT(dom, AllOf(HasSubstr("% slower&lt;/b&gt;&lt;br&gt;2026-11-05"),
                         HasSubstr("traces=runs 59,not counted 1,level 6")));
  EXPECT_THAT(dom, AllOf(HasSubstr("data-requests=\"requests=0 \""), HasSubstr("data-overflow=\"overflow=false\"")));
}

INSTANTIATE_TEST_SUITE_P(Widths, HistoryInBrowser, testing::Values(1400, 400));

}  // namespace

}  // namespace evener::sweeps
