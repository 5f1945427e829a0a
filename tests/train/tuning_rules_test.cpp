// What fitting a last layer is made of: the objective with its gradient, changed copies of images; and checks of
// products.
#include <gmock/gmock.h>

#include <cmath>
#include <memory>

#include "base/module.h"
#include "base/random.h"
#include "infer/run/softmax_regression.h"
#include "matmul/matmul.h"
#include "train/steps/linear_probe.h"

namespace evener::training {
namespace {

using testing::Each;
using testing::ElementsAre;

/// 13 samples, which no number of parts divides, of 19 features, more than one lane of a dot product; three classes.
inference::FeatureTable random_table() {
  inference::FeatureTable table;
  table.values = 19;
  Random random(5, Purpose::kSynthetic, 2);
  for (int n = 0; n < 13; ++n) {
    table.labels.push_back(n % 5 % 3);
    for (std::size_t i = 0; i < table.values; ++i) table.features.push_back(static_cast<float>(random.normal()));
  }
  return table;
}

std::vector<float> random_point(std::size_t size) {
  Random random(6, Purpose::kSynthetic, 3);
  std::vector<float> point(size);
  for (float& value : point) value = static_cast<float>(0.3 * random.normal());
  return point;
}

/// In double, one sample after the other.
double value_by_definition(const inference::FeatureTable& table, const std::vector<float>& x, double decay) {
  const std::size_t row = table.values + 1;
  double loss = 0, squares = 0;
  for (std::size_t n = 0; n < table.samples(); ++n) {
    double total = 0, of_label = 0;
    for (std::size_t c = 0; c < x.size() / row; ++c) {
      double score = x[c * row + table.values];
      for (std::size_t i = 0; i < table.values; ++i)
        score += static_cast<double>(x[c * row + i]) * table.features[n * table.values + i];
      total += std::exp(score);
      if (static_cast<std::int32_t>(c) == table.labels[n]) of_label = score;
    }
    loss += std::log(total) - of_label;
  }
  for (std::size_t k = 0; k < x.size(); ++k) squares += k % row == table.values ? 0 : static_cast<double>(x[k]) * x[k];
  return loss / static_cast<double>(table.samples()) + decay / 2 * squares;
}

TEST(SoftmaxObjective, ItsValueIsTheMeanLossAndTheDecayOfWeightsWithoutBias) {
  const inference::FeatureTable table = random_table();
  for (const double decay : {0.0, 0.7}) {
    inference::SoftmaxObjective objective(table, 3, decay, 2);
    ASSERT_EQ(objective.size(), 60U);
    const std::vector<float> point = random_point(objective.size());
    std::vector<float> gradient(point.size());
    EXPECT_NEAR(objective.value(point, gradient), value_by_definition(table, point, decay), 1e-5);
    EXPECT_NEAR(objective.loss(), value_by_definition(table, point, 0), 1e-5);
    EXPECT_NEAR(objective.value(point, gradient), value_by_definition(table, point, decay), 1e-5) << "again";
  }
}

TEST(SoftmaxObjective, ItsGradientIsThatOfItsValue) {
  const inference::FeatureTable table = random_table();
  inference::SoftmaxObjective objective(table, 3, 0.7, 1);
  const std::vector<float> point = random_point(objective.size());
  std::vector<float> gradient(point.size(), 100), ignored(point.size());
  objective.value(point, gradient);
  for (std::size_t k = 0; k < point.size(); ++k) {
    constexpr float kStep = 1e-2F;
    std::vector<float> more = point, less = point;
    more[k] += kStep;
    less[k] -= kStep;
    const double slope = (value_by_definition(table, more, 0.7) - value_by_definition(table, less, 0.7)) / (2 * kStep);
    EXPECT_NEAR(gradient[k], slope, 2e-4) << k;
  }
}

TEST(SoftmaxObjective, ItsCurvatureIsNowhereMoreThanIsTold) {
  const inference::FeatureTable table = random_table();
  inference::SoftmaxObjective objective(table, 3, 0.7, 1);
  const double most = objective.curvature();
  Random random(8, Purpose::kSynthetic, 4);
  for (int direction = 0; direction < 20; ++direction) {
    std::vector<float> step(objective.size()), zero(objective.size()), there(objective.size());
    double length = 0, along = 0;
    for (float& each : step) {
      each = static_cast<float>(1e-2 * random.normal());
      length += static_cast<double>(each) * each;
    }
    objective.value(std::vector<float>(objective.size()), zero);
    objective.value(step, there);
    for (std::size_t k = 0; k < step.size(); ++k) along += static_cast<double>(there[k] - zero[k]) * step[k];
    EXPECT_LE(along / length, most);
  }
  // Features of mean 0 have nothing to do with the bias: the second moments are [[4.5, 0], [0, 1]].
  inference::FeatureTable two;
  two.values = 1;
  two.features = {1, -2, 3, -2};
  two.labels = {0, 1, 0, 1};
  EXPECT_NEAR(inference::SoftmaxObjective(two, 2, 0.25, 1).curvature(), 1.1 * 4.5 / 2 + 0.25, 1e-3);
}

TEST(SoftmaxObjective, AccuracyIsTheShareOfRightAnswers) {
  inference::FeatureTable table;
  table.values = 1;
  table.features = {1, 2, -1, -2, 3};
  table.labels = {0, 0, 1, 1, 1};  // the last one wrong
  inference::SoftmaxObjective objective(table, 2, 0, 3);
  std::vector<float> gradient(4);
  objective.value({1, 0, -1, 0}, gradient);
  EXPECT_DOUBLE_EQ(objective.accuracy(), 0.8);
}

TEST(SoftmaxRegression, ItsLossFallsToTheOptimumOfLargeDecay) {
  inference::FeatureTable table;
  table.values = 1;
  table.features = {1, -1, 1, -1};
  table.labels = {0, 1, 0, 1};
  // Weights (w, -w): 2 w decay = 2 share, where share = 1 / (1 + exp(2 w)) is that of the wrong class.
  const inference::LinearFit fit = inference::fit_softmax(table, 2, 1.1, 1);
  const double w = fit.weight[0], share = 1 / (1 + std::exp(2 * w));
  EXPECT_NEAR(fit.weight[1], -w, 1e-6);
  EXPECT_NEAR(1.1 * w, share, 1e-3) << w;
}

/// Pixels that differ in each image and each place.
class Gradients : public data::ClassDataset {
 public:
  std::size_t size() const override { return 6; }
  data::ImageShape shape() const override { return {3, 8, 10}; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::size_t index) const override { return static_cast<std::int32_t>(index) % 2; }
  std::string source(std::size_t index) const override { return "image " + std::to_string(index); }
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    for (std::size_t i = 0; i < chw.size(); ++i) chw[i] = static_cast<std::uint8_t>(1 + (i * 7 + index * 31) % 255);
  }

