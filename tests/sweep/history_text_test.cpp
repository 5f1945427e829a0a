// What is told of a history whose figures and changes are given: sentences, tables, limits, JSON and the page's head.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "record/change_points.h"
#include "sweep/history/history.h"

namespace evener::sweeps {
namespace {

using record::Better;
using record::Interval;
using record::Metric;
using record::MetricRole;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const Metric kSpeed{
    .name = "images_per_s", .unit = "images/s", .title = "images/s", .label = "speed", .role = MetricRole::kSpeed};
const Metric kLatency{.name = "latency_s",
                      .unit = "s",
                      .title = "latency",
                      .label = "latency",
                      .better = Better::kLower,
                      .role = MetricRole::kSpeed};
const Metric kAccuracy{
    .name = "test_accuracy", .unit = "share", .title = "test", .label = "accuracy", .role = MetricRole::kQuality};
const Metric kMargin{
    .name = "margin_db", .unit = "dB", .title = "margin", .label = "margin", .role = MetricRole::kQuality};
const Metric kMemory{
    .name = "peak_rss_bytes", .unit = "bytes", .title = "", .label = "peak memory", .better = Better::kLower};
const Metric kEnergy{
    .name = "energy_joules", .unit = "J", .title = "energy", .label = "energy", .better = Better::kLower};

/// Nine days of one cell. The third run doesn't count; from the sixth on another program made them.
HistorySeries nine_days() {
  HistorySeries series{.cell = "train net", .machine = "Zen, 2 cores"};
  for (int day = 1; day <= 9; ++day) {
    HistoryRun& run = series.runs.emplace_back();
    run.folder = fmt::format("nights/{}", day);
    run.record.started = fmt::format("2026-11-{:02}T02:00:00Z", day);
    run.record.engine = "torch";
    run.record.versions = {{"evener", day < 6 ? "0.7.0" : "0.8.0"}, {"program", day < 6 ? "1111111122" : "2222222233"}};
  }
  series.runs[2].left_out = "INVALID: swap";
  return series;
}

/// The figure of the eight that count.
HistoryFigure figure_of(const Metric& metric, bool is_relative = true) {
  return {.metric = metric,
          .runs = {0, 1, 3, 4, 5, 6, 7, 8},
          .values = {100, 110, 90, 80, 82, 84, 86, 88},
          .is_relative = is_relative};
}

/// A change between the fourth and the fifth day.
HistoryFigure changed(const Metric& metric, double change, std::optional<Interval> interval, bool is_relative = true) {
  HistoryFigure figure = figure_of(metric, is_relative);
  figure.changes = {{.at = 3, .p = 0.012, .before = 100, .after = 80, .change = change, .interval = interval}};
  return figure;
}

std::vector<std::string> sentences_of(const HistoryFigure& figure, HistorySeries series = nine_days()) {
  series.figures = {figure};
  return history_sentences(series, 6);
}

TEST(HistorySentences, EachFigureHasItsWordsAndTheNearerEndOfTheIntervalFirst) {
  const std::tuple<HistoryFigure, const char*> rows[] = {
      {changed(kSpeed, -0.2, Interval{-0.25, -0.18}), "speed: 20.0 % slower (95 %: 18.0 % to 25.0 %; p 0.012) from "},
      {changed(kSpeed, 0.5, Interval{0.4, 0.7}), "speed: 50.0 % faster (95 %: 40.0 % to 70.0 %; "},
      {changed(kSpeed, -0.005, Interval{-0.012, 0.003}), "speed: 0.50 % slower (95 %: -0.30 % to 1.2 %; "},
      {changed(kLatency, 0.2, Interval{0.1, 0.3}), "latency: 20.0 % slower (95 %: 10.0 % to 30.0 %; "},
      {changed(kLatency, -0.2, Interval{-0.3, -0.1}), "latency: 20.0 % faster (95 %: 10.0 % to 30.0 %; "},
      {changed(kAccuracy, 0.012, {}, false), "accuracy: 1.2 points higher (too few runs for an interval; p 0.012) "},
      {changed(kAccuracy, -0.03, {}, false), "accuracy: 3.0 points lower (too few"},
      {changed(kMargin, -1.5, Interval{-2, 1}, false), "margin: 1.50 dB lower (95 %: -1.00 dB to 2.00 dB; "},
      {changed(kMemory, -0.1, {}), "peak memory: 10.0 % less (too few"},
      {changed(kMemory, 0.1, {}), "peak memory: 10.0 % more (too few"},
  };
  for (const auto& [figure, beginning] : rows) EXPECT_THAT(sentences_of(figure), ElementsAre(StartsWith(beginning)));
}

// Runs that don't count are in the series, and not in the figure: its third run is the fourth of the series.
TEST(HistorySentences, AChangeIsBetweenTheRunsThatCount) {
  EXPECT_THAT(sentences_of(changed(kSpeed, -0.2, {})),
              ElementsAre(AllOf(HasSubstr(" from 2026-11-05 on, 80.0 images/s after 100 images/s: between evener "
                                          "0.7.0, program 11111111 of 2026-11-04 and evener 0.7.0, program 11111111 of "
                                          "2026-11-05; "),
                                EndsWith("the program changed 1 run later, from evener 0.7.0, program 11111111 to "
                                         "evener 0.8.0, program 22222222, and the place is known to +-2 runs"))));
  HistoryFigure figure = changed(kSpeed, -0.2, {});
  const auto ending = [&](std::size_t at, const HistorySeries& series = nine_days()) {
    figure.changes[0].at = at;
    const std::string sentence = sentences_of(figure, series).at(0);
    return sentence.substr(sentence.rfind(" of 2026") + 4);
  };
  EXPECT_EQ(ending(4), "2026-11-06") << "here the program changed";
  EXPECT_THAT(ending(2), HasSubstr("2026-11-04; the program changed 2 runs later, from evener 0.7.0"));
  EXPECT_THAT(ending(6), HasSubstr("2026-11-08; the program changed 2 runs earlier, from evener 0.7.0"));
  EXPECT_THAT(ending(7), HasSubstr("2026-11-09; the program is the same there, so something around it changed"));
  EXPECT_THAT(ending(1), HasSubstr("2026-11-02; the program is the same there"));
  HistorySeries unknown = nine_days();
  for (HistoryRun& run : unknown.runs) run.record.versions.clear();
  unknown.runs[7].record.started.clear();
  EXPECT_THAT(sentences_of(figure, unknown)[0], HasSubstr("evener of an unknown version of 2026-11-01"));
  figure.changes[0].at = 6;
  EXPECT_THAT(sentences_of(figure, unknown)[0], HasSubstr("from an unknown day on"));
}

TEST(HistorySentences, WhatElseDiffersIsNamedWithWhatItWas) {
  HistorySeries series = nine_days();
  for (std::size_t n = 0; n < series.runs.size(); ++n) {
    record::Record& record = series.runs[n].record;
    record.versions["compiler"] = n < 5 ? "g++ 12" : "g++ 13";
    if (n >= 5) record.versions["openvino"] = "2026";
    record.engine = n < 5 ? "torch" : "native";
    record.machine.kernel = n < 5 ? "Linux 6" : "Linux 7";
    if (n < 5) record.machine.governor = "powersave";
    record.data.images = n < 5 ? 900 : 950;
  }
  HistoryFigure figure = changed(kSpeed, -0.2, {});
  figure.changes[0].at = 4;
  EXPECT_THAT(sentences_of(figure, series)[0],
              EndsWith("of 2026-11-06 (engine torch -> native, compiler g++ 12 -> g++ 13, openvino ? -> 2026, kernel "
                       "Linux 6 -> Linux 7, governor powersave -> ? and images 900 -> 950)"));
  series.runs[4].record.data.images.reset();
  EXPECT_THAT(sentences_of(figure, series)[0], EndsWith("governor powersave -> ?)")) << "not counted before";
}

TEST(HistorySentences, ADriftAndTwoLevelsAreToldWithTheirRuns) {
  HistoryFigure figure = figure_of(kSpeed);
  figure.drift = HistoryDrift{.p = 0.02, .change = -0.1, .interval = Interval{-0.2, -0.05}};
  EXPECT_THAT(sentences_of(figure),
              ElementsAre("speed: drifts, 10.0 % slower (95 %: 5.0 % to 20.0 %; p 0.02) over 8 runs from 2026-11-01 to "
                          "2026-11-09, steadily rather than at one place"));
  figure.drift.reset();
  figure.two_levels = record::TwoLevels{.low = 80, .high = 110, .at_low = 5, .switches = 4};
  EXPECT_THAT(sentences_of(figure), ElementsAre(StartsWith("speed: goes to and fro between two levels, 4 times: 80.0 "
                                                           "images/s in 5 runs and 110 images/s in 3 runs, as ")));
}

TEST(HistorySentences, WithoutAChangeTheySayWhatWouldHaveBeenFound) {
  HistorySeries series = nine_days();
  EXPECT_THAT(history_sentences(series, 6), ElementsAre("no run counts, so there is nothing to look for changes in"));
  HistoryFigure few = figure_of(kEnergy), speed = figure_of(kSpeed), accuracy = figure_of(kAccuracy, false);
  few.runs_missing = 2;
  HistoryFigure fewer = few;
  fewer.runs_missing = 4;
  series.figures = {few, fewer};
  EXPECT_THAT(history_sentences(series, 6), ElementsAre("too few runs to look for changes: 4 more"));
  speed.least = 0.034;
  speed.runs.pop_back();
  accuracy.least = 0;
  series.figures = {speed, accuracy, few};
  EXPECT_THAT(history_sentences(series, 6),
              ElementsAre("no change of speed and accuracy in 8 runs (found would be 3.4 % and any)"));
  HistoryFigure memory = figure_of(kMemory);
  memory.noise = {.deviation = 0.01, .resolution = 1e-5};
  series.figures = {changed(kSpeed, -0.2, {}), accuracy, few, memory};
  EXPECT_THAT(history_sentences(series, 6), ElementsAre(StartsWith("speed: 20.0 % slower"),
                                                        "peak memory: 8 runs can't show a change, however large, "
                                                        "among 6 tests; 10 runs would"));
}

TEST(HistoryFigures, TheLeastChangeIsOfLess) {
  HistoryFigure figure = figure_of(kSpeed);
  figure.noise = {.deviation = 0.3, .resolution = 1e-5};
  const double step = *record::least_step_shown(figure.noise, 20, 6);
  EXPECT_DOUBLE_EQ(*least_change(figure, 20, 6), 1 - std::exp(-step));
  figure.is_relative = false;
  EXPECT_DOUBLE_EQ(*least_change(figure, 20, 6), step);
  EXPECT_FALSE(least_change(figure, 9, 6));
}

TEST(HistoryTables, AProgramHasARowForEachLevelOfItsFigures) {
  HistorySeries series = nine_days();
  HistoryFigure memory = figure_of(kMemory);
  memory.runs = {5, 6, 7};
  memory.values = {3e9, 1e9, 2e9};
  series.figures = {changed(kSpeed, -0.2, {}), memory};
  series.figures.push_back(changed(kLatency, 0.1, {}));
  series.runs[5].record.versions.erase("program");
  const report::Table table = versions_table(series);
  std::vector<std::string> titles;
  for (const report::Column& column : table.columns) titles.push_back(column.title);
  EXPECT_THAT(titles,
              ElementsAre("from", "to", "evener", "program", "runs", "images/s", "peak memory", "latency", "change"));
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_THAT(table.rows[0],
              ElementsAre("2026-11-01", "2026-11-04", "0.7.0", "11111111", "3 of 4", "100", "-", HasSubstr("100"), ""));
  EXPECT_THAT(table.rows[1], ElementsAre("2026-11-05", "2026-11-05", "0.7.0", "11111111", "1", "80.0", "-",
                                         HasSubstr("80"), "speed 20.0 % slower and latency 10.0 % slower"));
  EXPECT_THAT(table.rows[2],
              ElementsAre("2026-11-06", "2026-11-06", "0.8.0", "-", "1", "82.0", "3 GB", HasSubstr("82"), ""));
  EXPECT_THAT(table.rows[3],
              ElementsAre("2026-11-07", "2026-11-09", "0.8.0", "22222222", "3", "86.0", "1.5 GB", HasSubstr("86"), ""));
}

TEST(HistoryTables, ACellHasARowWithItsChangesOrWhyThereAreNone) {
  HistorySeries drifting = nine_days(), still = nine_days();
  drifting.figures = {changed(kSpeed, -0.2, {}), figure_of(kMemory)};
  drifting.figures[1].drift = HistoryDrift{.p = 0.01, .change = 0.3};
  still.cell = "train other";
  still.runs.erase(still.runs.begin());
  const report::Table table = history_table({.series = {drifting, still}, .tests = 6, .notes = {}});
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(table.rows[0], ElementsAre("train net", "Zen, 2 cores", "8", "2026-11-01", "2026-11-09",
                                         "speed 20.0 % slower and peak memory 30.0 % more (drift)"));
  EXPECT_THAT(table.rows[1], ElementsAre("train other", "Zen, 2 cores", "7", "2026-11-02", "2026-11-09",
                                         "no run counts, so there is nothing to look for changes in"));
}

HeldLimits held(const std::vector<HistoryFigure>& figures, const std::string& limits) {
  HistorySeries series = nine_days();
  series.figures = figures;
  return hold_against({.series = {series}, .tests = 6, .notes = {}}, parse_history_limits(limits));
}

TEST(HistoryLimits, WhatIsWorseDependsOnTheFigure) {
  const HistoryFigure later = changed(kLatency, 0.2, Interval{0.1, 0.3}),
                      sooner = changed(kLatency, -0.2, Interval{-0.3, -0.1}),
                      leaner = changed(kMemory, -0.2, Interval{-0.3, -0.1}),
                      worse = changed(kAccuracy, -0.2, Interval{-0.3, -0.1}, false);
  EXPECT_THAT(held({later}, "slower=9%").failures,
              ElementsAre("train net: latency is 20.0 % slower, surely by more than 9 %, since 2026-11-05"));
  EXPECT_THAT(held({later}, "slower=10%").undecided,
              ElementsAre("train net: latency is 20.0 % slower, since 2026-11-05; whether by more than 10 % is "
                          "undecided: more runs would tell"));
  EXPECT_THAT(held({later}, "slower=30%").undecided, IsEmpty());
  EXPECT_THAT(held({sooner}, "slower=0%").failures, IsEmpty());
  EXPECT_THAT(held({sooner}, "slower=0%").undecided, IsEmpty());
  EXPECT_THAT(held({leaner}, "memory=0%").undecided, IsEmpty());
  EXPECT_THAT(held({worse}, "accuracy=9.5%").failures, ElementsAre(HasSubstr("20.0 points lower, surely by more than "
                                                                             "9.5 points, since")));
  const HistoryFigure unsure = changed(kLatency, 0.2, {});
  EXPECT_THAT(held({unsure}, "slower=5%").failures, IsEmpty()) << "without an interval nothing is sure";
  EXPECT_THAT(held({unsure}, "slower=5%").undecided, ElementsAre(HasSubstr("undecided")));
  EXPECT_THAT(held({unsure}, "slower=20%").undecided, IsEmpty());
}

TEST(HistoryLimits, AreAboutTheFigureThatTheyName) {
  HistoryFigure all[] = {figure_of(kSpeed),         figure_of(kLatency), figure_of(kAccuracy, false),
                         figure_of(kMargin, false), figure_of(kMemory),  figure_of(kEnergy)};
  for (HistoryFigure& figure : all) {
    figure.changes = {{.at = 2, .change = figure.metric.better == Better::kHigher ? -0.5 : 0.5}};
    figure.changes[0].interval = Interval{figure.changes[0].change, figure.changes[0].change};
  }
  const std::vector<HistoryFigure> figures(std::begin(all), std::end(all));
  EXPECT_THAT(held(figures, "slower=1%").failures, ElementsAre(HasSubstr("speed is")));
  EXPECT_THAT(held(figures, "accuracy=1%").failures, ElementsAre(HasSubstr("accuracy is")))
      << "decibels aren't percent";
  EXPECT_THAT(held(figures, "memory=1%").failures, ElementsAre(HasSubstr("peak memory is")));
  EXPECT_THAT(held(figures, "energy=1%,slower=2%").failures,
              ElementsAre(HasSubstr("energy is"), HasSubstr("speed is")));
  EXPECT_THAT(held({all[2]}, "slower=1%").undecided,
              ElementsAre("train net: no run that counts tells what slower is about"));
  // A network that only answers has no accuracy, which is no reason to doubt the others'.
  HistorySeries trained = nine_days(), answering = nine_days();
  trained.figures = {all[2]};
  answering.figures = {all[0]};
  const auto of_both =
      hold_against({.series = {trained, answering}, .tests = 6, .notes = {}}, parse_history_limits("accuracy=60%"));
  EXPECT_THAT(of_both.undecided, IsEmpty());
}

TEST(HistoryLimits, OfSeveralChangesTheLatestCountsAndADriftBesideIt) {
  HistoryFigure figure = changed(kSpeed, -0.5, Interval{-0.6, -0.4});
  figure.changes.push_back({.at = 6, .change = 0.3, .interval = Interval{0.2, 0.4}});
  EXPECT_THAT(held({figure}, "slower=5%").failures, IsEmpty()) << "it was mended";
  std::swap(figure.changes[0].change, figure.changes[1].change);
  std::swap(figure.changes[0].interval, figure.changes[1].interval);
  figure.drift = HistoryDrift{.p = 0.01, .change = -0.2, .interval = Interval{-0.25, -0.15}};
  EXPECT_THAT(held({figure}, "slower=5%").failures,
              ElementsAre(HasSubstr("50.0 % slower, surely by more than 5 %, since 2026-11-08"),
                          HasSubstr("20.0 % slower, surely by more than 5 %, by a drift over all runs")));
}

TEST(HistoryLimits, WhatCouldNotBeSeenIsSaidWithWhatWouldShowIt) {
  HistoryFigure figure = figure_of(kSpeed);
  figure.noise = {.deviation = 0.5, .resolution = 1e-5};
  figure.least = 0.2;
  EXPECT_THAT(held({figure}, "slower=20%").undecided, IsEmpty());
  EXPECT_THAT(held({figure}, "slower=0%").undecided, IsEmpty());
  EXPECT_THAT(held({figure}, "slower=0.1%").undecided,
              ElementsAre("train net: speed: 8 runs can't show a change of 0.1 %, only of 20.0 % and more; more than "
                          "5000 runs, or steadier ones, would"));
  figure.least.reset();
  figure.noise = {};
  figure.runs_missing = 2;
  EXPECT_THAT(held({figure}, "slower=0%").undecided,
              ElementsAre("train net: speed: 8 runs can't show a change of 0 %; at least 10 would"));
  EXPECT_DOUBLE_EQ(parse_history_limits("energy=999%").at(0).share, 9.99);
  EXPECT_ANY_THROW(parse_history_limits("energy=1000%"));
}

TEST(HistoryJson, NamesTheRunsOfTheSeriesAndWhatIsNotThere) {
  HistorySeries series = nine_days();
  HistoryFigure speed = changed(kSpeed, -0.2, Interval{-0.25, -0.18}), margin = figure_of(kMargin, false);
  speed.levels = {{.first = 0, .last = 2, .first_value = 100, .last_value = 101},
                  {.first = 3, .last = 7, .first_value = 80, .last_value = 82}};
  margin.runs_missing = 2;
  margin.drift = HistoryDrift{.p = 0.03, .change = 1.5, .interval = Interval{1, 2}};
  margin.two_levels = record::TwoLevels{.low = 3, .high = 5, .at_low = 6, .switches = 4};
  series.figures = {speed, margin};
  series.runs[8].metrics = {kSpeed};
  series.runs[8].metrics[0].value = 88;
  series.runs[2].record.validity.valid = false;
  const auto json =
      nlohmann::json::parse(history_json({.series = {series}, .tests = 6, .notes = {"a note"}}, {{"f"}, {"u"}}));
  EXPECT_EQ(json["tests"], 6);
  EXPECT_EQ(json["notes"][0], "a note");
  const auto& one = json["series"][0];
  EXPECT_EQ(one["cell"], "train net");
  EXPECT_EQ(one["machine"], "Zen, 2 cores");
  EXPECT_THAT(one["sentences"][0].get<std::string>(), StartsWith("speed: 20.0 % slower"));
  EXPECT_EQ(one["runs"][2], nlohmann::json::parse(R"({"folder": "nights/3", "started": "2026-11-03T02:00:00Z",
      "versions": {"evener": "0.7.0", "program": "1111111122"}, "engine": "torch", "valid": false,
      "left_out": "INVALID: swap", "figures": {"images_per_s": null, "margin_db": null}})"));
  EXPECT_TRUE(one["runs"][8]["left_out"].is_null() && one["runs"][8]["valid"].is_null());
  EXPECT_EQ(one["runs"][8]["figures"]["images_per_s"], 88);
  EXPECT_EQ(one["figures"][0], nlohmann::json::parse(R"({"name": "images_per_s", "label": "speed", "unit": "images/s",
      "better": "higher", "role": "speed", "runs": [0, 1, 3, 4, 5, 6, 7, 8], "runs_missing": 0, "levels": [
      {"first_run": 0, "last_run": 3, "first": 100.0, "last": 101.0},
      {"first_run": 4, "last_run": 8, "first": 80.0, "last": 82.0}], "changes": [{"first_run": 4, "before": 100.0,
      "after": 80.0, "change": -0.2, "interval_95": [-0.25, -0.18], "p": 0.012, "text": "20.0 % slower"}],
      "drift": null, "least_change_found": null, "two_levels": null})"));
  EXPECT_EQ(one["figures"][1]["runs_missing"], 2);
  EXPECT_EQ(one["figures"][1]["drift"],
            nlohmann::json::parse(R"({"change": 1.5, "interval_95": [1.0, 2.0], "p": 0.03})"));
  EXPECT_EQ(one["figures"][1]["two_levels"],
            nlohmann::json::parse(R"({"low": 3.0, "high": 5.0, "runs_at_low": 6, "switches": 4})"));
}

TEST(HistoryPage, TheHeadCountsChangesAndSpansAllCells) {
  HistorySeries still = nine_days(), later = nine_days();
  still.figures = {figure_of(kSpeed)};
  later.cell = "train other";
  later.machine = "Xeon, 8 cores";
  for (HistoryRun& run : later.runs) run.record.started.replace(5, 2, "12");
  const auto head = [&](const std::vector<HistorySeries>& series, const HeldLimits& limits = {}) {
    const std::string page = history_page({.series = series, .tests = 6, .notes = {"a note"}}, limits, "");
    return page.substr(page.find("<h1>"), page.find("<section") - page.find("<h1>"));
  };
  EXPECT_THAT(head({still}), AllOf(StartsWith("<h1>No change could be found in so few runs</h1>"),
                                   HasSubstr("9 runs of 1 cell from 2026-11-01 to 2026-11-09: "), HasSubstr("Zen")));
  still.figures[0].least = 0.1;
  EXPECT_THAT(head({later, still}),
              AllOf(StartsWith("<h1>No change found</h1>"),
                    HasSubstr("18 runs of 2 cells from 2026-11-01 to 2026-12-09: "), HasSubstr("Xeon")));
  later.figures = {changed(kSpeed, -0.2, {}), figure_of(kMemory)};
  later.figures[1].drift = HistoryDrift{};
  EXPECT_THAT(head({later, still}), StartsWith("<h1>2 changes found</h1>"));
  const std::string whole = history_page({.series = {later, still}, .tests = 6, .notes = {"a note"}}, {}, "");
  EXPECT_THAT(whole, AllOf(HasSubstr("All cells"), HasSubstr("corrected for 6 tests"), HasSubstr("a note"),
                           HasSubstr("id=\"plots-0\""), HasSubstr("id=\"plots-1\"")));
  EXPECT_THAT(history_page({.series = {still}, .tests = 1, .notes = {}}, {}, ""), Not(HasSubstr("All cells")));
}

}  // namespace
}  // namespace evener::sweeps
