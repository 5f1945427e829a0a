#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "bench/sweep/axes.h"

namespace evener::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    expanded(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(SweepAxes, RangesBecomeTheirValues) {
  EXPECT_THAT(expanded("1..4"), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(expanded("8..64/28"), ElementsAre("8", "36", "64"));
  EXPECT_THAT(expanded("8..63/28"), ElementsAre("8", "36"));
  EXPECT_THAT(expanded("0.1..0.3/0.1"), ElementsAre("0.1", "0.2", "0.3"));
  EXPECT_THAT(expanded("2^0..2^4"), ElementsAre("1", "2", "4", "8", "16"));
  EXPECT_THAT(expanded("cpu/t{1..3}"), ElementsAre("cpu/t1", "cpu/t2", "cpu/t3"));
  EXPECT_THAT(expanded("{1..2}xcpu/t{2^0..2^1}"), ElementsAre("1xcpu/t1", "1xcpu/t2", "2xcpu/t1", "2xcpu/t2"));
}

TEST(SweepAxes, OtherTextsAreOneValue) {
  for (const char* text :
       {"cuda:0..cuda:1", "2xcpu/t1..cuda", "64x48", "70/10/20", "{a}", "mlp:784-256-10", "", "{1..2"}) {
    EXPECT_THAT(expanded(text), ElementsAre(text));
  }
}

TEST(SweepAxes, RangesWithoutAnEndAreRefused) {
  EXPECT_THAT(refusal("4..1"), HasSubstr("ends before it begins"));
  EXPECT_THAT(refusal("1..9/0"), HasSubstr("step of 0"));
  EXPECT_THAT(refusal("2^0..3^4"), HasSubstr("two bases"));
  EXPECT_THAT(refusal("1..1000000"), HasSubstr("more than 1000 values"));
  EXPECT_THAT(refusal("10^0..10^99"), HasSubstr("more than 1000 values"));
}

const std::vector<record::SweepAxis>& axes() {
  static const std::vector<record::SweepAxis> all = {{{"on"}, {{"cpu/t1"}, {"cpu/t2"}}},
                                                     {{"precision", "lr"}, {{"fp32", "0.1"}, {"bf16", "0.2"}}}};
  return all;
}

TEST(SweepAxes, CellsAreAllCombinationsButTheExcluded) {
  const auto cells = combinations(axes(), {});
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[1].at("precision"), "bf16");
  EXPECT_EQ(cells[1].at("lr"), "0.2");  // they go together
  EXPECT_EQ(cells[2].at("on"), "cpu/t2");
  const auto fewer = combinations(axes(), {{{"on", {"cpu/t2"}}, {"precision", {"bf16"}}}});
  EXPECT_EQ(fewer.size(), 3U);
  EXPECT_EQ(combinations({}, {}).size(), 1U);
}

TEST(SweepAxes, WhatCannotBeIsRefused) {
  EXPECT_THROW(combinations({{{"on"}, {}}}, {}), UsageError);
  EXPECT_THROW(combinations({{{"on"}, {{"a"}}}, {{"on"}, {{"b"}}}}, {}), UsageError);
  EXPECT_THROW(combinations({{{"on"}, {{"a"}, {"a"}}}}, {}), UsageError);
  EXPECT_THROW(combinations(axes(), {{{"batch", {"1"}}}}), UsageError);
  EXPECT_THROW(combinations(axes(), {{{"on", {"cpu/t3"}}}}), UsageError);
  EXPECT_THROW(combinations(axes(), {{{"on", {"cpu/t1", "cpu/t2"}}}}), UsageError);
  EXPECT_THROW(combinations(axes(), {{}}), UsageError);
}

TEST(SweepAxes, FoldersAreNamesOfFiles) {
  const auto cells = combinations(axes(), {});
  EXPECT_EQ(cell_folder(axes(), cells[0], "0123456789abcdef"), "cpu-t1_fp32_0.1-01234567");
  EXPECT_EQ(cell_folder({}, {}, "0123456789abcdef"), "cell-01234567");
  EXPECT_EQ(cell_name(axes(), cells[3]), "on=cpu/t2, precision=bf16, lr=0.2");
}

}  // namespace
}  // namespace evener::bench
