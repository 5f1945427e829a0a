// Figures that were measured elsewhere, held against a sweep's.
#include "sweep/figures/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/test_folder.h"
#include "sweep/sweep_simulation_helpers.h"

namespace evener::sweeps {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string reference_refusal(const std::string& text) {
  const test::TestFolder folder;
  test::write_text(folder / "reference.csv", text);
  try {
    read_reference(folder / "reference.csv");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Reference, IsReadWithQuotedCells) {
  const test::TestFolder folder;
  test::write_text(
      folder / "reference.csv",
      "cell,figure,value,unit,measured,metric,against\r\n\"4, \"\"fast\"\"\",time,2.5,s,on=a;batch=2,total_s,\r\n"
      "slow,time,5,s,,,\"4, \"\"fast\"\"\"\n\n");
  const auto figures = read_reference(folder / "reference.csv");
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].cell, "4, \"fast\"");
  EXPECT_EQ(figures[0].value, 2.5);
  EXPECT_EQ(figures[0].measured, (std::map<std::string, std::string>{{"on", "a"}, {"batch", "2"}}));
  EXPECT_EQ(figures[1].against, figures[0].cell);
}

TEST(Reference, RefusesWhatIsWrongWithTheLine) {
  EXPECT_THAT(reference_refusal("cell,figure,valeu\n"), HasSubstr("'value'"));
  EXPECT_THAT(reference_refusal("cell,figure\n"), HasSubstr("no column 'value'"));
  EXPECT_THAT(reference_refusal("cell,figure,value\na,time,2\nb,time\n"), HasSubstr("line 3"));
  EXPECT_THAT(reference_refusal("cell,figure,value\na,time,two\n"), HasSubstr("'two' is no number"));
  EXPECT_THAT(reference_refusal("cell,figure,value,measured\na,time,2,on\n"), HasSubstr("AXIS=VALUE"));
  EXPECT_THAT(reference_refusal("cell,figure,value,against\na,time,2,b\n"), HasSubstr("no cell of the file"));
}

/// Two cells, of which the second is twice as fast.
Sweep twice_as_fast(int repeats = 5) {
  return test::simulate(test::simulated_record(2, repeats), {.speeds = {100, 200}}, 1);
}

ReferenceFigure published(const std::string& cell, double value, const std::string& unit, const std::string& way) {
  return {.cell = cell,
          .figure = unit.empty() ? "speedup" : "time",
          .value = value,
          .unit = unit,
          .measured = {{"on", way}},
          .metric = "images_per_s",
          .against = cell == "one" ? "" : "one",
          .machine = "elsewhere",
          .source = "a document"};
}

TEST(Reference, ComparesRatiosAndNotTimes) {
  const auto rows = hold_against({published("one", 40, "s", "way-0"), published("two", 20, "s", "way-1"),
                                  published("two", 1.5, "", "way-1"), published("two", 2.9, "", "way-1")},
                                 twice_as_fast());
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].verdict, "of another machine");
  EXPECT_FALSE(rows[0].published_to_compare.has_value());
  EXPECT_DOUBLE_EQ(*rows[1].published_to_compare, 2);
  EXPECT_NEAR(*rows[1].measured_to_compare, 2, 0.05);
  EXPECT_EQ(rows[1].verdict, "as published");
  EXPECT_EQ(rows[2].verdict, "higher");
  EXPECT_EQ(rows[3].verdict, "lower");
  EXPECT_THAT(reference_sentence(rows), HasSubstr("3 published ratios and accuracies"));
  EXPECT_THAT(reference_sentence(rows), HasSubstr("1 is as published, 1 higher and 1 lower."));
  EXPECT_EQ(reference_plot_data(rows).size(), 3U);
}

