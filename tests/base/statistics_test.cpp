#include "base/statistics.h"

#include <gtest/gtest.h>

#include <vector>

namespace evener {
namespace {

TEST(Quantiles, TheMedianIsTheMiddleOrTheMeanOfTwo) {
  EXPECT_EQ(median(std::vector<double>{5, 1, 3}), 3);
  EXPECT_EQ(median(std::vector<double>{4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median(std::vector<double>{}), std::nullopt);
}

TEST(Quantiles, QuantilesLieBetweenSamples) {
  const std::vector<double> samples = {30, 10, 50, 20, 40};
  EXPECT_DOUBLE_EQ(*quantile(samples, 0.25), 20);
  EXPECT_DOUBLE_EQ(*quantile(samples, 0.1), 14);
  EXPECT_DOUBLE_EQ(*quantile(samples, 1), 50);
  EXPECT_DOUBLE_EQ(*quantile(samples, 7), 50);
}

}  // namespace
}  // namespace evener
