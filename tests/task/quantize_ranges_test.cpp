// Ranges that calibration finds in histograms of magnitudes.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "task/quantize/ranges.h"

namespace evener::task {
namespace {

using testing::HasSubstr;

constexpr network::Levels kBytes = network::activation_levels(false);

/// 100,000 magnitudes of a normal distribution, and one of a hundred.
MagnitudeHistogram with_outlier() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(100000);
  for (float& value : values) value = normal(random);
  values[500] = 100;
  MagnitudeHistogram seen;
  for (std::size_t i = 0; i < values.size(); i += 1000) seen.add(std::span(values).subspan(i, 1000));
  return seen;
}

float range(const MagnitudeHistogram& seen, Calibration calibration, double percentile = 99.99) {
  return range_of(seen, kBytes, {calibration, percentile});
}

TEST(Ranges, AHistogramGrowsWithItsValues) {
  MagnitudeHistogram seen;
  seen.add(std::vector<float>{0, 1, -2, 0.5F});
  seen.add(std::vector<float>{300, -7, std::numeric_limits<float>::infinity(), std::nanf("")});
  EXPECT_EQ(seen.largest(), 300);
  EXPECT_EQ(seen.count(), 6);
  EXPECT_EQ(seen.zeros(), 1);
  EXPECT_EQ(seen.not_finite(), 2);
  std::int64_t in_bins = 0;
  for (const std::int64_t bin : seen.bins()) in_bins += bin;
  EXPECT_EQ(in_bins, 5);
  const auto bin = static_cast<std::size_t>(7 / seen.bin_width());
  EXPECT_EQ(seen.bins()[bin], 1) << "each value is in the bin of its magnitude, however often bins were joined";
}

TEST(Ranges, AnOutlierCountsForMinMaxAlone) {
  const MagnitudeHistogram seen = with_outlier();
  EXPECT_EQ(range(seen, Calibration::kMinMax), 100);
  // 99.9 % of the magnitudes of a normal distribution are below 3.29; a bin is 0.05 wide here.
  EXPECT_NEAR(range(seen, Calibration::kPercentile, 99.9), 3.29, 0.1);
  EXPECT_LT(range(seen, Calibration::kEntropy), 50);
}

TEST(Ranges, APercentileEndsWhereItsBinDoes) {
  MagnitudeHistogram seen;
  seen.add(std::vector<float>{8});  // whose bins are 8 / their number wide
  seen.add(std::vector<float>(99, static_cast<float>(100.5 * seen.bin_width())));
  EXPECT_EQ(range(seen, Calibration::kPercentile, 99), static_cast<float>(101 * seen.bin_width()));
}

TEST(Ranges, ZerosCountForPercentiles) {
  // Of a thousand magnitudes 900 are zeros, and the others go up to 1.
  std::vector<float> values(1000, 0);
  for (std::size_t i = 0; i < 100; ++i) values[i] = static_cast<float>(i + 1) / 100;
  MagnitudeHistogram seen;
  seen.add(values);
  EXPECT_NEAR(range(seen, Calibration::kPercentile, 95), 0.5, 0.002);
  EXPECT_EQ(range(seen, Calibration::kPercentile, 100), 1);
}

TEST(Ranges, EntropyKeepsValuesThatLieFarApart) {
  std::vector<float> pixels(256);  // most bins of the histogram have none
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i) / 100;
  MagnitudeHistogram seen;
  for (int image = 0; image < 20; ++image) seen.add(pixels);
  EXPECT_GT(range(seen, Calibration::kEntropy), 0.9F * 2.55F);
}

TEST(Ranges, TheLeastSquaredErrorIsFound) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(20000);
  for (float& value : values) value = normal(random);
  MagnitudeHistogram seen;
  seen.add(values);
  const auto error = [&](float tried, network::Levels levels) {
    double sum = 0;
    for (const float value : values) {
      sum += std::pow(network::fake_quantized(std::abs(value), tried / levels.most, levels) - std::abs(value), 2);
    }
    return sum;
  };
  const network::Levels few{0, 7};
  const float found = range_of(seen, few, {Calibration::kMse});
  for (const float factor : {0.5F, 0.8F, 1.25F, 1.5F}) EXPECT_LT(error(found, few), error(found * factor, few));
}

TEST(Ranges, ZerosHaveNone) {
  MagnitudeHistogram seen;
  seen.add(std::vector<float>(100, 0));
  for (const auto calibration :
       {Calibration::kMinMax, Calibration::kPercentile, Calibration::kEntropy, Calibration::kMse}) {
    EXPECT_EQ(range(seen, calibration), 0);
    EXPECT_EQ(range(MagnitudeHistogram(), calibration), 0);
  }
}

TEST(Ranges, NamesAreKnown) {
  EXPECT_EQ(parse_calibration("minmax"), Calibration::kMinMax);
  EXPECT_EQ(parse_calibration("percentile"), Calibration::kPercentile);
  EXPECT_EQ(parse_calibration("entropy"), Calibration::kEntropy);
  EXPECT_EQ(parse_calibration("mse"), Calibration::kMse);
  try {
    parse_calibration("msee");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("mse"));
  }
}

TEST(WeightScales, TheLargestWeightIsTheLargestLevelUnlessThereAreFewBits) {
  std::vector<float> values(2048, 0.1F);
  values[2047] = -2;
  const HostTensor weight = HostTensor::of_floats({2, 1024}, values);
  EXPECT_EQ(weight_scales(weight, 8).floats()[0], 0.1F / 127);
  EXPECT_EQ(weight_scales(weight, 8).floats()[1], 2.0F / 127);
  EXPECT_EQ(weight_scales(weight, 7).floats()[1], 2.0F / 63);
  EXPECT_LT(weight_scales(weight, 4).floats()[1], 2.0F / 7);
  // Many weights for which a smaller step would do better than the largest weight loses.
  std::vector<float> spread(4096);
  for (std::size_t i = 0; i < spread.size(); ++i) spread[i] = static_cast<float>(i % 97) / 97;
  spread[0] = 1.3F;
  const HostTensor many = HostTensor::of_floats({1, 4096}, spread);
  EXPECT_EQ(weight_scales(many, 7).floats()[0], 1.3F / 63);
  EXPECT_LT(weight_scales(many, 6).floats()[0], 1.3F / 31);
  const HostTensor zeros = HostTensor::of_floats({1, 4}, {0, 0, 0, 0});
  EXPECT_EQ(weight_scales(zeros, 8).floats()[0], 1);
}

}  // namespace
}  // namespace evener::task