TEST(Reference, SaysNothingOfFewRunsAndOfCellsThatAreNotThere) {
  const auto rows = hold_against(
      {published("one", 40, "s", "way-0"), published("two", 20, "s", "way-1"), published("three", 10, "s", "way-2")},
      twice_as_fast(2));
  EXPECT_EQ(rows[1].verdict, "too few runs side by side");
  EXPECT_EQ(rows[2].verdict, "no cell here is like it");
  EXPECT_FALSE(rows[2].measured_to_compare.has_value());
}

TEST(Reference, OtherRatiosAreQuotientsWhateverIsBetter) {
  Sweep sweep = twice_as_fast();
  for (SweepCellRuns& cell : sweep.cells) {
    for (SweepFigure& figure : cell.figures) figure.metric.better = record::Better::kLower;
  }
  ReferenceFigure cost = published("two", 2, "", "way-1");
  cost.figure = "EDP";
  const auto rows = hold_against({published("one", 40, "s", "way-0"), cost}, sweep);
  EXPECT_NEAR(*rows[1].measured_to_compare, 2, 0.05);
  EXPECT_LT(rows[1].interval->low, rows[1].interval->high);
}

// What is compared of figures that were measured elsewhere, which way round, and what is said of the rest.

/// way-1 is 2.5 times as fast as way-0, and way-2 half as fast.
Sweep three_ways(int repeats = 5) {
  return test::simulate(test::simulated_record(3, repeats), {.speeds = {100, 250, 50}}, 1);
}

ReferenceFigure line(const std::string& cell, const std::string& figure, double value, const std::string& unit,
                     const std::string& against = "") {
  ReferenceFigure made;
  made.cell = cell;
  made.figure = figure;
  made.value = value;
  made.unit = unit;
  made.against = against;
  made.metric = "images_per_s";
  made.measured = {{"on", cell}};
  return made;
}

std::optional<double> published(const ReferenceFigure& base, const ReferenceFigure& figure) {
  return hold_against({base, figure}, three_ways()).at(1).published_to_compare;
}

TEST(ReferenceRules, PublishedFiguresBecomeRatiosByTheirUnits) {
  const ReferenceFigure seconds = line("way-0", "time", 40, "s"), rate = line("way-0", "speed", 50, "images/s");
  EXPECT_DOUBLE_EQ(*published(seconds, line("way-1", "time", 16, "s", "way-0")), 2.5) << "less time is more";
  EXPECT_DOUBLE_EQ(*published(rate, line("way-1", "speed", 120, "images/s", "way-0")), 2.4) << "a higher rate is more";
  EXPECT_DOUBLE_EQ(*published(seconds, line("way-1", "speedup", 1.75, "", "way-0")), 1.75);
  EXPECT_DOUBLE_EQ(*published(seconds, line("way-1", "accuracy", 91.5, "%")), 0.915);
  EXPECT_EQ(published(seconds, line("way-1", "time", 16, "s")), std::nullopt) << "against nothing";
  EXPECT_EQ(published(seconds, line("way-1", "speedup", 1.75, "")), std::nullopt);
  EXPECT_EQ(published(seconds, line("way-1", "time", 16, "min", "way-0")), std::nullopt) << "of two units";
  EXPECT_EQ(published(seconds, line("way-1", "time", 0, "s", "way-0")), std::nullopt);
  EXPECT_EQ(published(seconds, line("way-1", "time", -1, "s", "way-0")), std::nullopt);
  EXPECT_EQ(published(line("way-0", "time", 0, "s"), line("way-1", "time", 16, "s", "way-0")), std::nullopt);
  ReferenceFigure without = line("way-1", "accuracy", 91.5, "%");
  without.metric = "";
  EXPECT_EQ(published(seconds, without), std::nullopt);
}