 private:
  const std::vector<std::string> classes_ = {"a", "b"};
};

TEST(CopiedSamples, AreImagesOfTheTrainingPartAndTheirChangedCopies) {
  data::OpenedData data;
  data.dataset = std::make_shared<Gradients>();
  data.split = {{5, 2}, {0, 1}, {3}};
  LinearProbeOptions options;
  options.augment.crop_padding = 3;
  options.augment.colour = 0.3;
  options.seed = 11;
  const auto samples = copied_samples(data, options, 4);
  ASSERT_EQ(samples->size(), 8U);
  EXPECT_THAT(samples->shape(), ElementsAre(3, 8, 10));
  EXPECT_TRUE(samples->is_bytes());
  std::vector<std::vector<std::uint8_t>> found(8, std::vector<std::uint8_t>(240));
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t image = i < 4 ? 5 : 2;
    EXPECT_EQ(samples->name(i), "image " + std::to_string(image));
    EXPECT_EQ(samples->label(i), image % 2);
    samples->read(i, std::span(found[i]));
    std::vector<std::uint8_t> plain(240), changed(240);
    data.dataset->read(image, plain);
    changed = plain;
    data::augment_image(options.augment, data.dataset->shape(), 11, i % 4, static_cast<std::uint32_t>(image), changed);
    EXPECT_EQ(found[i], i % 4 == 0 ? plain : changed) << i;
    for (std::size_t before = 0; before < i; ++before) EXPECT_NE(found[before], found[i]) << before << " " << i;
  }
  options.seed = 12;
  std::vector<std::uint8_t> other(240);
  copied_samples(data, options, 4)->read(1, std::span(other));
  EXPECT_NE(other, found[1]);
  const auto plain = copied_samples(data, options, 1);
  EXPECT_EQ(plain->size(), 2U);
  plain->read(1, std::span(other));
  EXPECT_EQ(other, found[4]);
}

