// Figures that were measured elsewhere, held against a sweep's.
#include "report/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/test_folder.h"
#include "report/sweep_simulation_helpers.h"

namespace evener::report {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
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
  EXPECT_THAT(refusal("cell,figure,valeu\n"), HasSubstr("'value'"));
  EXPECT_THAT(refusal("cell,figure\n"), HasSubstr("no column 'value'"));
  EXPECT_THAT(refusal("cell,figure,value\na,time,2\nb,time\n"), HasSubstr("line 3"));
  EXPECT_THAT(refusal("cell,figure,value\na,time,two\n"), HasSubstr("'two' is no number"));
  EXPECT_THAT(refusal("cell,figure,value,measured\na,time,2,on\n"), HasSubstr("AXIS=VALUE"));
  EXPECT_THAT(refusal("cell,figure,value,against\na,time,2,b\n"), HasSubstr("no cell of the file"));
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

}  // namespace
}  // namespace evener::report
