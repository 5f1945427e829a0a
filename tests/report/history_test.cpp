// Histories: which runs belong to a cell, what counts, what is told of changes, and limits.
#include "report/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/test_folder.h"
#include "record/sweep_file.h"
#include "report/browser_helpers.h"
#include "report/made_history_helpers.h"

namespace evener::report {
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
      history_sentences(series),
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
      history_sentences(history_of(runs).series[0]),
      ElementsAre(HasSubstr("evener 0.7.0 of 2026-10-30 and evener 0.7.0 of 2026-10-31; the program is the same")));
  for (std::size_t n = 31; n < runs.size(); ++n) runs[n].record.versions = {{"evener", "0.7.1"}};
  EXPECT_THAT(history_sentences(history_of(runs).series[0]),
              ElementsAre(HasSubstr("the program changed 1 run later, from evener 0.7.0 to evener 0.7.1")));
  for (HistoryRun& run : runs) run.record.versions = {{"evener", "0.7.0"}};
  for (std::size_t n = 30; n < runs.size(); ++n) runs[n].record.machine.kernel = "Linux 7";
  EXPECT_THAT(history_sentences(history_of(runs).series[0]), ElementsAre(HasSubstr("-> Linux 7)")));
}

TEST(History, AConstantSpeedHasNoChange) {
  const History history = history_of(test::runs_of_nights({.count = 30}));
  EXPECT_THAT(history_sentences(history.series[0]),
              ElementsAre("no change of training speed, test accuracy and peak memory in 30 runs"));
  EXPECT_THAT(beyond_limits(history, parse_history_limits("slower=0%,memory=0%,accuracy=0%")), IsEmpty());
}

TEST(History, FewRunsAreSaidToBeTooFew) {
  const History history = history_of(test::runs_of_nights({.count = 3, .slower_from = 1, .slower_by = 0.5}));
  EXPECT_EQ(history.tests, 0U);
  EXPECT_THAT(history_sentences(history.series[0]), ElementsAre("too few runs to look for changes: 7 more"));
  EXPECT_THAT(versions_table(history.series[0]).rows, SizeIs(2));
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
  EXPECT_THAT(history_sentences(history.series[0]), ElementsAre(HasSubstr("training speed: drifts, ")));
  EXPECT_THAT(beyond_limits(history, parse_history_limits("slower=10%")), ElementsAre(HasSubstr("by a drift")));
}

TEST(HistoryLimits, AreExceededOnlySurelyAndOnlyByTheLatestLevel) {
  std::vector<HistoryRun> runs = test::runs_of_nights({.slower_from = 35});
  const auto beyond = [&](const std::string& limits) {
    return beyond_limits(history_of(runs), parse_history_limits(limits));
  };
  EXPECT_THAT(beyond("slower=5%"),
              ElementsAre(AllOf(HasSubstr("training speed is "), HasSubstr("slower, surely by more than 5 %"),
                                HasSubstr("since 2026-11-05"))));
  EXPECT_THAT(beyond("slower=5.9%"), IsEmpty()) << "within the interval";
  EXPECT_THAT(beyond("memory=0%,accuracy=0%,energy=0%"), IsEmpty());
  for (std::size_t n = 50; n < runs.size(); ++n) {
    *runs[n].record.images_per_s.median *= 1.1;
    runs[n].metrics = record::metrics_of(runs[n].record);
  }
  EXPECT_THAT(beyond("slower=5%"), IsEmpty()) << "it was mended";
  for (std::size_t n = 50; n < runs.size(); ++n) {
    runs[n].record.memory.peak_rss_bytes = 1'200'000'000 + n;
    runs[n].record.training.accuracy.test = 0.9;
    runs[n].metrics = record::metrics_of(runs[n].record);
  }
  EXPECT_THAT(beyond("memory=15%,accuracy=5%"),
              ElementsAre(HasSubstr("7.2 points lower"), HasSubstr("peak memory is 20.0 % more")));
  EXPECT_THAT(beyond("memory=25%,accuracy=8%"), IsEmpty());
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
  EXPECT_FALSE(is_day("2026-1-1") || is_day("yesterday") || is_day("2026-11-010"));
  EXPECT_TRUE(is_day("2026-11-01"));
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

TEST_F(HistoryFolders, WhatDoesNotCountIsShownAndSaid) {
  for (int night = 0; night < 12; ++night) {
    record::Record made = record(night);
    if (night == 4) made.validity = {false, {{"swap", "1 GB", "use less"}}};
    if (night == 5) made.status = record::Status::kInterrupted;
    if (night == 6) made.status = record::Status::kRunning;  // nothing holds its folder: killed
    if (night == 7) made.started.clear();
    write(std::to_string(night), made);
  }
  test::write_text(folder_ / "broken/record.json", "{");
  const History history = load_history({folder_.path()});
  EXPECT_THAT(history.series[0].runs, SizeIs(12));
  EXPECT_THAT(history.series[0].figures.front().values, SizeIs(8));
  EXPECT_THAT(history.notes, AllOf(Contains("1 run not counted: INVALID: swap (--count-invalid counts them)"),
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

TEST(HistoryJson, HasRunsLevelsAndChanges) {
  const History history = history_of(test::runs_of_nights({.slower_from = 35}));
  const auto json = nlohmann::json::parse(history_json(history, {"too slow"}));
  EXPECT_EQ(json["schema"], "evener-history-1");
  EXPECT_EQ(json["failures"][0], "too slow");
  const auto& series = json["series"][0];
  EXPECT_EQ(series["runs"].size(), 60U);
  EXPECT_EQ(series["runs"][40]["versions"]["program"], "bbbbbbbbbbbbbbbb");
  EXPECT_NEAR(series["runs"][40]["figures"]["images_per_s"].get<double>(), 94, 4);
  const auto& speed = series["figures"][0];
  EXPECT_EQ(speed["name"], "images_per_s");
  EXPECT_EQ(speed["changes"][0]["first_run"], 35);
  EXPECT_LT(speed["changes"][0]["interval_95"][0], -0.05);
  EXPECT_EQ(speed["levels"].size(), 2U);
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
  const std::string page = history_page(made_history(), {"a <b>limit</b>"}, "", "No plots: testing");
  EXPECT_THAT(page, AllOf(HasSubstr("<h1>1 change found</h1>"), HasSubstr("80 runs of 2 cells from 2026-10-01 to"),
                          HasSubstr("program bbbbbbbb"), HasSubstr("No plots: testing")));
  EXPECT_THAT(page, AllOf(HasSubstr("a &lt;b&gt;limit"), Not(HasSubstr("<swap>")), HasSubstr("&lt;swap&gt;")));
  EXPECT_LT(page.find("<h2>train resnet34 on synth:masks, cpu/t2"),
            page.find("<h2>train resnet34 on synth:masks, cpu/t1"))
      << "what changed comes first";
}

class HistoryInBrowser : public testing::TestWithParam<int> {};

TEST_P(HistoryInBrowser, PlotsEachFigureWithItsChange) {
  if (const std::string why = test::why_no_browser(); !why.empty()) GTEST_SKIP() << why;
  const test::TestFolder folder;
  const WrittenPage page = write_history_page(folder / "history.html", made_history(), {});
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

}  // namespace evener::report