TEST(ReferenceRules, AFigureStandsAgainstTheSameOneOfTheOtherCell) {
  const std::vector<ReferenceFigure> lines{line("way-0", "train", 10, "s"), line("way-0", "test", 40, "ms"),
                                           line("way-0", "test", 30, "s"), line("way-1", "test", 12, "s", "way-0")};
  EXPECT_DOUBLE_EQ(*hold_against(lines, three_ways()).at(3).published_to_compare, 2.5);
  EXPECT_EQ(hold_against(lines, three_ways())[0].published_to_compare, std::nullopt);
}

TEST(ReferenceRules, WhatIsMeasuredHereIsDividedByItsOwnBase) {
  const ReferenceFigure base = line("way-0", "time", 40, "s");
  const auto row = [&](const ReferenceFigure& figure) { return hold_against({base, figure}, three_ways()).at(1); };
  EXPECT_NEAR(*row(line("way-1", "time", 16, "s", "way-0")).measured_to_compare, 2.5, 0.1);
  const ReferenceRow half = row(line("way-2", "time", 40, "s", "way-0"));
  EXPECT_NEAR(*half.measured_to_compare, 0.5, 0.02);
  EXPECT_LT(half.interval->low, 0.5);
  EXPECT_GT(half.interval->high, 0.5);
  EXPECT_EQ(half.verdict, "lower");
  EXPECT_EQ(half.here, "on=way-2");
  EXPECT_EQ(row(line("way-1", "time", 16, "s", "way-0")).verdict, "as published");
  EXPECT_EQ(row(line("way-1", "time", 20, "s", "way-0")).verdict, "higher");
  EXPECT_EQ(row(line("way-1", "time", 10, "s", "way-0")).verdict, "lower");
}

TEST(ReferenceRules, AQuotientOfCostsIsTurnedRoundWithItsInterval) {
  Sweep sweep = three_ways();
  for (SweepCellRuns& cell : sweep.cells) {
    for (SweepFigure& figure : cell.figures) figure.metric.better = record::Better::kLower;
  }
  const ReferenceFigure base = line("way-0", "EDP", 40, "");
  const auto rows =
      hold_against({base, line("way-1", "EDP", 2.5, "", "way-0"), line("way-1", "speedup", 2.5, "", "way-0")}, sweep);
  EXPECT_NEAR(*rows[1].measured_to_compare, 2.5, 0.1) << "a plain quotient of the two";
  EXPECT_LT(rows[1].interval->low, 2.5);
  EXPECT_GT(rows[1].interval->high, 2.5);
  EXPECT_NEAR(*rows[2].measured_to_compare, 0.4, 0.02) << "of a speedup more is better, and this cost rose";
  EXPECT_LT(rows[2].interval->high, 0.5);
}

TEST(ReferenceRules, AQuotientOfRatesStaysAsItIs) {
  const auto rows =
      hold_against({line("way-0", "images", 40, ""), line("way-1", "images", 2.5, "", "way-0")}, three_ways());
  EXPECT_NEAR(*rows[1].measured_to_compare, 2.5, 0.1);
}

TEST(ReferenceRules, ASharesIntervalIsThatOfItsImages) {
  Sweep sweep = three_ways();
  SweepFigure accuracy;
  accuracy.metric.name = "share_of_right_ones";
  accuracy.metric.of_images = 1000;
  accuracy.mean.mean = 0.9;
  sweep.cells[1].figures.push_back(accuracy);
  sweep.cells[1].not_comparable = 1;  // what was learnt doesn't depend on time
  const auto verdict = [&](double percent) {
    ReferenceFigure figure = line("way-1", "accuracy", percent, "%");
    figure.metric = "share_of_right_ones";
    return hold_against({figure}, sweep).at(0);
  };
  EXPECT_EQ(verdict(90).verdict, "as published");
  EXPECT_EQ(verdict(91.6).verdict, "as published") << "Clopper and Pearson's interval is 88.0 to 91.8 %";
  EXPECT_EQ(verdict(91.8).verdict, "lower");
  EXPECT_EQ(verdict(87.9).verdict, "higher");
  EXPECT_EQ(verdict(90).disturbance, "");
  EXPECT_DOUBLE_EQ(*verdict(90).measured_to_compare, 0.9);
  const report::Table table = reference_table(std::vector{verdict(90)});
  EXPECT_THAT(table.rows[0][5], HasSubstr("90.0 %"));
  EXPECT_THAT(table.rows[0][6], HasSubstr("90.0 % (88.0 % to 91.8 %)"));
  sweep.cells[1].figures.back().metric.of_images.reset();
  EXPECT_EQ(verdict(90).verdict, "of how many images it is isn't known");
}