TEST(ProductChecks, TheWorstForWhatRoundingExplainsIsKept) {
  matmul::MatmulResult result;
  matmul::keep_worse({.row = 4, .difference = 3, .allowed = 10}, result);
  EXPECT_EQ(result.check.row, 4) << "the first one";
  matmul::keep_worse({.row = 5, .difference = 5, .allowed = 20}, result);
  EXPECT_EQ(result.check.row, 4) << "a larger difference of which more is explained";
  matmul::keep_worse({.row = 6, .difference = 0.8, .allowed = 2}, result);
  EXPECT_EQ(result.check.row, 6);
  EXPECT_EQ(result.check.difference, 0.8);
  EXPECT_EQ(result.check.allowed, 2);
  EXPECT_TRUE((matmul::ProductCheck{.difference = 2, .allowed = 2}.passed()));
  EXPECT_FALSE((matmul::ProductCheck{.difference = 2.1, .allowed = 2}.passed()));
}

TEST(MatmulJobs, KeepACheckAndTimesThatTookTime) {
  if (module_status("native").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the native engine is not built";
  matmul::MatmulOptions options;
  options.engine = "native";
  options.size = 60;
  options.repeats = 3;
  options.seconds = 0;
  matmul::MatmulJob job(options);
  EXPECT_GE(job.memory_bytes(), 3U * 4 * 60 * 60) << "two factors and the product";
  EXPECT_EQ(job.engine(), "native");
  double last_s = 0;
  const matmul::MatmulResult result = job.run([&](std::int64_t, double seconds) { last_s = seconds; });
  EXPECT_GT(result.check.allowed, 0);
  EXPECT_TRUE(result.check.passed());
  double all_s = 0;
  for (const double each_s : result.product_s) {
    EXPECT_GT(each_s, 0);
    all_s += each_s * static_cast<double>(result.products_in_sample);
  }
  EXPECT_GE(last_s, all_s * 0.999) << "the seconds that are told are of all products so far";
}

// c x and a (b x) for c = a b with one wrong value, which is the only difference there can be.
TEST(ProductChecks, TellTheWorstRowAndHowFarItIsOff) {
  constexpr std::int64_t kSize = 5;
  std::vector<float> a(25), b(25), c(25);
  for (std::size_t i = 0; i < 25; ++i) {
    a[i] = static_cast<float>(static_cast<int>(i * 7 % 9) - 4) / 4;
    b[i] = static_cast<float>(static_cast<int>(i * 5 % 11) - 5) / 8;
  }
  for (std::size_t row = 0; row < 5; ++row) {
    for (std::size_t k = 0; k < 5; ++k) {
      for (std::size_t i = 0; i < 5; ++i) c[row * 5 + i] += a[row * 5 + k] * b[k * 5 + i];
    }
  }
  const matmul::ProductCheck right = matmul::check_product(a, b, c, kSize, false, 1);
  EXPECT_EQ(right.difference, 0) << "sums of eighths are exact";
  // 8 times the root of the sum of five squared roundings, of the value and of the sum.
  std::vector<double> allowed;
  for (std::size_t row = 0; row < 5; ++row) {
    double squares = 0;
    for (std::size_t i = 0; i < 5; ++i)
      squares += std::pow(0x1p-24 * std::abs(static_cast<double>(c[row * 5 + i])) + 0x1p-24 * 5 / 4, 2);
    allowed.push_back(8 * std::sqrt(squares));
  }
  EXPECT_DOUBLE_EQ(right.allowed, allowed[0]) << "of equal ones the first";
  c[3 * 5 + 2] += 0.5F;
  c[1 * 5 + 4] -= 0.25F;
  const matmul::ProductCheck wrong = matmul::check_product(a, b, c, kSize, false, 1);
  EXPECT_EQ(wrong.row, 3);
  EXPECT_DOUBLE_EQ(wrong.difference, 0.5);
  EXPECT_NEAR(wrong.allowed, allowed[3], 8 * 0x1p-24 * 0.5) << "of the wrong value";
  c[4 * 5] = std::nanf("");
  const matmul::ProductCheck none = matmul::check_product(a, b, c, kSize, false, 1);
  EXPECT_EQ(none.row, 4);
  EXPECT_FALSE(none.passed());
  EXPECT_TRUE(std::isinf(none.difference));
  EXPECT_EQ(none.allowed, 0);
}

}  // namespace
}  // namespace evener::training
