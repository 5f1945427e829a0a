// The linear layer that is fitted to features, by its optimum: there the gradient vanishes.
#include "task/fine_tuning/softmax_regression.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/error.h"
#include "base/random.h"

namespace evener::task {
namespace {

/// Two features, whose sizes differ by far, around a middle for each of three classes.
FeatureTable three_clouds(std::size_t samples, double spread) {
  FeatureTable table;
  table.values = 3;
  Random random(3, Purpose::kSynthetic, 1);
  const double middles[3][2] = {{0, 0}, {2, 0}, {0, 2}};
  for (std::size_t n = 0; n < samples; ++n) {
    const std::size_t label = n % 3;
    table.labels.push_back(static_cast<std::int32_t>(label));
    table.features.push_back(static_cast<float>(100 + 50 * (middles[label][0] + spread * random.normal())));
    table.features.push_back(static_cast<float>(middles[label][1] + spread * random.normal()));
    table.features.push_back(7);  // tells nothing
  }
  return table;
}

std::vector<double> shares_of(const LinearFit& fit, const FeatureTable& table, std::size_t sample) {
  std::vector<double> shares;
  double total = 0;
  for (std::size_t c = 0; c < fit.bias.size(); ++c) {
    double score = fit.bias[c];
    for (std::size_t i = 0; i < table.values; ++i) {
      score += static_cast<double>(fit.weight[c * table.values + i]) * table.features[sample * table.values + i];
    }
    shares.push_back(std::exp(score));
    total += shares.back();
  }
  for (double& share : shares) share /= total;
  return shares;
}

TEST(SoftmaxRegression, FindsTheMinimumOfTheDecayedLoss) {
  const FeatureTable table = three_clouds(300, 0.8);
  const double decay = 0.01;
  const LinearFit fit = fit_softmax(table, 3, decay, 1);
  EXPECT_GT(fit.accuracy, 0.8);
  // Of the bias, and of the weights of the second feature, which has about the deviation `scale`.
  double mean = 0, square = 0;
  for (std::size_t n = 0; n < table.samples(); ++n) {
    mean += table.features[3 * n + 1] / 300.0;
    square += table.features[3 * n + 1] * table.features[3 * n + 1] / 300.0;
  }
  const double scale = std::sqrt(square - mean * mean);
  for (std::size_t c = 0; c < 3; ++c) {
    double of_bias = 0, of_weight = decay * fit.weight[c * 3 + 1] * scale;
    for (std::size_t n = 0; n < table.samples(); ++n) {
      const double error = shares_of(fit, table, n)[c] - (table.labels[n] == static_cast<std::int32_t>(c) ? 1 : 0);
      of_bias += error / 300;
      of_weight += error * (table.features[3 * n + 1] - mean) / scale / 300;
    }
    EXPECT_NEAR(of_bias, 0, 2e-3) << c;
    EXPECT_NEAR(of_weight, 0, 2e-3) << c;
    EXPECT_EQ(fit.weight[c * 3 + 2], 0) << "a feature that is always the same has no weight";
  }
}

TEST(SoftmaxRegression, TellsLossAndAccuracyOfItsResult) {
  const FeatureTable table = three_clouds(90, 0.5);
  const LinearFit fit = fit_softmax(table, 3, 0.01, 1);
  double loss = 0;
  for (std::size_t n = 0; n < table.samples(); ++n) {
    loss -= std::log(shares_of(fit, table, n)[static_cast<std::size_t>(table.labels[n])]) / 90;
  }
  EXPECT_NEAR(fit.loss, loss, 1e-4);
}

TEST(SoftmaxRegression, IsTheSameWithAnyNumberOfThreads) {
  const LinearFit one = fit_softmax(three_clouds(100, 0.5), 3, 0.01, 1);
  const LinearFit four = fit_softmax(three_clouds(100, 0.5), 3, 0.01, 4);
  EXPECT_EQ(one.weight, four.weight);
  EXPECT_EQ(one.bias, four.bias);
}

TEST(SoftmaxRegression, KnowsOneImageAndRefusesWhatIsNone) {
  FeatureTable one;
  one.values = 2;
  one.features = {1, 2};
  one.labels = {1};
  EXPECT_EQ(fit_softmax(one, 2, 0.01, 2).accuracy, 1);
  EXPECT_THROW(fit_softmax(FeatureTable{2, {}, {}}, 2, 0.01, 1), Error);
  one.labels = {2};
  EXPECT_THROW(fit_softmax(one, 2, 0.01, 1), Error);
}

}  // namespace
}  // namespace evener::task