TEST(ReferenceRules, InvalidMeasurementsOfEitherCellJudgeNothing) {
  const std::vector<ReferenceFigure> lines{line("way-0", "time", 40, "s"), line("way-1", "time", 16, "s", "way-0"),
                                           line("way-2", "time", 80, "s", "way-0")};
  Sweep sweep = three_ways();
  sweep.cells[1].not_comparable = 1;
  auto rows = hold_against(lines, sweep);
  EXPECT_EQ(rows[1].verdict, "the measurements are INVALID");
  EXPECT_EQ(rows[2].verdict, "as published");
  sweep.cells[1].not_comparable = 0;
  sweep.cells[0].not_comparable = 2;  // what both are divided by
  rows = hold_against(lines, sweep);
  EXPECT_EQ(rows[1].verdict, "the measurements are INVALID");
  EXPECT_EQ(rows[2].verdict, "the measurements are INVALID");
  sweep.cells[0].not_comparable = 0;
  sweep.cells[0].beside_others = 2;  // the other machine was quiet, for all that is known
  EXPECT_EQ(hold_against(lines, sweep)[1].verdict, "measured beside other programs");
}

TEST(ReferenceRules, ACellWithoutTheFigureSaysWhy) {
  Sweep sweep = three_ways();
  ReferenceFigure figure = line("way-1", "time", 16, "s", "way-0");
  figure.metric = "unheard_of";
  const ReferenceFigure base = line("way-0", "time", 40, "s");
  EXPECT_THAT(hold_against({base, figure}, sweep)[1].verdict, HasSubstr("on=way-1 has no such figure"));
  sweep.cells[1].runs.back().end = record::RunEnd::kOutOfMemory;
  EXPECT_EQ(hold_against({base, figure}, sweep)[1].verdict, "out of memory here");
  figure.measured = {{"on", "way-1"}, {"batch", "8"}};
  EXPECT_EQ(hold_against({base, figure}, sweep)[1].verdict, "no cell here is like it") << "all values have to agree";
  figure.measured = {};
  EXPECT_EQ(hold_against({base, figure}, sweep)[1].verdict, "no cell here is like it");
  ReferenceFigure lone = base;
  lone.measured = {};
  EXPECT_EQ(hold_against({lone, line("way-1", "time", 16, "s", "way-0")}, sweep)[1].verdict, "no cell here is like it")
      << "of the one that it is divided by";
}

