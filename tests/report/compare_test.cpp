// Two sweeps, or cells of one, side by side.
#include "report/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/test_folder.h"
#include "report/made_sweep_helpers.h"
#include "report/sweep_simulation_helpers.h"

namespace evener::report {
namespace {

using test::MadeRun;
using test::runs_in_blocks;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Two ways at two sizes of the batch: 0 and 1 with 16, 2 and 3 with 32.
record::SweepRecord two_by_two() {
  record::SweepRecord record = test::simulated_record(4, 4);
  record.axes = {{{"on"}, {{"a"}, {"b"}}}, {{"batch"}, {{"16"}, {"32"}}}};
  for (std::size_t n = 0; n < 4; ++n) {
    record.cells[n].values = {{"on", n % 2 == 0 ? "a" : "b"}, {"batch", n < 2 ? "16" : "32"}};
  }
  return record;
}

std::vector<MadeRun> of_four(const std::vector<std::vector<double>>& speeds) {
  std::vector<MadeRun> runs;
  for (std::size_t cell = 0; cell < speeds.size(); ++cell) {
    for (MadeRun& run : runs_in_blocks(cell, speeds[cell])) runs.push_back(std::move(run));
  }
  return runs;
}

class Compare : public ::testing::Test {
 protected:
  std::string sweep(const std::string& name, const std::vector<MadeRun>& runs) {
    test::write_made_sweep(folder_ / name, two_by_two(), runs);
    return (folder_ / name).string();
  }

  test::TestFolder folder_;
};

TEST_F(Compare, CellsOfASweepByTheirBlocksCorrectedForTheirNumber) {
  const std::string made =
      sweep("made", of_four({{100, 110, 90, 100}, {120, 132, 107, 121}, {200, 190, 210, 205}, {203, 188, 214, 206}}));
  const ComparisonOfTwo of = compare_two(made + ":on=a", made + ":on=b");
  ASSERT_EQ(of.pairs.size(), 2U);
  EXPECT_EQ(of.pairs[0].cell, "batch=16");
  EXPECT_EQ(of.pairs[0].verdict, record::Verdict::kFaster);
  EXPECT_DOUBLE_EQ(*of.pairs[0].p, 2 * *of.pairs[0].comparison.p);
  EXPECT_FALSE(of.pairs[0].to_decide.has_value());
  EXPECT_EQ(of.pairs[1].verdict, record::Verdict::kUndecided);
  EXPECT_EQ(of.pairs[1].reason, "the interval contains 1");
  EXPECT_EQ(of.pairs[1].to_decide, record::runs_to_decide(of.pairs[1].comparison, 2));
  EXPECT_GT(of.pairs[1].to_decide, record::runs_to_decide(of.pairs[1].comparison, 1));
  EXPECT_THAT(
      comparison_sentences(of),
      ElementsAre(AllOf(HasSubstr("is faster than"), HasSubstr("batch=16: "), HasSubstr("by the ratio in 4 blocks")),
                  HasSubstr("about " + std::to_string(*of.pairs[1].to_decide) + " runs of each would show it")));
  const Table table = comparison_table(of);
  EXPECT_EQ(table.rows[0].back(), "-");
  EXPECT_EQ(table.rows[1].back(), std::to_string(*of.pairs[1].to_decide));
}

// A machine that changed between two sweeps looks like a way that is faster: of these nothing is claimed.
TEST_F(Compare, OfTwoSweepsNothingIsClaimed) {
  const std::string before = sweep("before", of_four({{100, 101, 99, 100}, {100, 101, 99, 100}})),
                    after = sweep("after", of_four({{150, 151, 149, 150}, {160, 161, 159, 160}}));
  const ComparisonOfTwo of = compare_two(before + ":on=a,batch=16", after + ":on=a,batch=16");
  ASSERT_EQ(of.pairs.size(), 1U);
  EXPECT_EQ(of.pairs[0].verdict, record::Verdict::kUndecided);
  EXPECT_NEAR(*of.pairs[0].comparison.ratio, 1.5, 1e-3);
  EXPECT_FALSE(of.pairs[0].p || of.pairs[0].comparison.interval || of.pairs[0].to_decide);
  EXPECT_THAT(comparison_sentences(of),
              ElementsAre(AllOf(HasSubstr("undecided whether"), HasSubstr("1.50x (150 against 100.0 images/s)"),
                                HasSubstr("none of their runs were made side by side"), Not(HasSubstr("95 %")),
                                Not(HasSubstr("would show")))));
  const auto json = nlohmann::json::parse(comparison_json(of))["pairs"][0];
  EXPECT_TRUE(json["interval_95"].is_null() && json["p_corrected"].is_null() && json["runs_to_decide"].is_null());
  EXPECT_EQ(json["verdict"], "undecided");
  EXPECT_EQ(json["blocks"], 0);
}

TEST_F(Compare, OfInvalidRunsNothingIsClaimedEither) {
  std::vector<MadeRun> runs = of_four({{100, 101, 99, 100}, {150, 151, 148, 150}});
  runs[6].end = record::RunEnd::kInvalid;
  const std::string made = sweep("made", runs);
  const ComparisonOfTwo of = compare_two(made + ":on=a,batch=16", made + ":on=b,batch=16");
  EXPECT_EQ(of.pairs[0].verdict, record::Verdict::kUndecided);
  EXPECT_FALSE(of.pairs[0].p || of.pairs[0].to_decide);
  EXPECT_THAT(comparison_sentences(of)[0], AllOf(HasSubstr("the measurements are INVALID"),
                                                 Not(HasSubstr("would show")), Not(HasSubstr("repeats"))));
}

TEST_F(Compare, TwoRunsAreToldAsTwoRuns) {
  for (const auto& [name, speed] : {std::pair{"a", 100.0}, {"b", 200.0}}) {
    std::filesystem::create_directories(folder_ / name);
    record::write_record(folder_ / name, test::record_of({.speed = speed}));
  }
  const ComparisonOfTwo of = compare_two((folder_ / "a").string(), (folder_ / "b").string());
  EXPECT_TRUE(of.pairs.empty());
  EXPECT_THAT(of.notes, ElementsAre(AllOf(HasSubstr("one run of each"), HasSubstr("none is called faster"))));
}

}  // namespace
}  // namespace evener::report