TEST(ReferenceRules, TheTableHasTheFiguresAndNamesEachMachineOnce) {
  std::vector<ReferenceFigure> lines{line("way-0", "time", 40, "s"), line("way-1", "time", 16, "s", "way-0"),
                                     line("way-1", "speedup", 2.5, "", "way-0")};
  for (ReferenceFigure& figure : lines) {
    figure.machine = "a laptop";
    figure.source = "table 3";
  }
  lines[2].source = "table 4";
  const auto rows = hold_against(lines, three_ways());
  const report::Table table = reference_table(rows);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[0][0], "way-0");
  EXPECT_EQ(table.rows[0][1], "on=way-0");
  EXPECT_EQ(table.rows[0][3], "40.0 s");
  EXPECT_THAT(table.rows[0][4], HasSubstr("images/s"));
  EXPECT_EQ(table.rows[0][5], "-");
  EXPECT_EQ(table.rows[0][6], "-");
  EXPECT_EQ(table.rows[0][7], "of another machine");
  EXPECT_EQ(table.rows[1][2], "time against way-0");
  EXPECT_EQ(table.rows[1][5], "2.50x");
  EXPECT_EQ(table.rows[2][3], "-") << "a ratio alone";
  EXPECT_EQ(table.rows[2][4], "-");
  EXPECT_THAT(table.notes, ElementsAre("published: table 3, on a laptop", "published: table 4, on a laptop"));
  EXPECT_EQ(reference_plot_data(rows).size(), 2U);
  EXPECT_EQ(reference_plot_data(rows)[0]["published"], 2.5);
  EXPECT_NEAR(reference_plot_data(rows)[1]["measured"].get<double>(), 2.5, 0.1);
  EXPECT_LT(reference_plot_data(rows)[0]["low"].get<double>(), reference_plot_data(rows)[0]["high"].get<double>());
  EXPECT_EQ(reference_plot_data(rows)[0]["share"], false);
}

TEST(ReferenceRules, TheSentenceCountsEachVerdict) {
  const auto row = [](const std::string& verdict, bool can = true) {
    ReferenceRow made;
    made.verdict = verdict;
    if (can) made.published_to_compare = 1;
    return made;
  };
  EXPECT_EQ(reference_sentence(std::vector{row("of another machine", false)}), "");
  EXPECT_THAT(
      reference_sentence(std::vector{row("as published"), row("higher"), row("higher"), row("lower"), row("lower"),
                                     row("lower"), row("too few runs to say"), row("the measurements are INVALID"),
                                     row("x"), row("y"), row("of another machine", false)}),
      AllOf(HasSubstr("10 published ratios and accuracies: here 1 is as published, 2 higher and 3 lower; 4 can't be "
                      "judged: cells")));
  EXPECT_THAT(reference_sentence(std::vector{row("as published"), row("as published")}),
              testing::EndsWith("here 2 are as published."));
  EXPECT_THAT(reference_sentence(std::vector{row("higher"), row("lower")}),
              testing::EndsWith("here 1 is higher and 1 lower."));
  EXPECT_THAT(reference_sentence(std::vector{row("too few runs to say")}), HasSubstr("here none can be judged: cells"));
  EXPECT_THAT(reference_sentence(std::vector{row("higher")}), HasSubstr("1 published ratio or accuracy:"));
}

std::vector<ReferenceFigure> figures_of(const std::string& text) {
  const test::TestFolder folder;
  test::write_text(folder / "reference.csv", text);
  return read_reference(folder / "reference.csv");
}

TEST(ReferenceRules, EveryColumnIsReadWhereverItStands) {
  const auto figures = figures_of(
      "source,machine,against,metric,measured,unit,value,figure,cell\n\n"
      "\"a, b\",m,,f,x=1=2;y=,%,-2.5e1,acc,c\r\n"
      "s,m,c,f,,s,1,t,d");
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].source, "a, b");
  EXPECT_EQ(figures[0].machine, "m");
  EXPECT_EQ(figures[0].metric, "f");
  EXPECT_EQ(figures[0].measured, (std::map<std::string, std::string>{{"x", "1=2"}, {"y", ""}}));
  EXPECT_EQ(figures[0].unit, "%");
  EXPECT_EQ(figures[0].value, -25);
  EXPECT_EQ(figures[0].figure, "acc");
  EXPECT_EQ(figures[0].cell, "c");
  EXPECT_EQ(figures[1].against, "c");
  EXPECT_THAT(figures[1].measured, IsEmpty());
  EXPECT_TRUE(is_speedup(figures[1]));
  EXPECT_TRUE(is_speedup(line("a", "the speedup of it", 1, "")));
  EXPECT_FALSE(is_speedup(line("a", "EDP", 1, "")));
}

}  // namespace

}  // namespace evener::sweeps
