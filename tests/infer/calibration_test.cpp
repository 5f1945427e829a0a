// Temperatures, errors of calibration, and distances of features: against known answers and computations by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/random.h"
#include "base/test_folder.h"
#include "infer/calibrate/calibrate.h"
#include "infer/calibrate/calibration_error.h"
#include "infer/model/fitted_calibration.h"
#include "infer/pixel_engine_helpers.h"
#include "infer/run/feature_fit.h"
#include "network/init.h"
#include "network/zoo.h"
#include "weights/safetensors.h"

namespace evener::inference {
namespace {

using testing::HasSubstr;

/// Logits whose labels are drawn by softmax(logits / temperature): that is the temperature that holds.
LogitTable drawn_table(std::size_t images, std::size_t classes, double temperature, std::uint64_t seed = 7) {
  LogitTable table{.classes = classes, .logits = {}, .labels = {}};
  Random random(seed, Purpose::kSynthetic);
  for (std::size_t i = 0; i < images; ++i) {
    std::vector<double> weights;
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      const double logit = 4 * random.normal();
      table.logits.push_back(static_cast<float>(logit));
      weights.push_back(std::exp(logit / temperature));
      sum += weights.back();
    }
    double draw = random.uniform() * sum;
    std::int32_t label = 0;
    while (static_cast<std::size_t>(label) + 1 < classes && draw >= weights[static_cast<std::size_t>(label)]) {
      draw -= weights[static_cast<std::size_t>(label++)];
    }
    table.labels.push_back(label);
  }
  return table;
}

TEST(Temperature, IsThatByWhichLabelsWereDrawn) {
  // 20,000 labels tell a temperature to about a per cent; four deviations are allowed.
  for (const double temperature : {0.4, 1.0, 1.7, 5.0}) {
    EXPECT_NEAR(fit_temperature(drawn_table(20'000, 10, temperature)), temperature, 0.04 * temperature);
  }
}

TEST(Temperature, HasTheSmallestLoss) {
  const LogitTable table = drawn_table(3000, 5, 2.2);
  const double best = fit_temperature(table);
  const double loss = negative_log_likelihood(table, best);
  // The allowance for one wrong answer moves it by less than these steps.
  EXPECT_LT(loss, negative_log_likelihood(table, 1.05 * best));
  EXPECT_LT(loss, negative_log_likelihood(table, 0.95 * best));
}

TEST(Temperature, StaysSoberWhereAllIsRight) {
  LogitTable table{.classes = 2, .logits = {}, .labels = {}};
  for (int i = 0; i < 50; ++i) {
    table.logits.insert(table.logits.end(), {3, 0});
    table.labels.push_back(0);
  }
  // Of 50 right answers, one more might have been wrong: (1 - 1/52) + 1/104 is how sure it may be.
  const double sure = 1 / (1 + std::exp(-3 / fit_temperature(table)));
  EXPECT_NEAR(sure, 1 - 1.0 / 104, 1e-9);
  EXPECT_EQ(fit_temperature({.classes = 2, .logits = {}, .labels = {}}), 1);
}

TEST(CalibrationError, IsTheMeanDistanceOverTheBins) {
  // (0.5, 0.9] in bins 7 to 13 of 15: two answers of 0.9 in (13/15, 14/15], one right; two of 0.6 = 9/15, both right.
  const std::vector<JudgedAnswer> answers = {{0.9, true}, {0.9, false}, {0.6, true}, {0.6, true}};
  const std::vector<record::ReliabilityBin> bins = equal_width_bins(answers);
  ASSERT_EQ(bins.size(), 15U);
  EXPECT_EQ(bins[13].images, 2);
  EXPECT_DOUBLE_EQ(bins[13].accuracy, 0.5);
  EXPECT_EQ(bins[8].images, 2);  // 9/15 is the upper end of the ninth bin
  EXPECT_NEAR(expected_calibration_error(bins), 0.5 * 0.4 + 0.5 * 0.4, 1e-12);
  // Four bins of one answer each, in the order of confidence: |1 - 0.6| twice, |1 - 0.9|, |0 - 0.9|.
  EXPECT_NEAR(calibration_error(answers).ece_equal_mass, (0.4 + 0.4 + 0.1 + 0.9) / 4, 1e-12);
  EXPECT_EQ(expected_calibration_error(equal_width_bins({{0, false}, {1, true}})), 0);
}

// Three answers of 0.8: two are right in 38.4 % of the draws (an error of 2/15), all in 51.2 % (0.2), one in 9.6 %
// (7/15), none in 0.8 % (0.8). So 95 % end at 7/15, and with one right answer or more.
TEST(CalibrationError, IsHeldAgainstWhatChanceMakes) {
  const record::CalibrationError error = calibration_error({{0.8, true}, {0.8, false}, {0.8, true}}, /*bins=*/10);
  EXPECT_NEAR(error.ece, 2.0 / 15, 1e-9);
  ASSERT_TRUE(error.ece_by_chance);
  EXPECT_NEAR(*error.ece_by_chance, 7.0 / 15, 1e-9);
  ASSERT_EQ(error.bins.size(), 10U);
  EXPECT_FALSE(error.bins[6].by_chance) << "it has no answers";
  ASSERT_TRUE(error.bins[7].by_chance);
  EXPECT_NEAR(error.bins[7].by_chance->low, 1.0 / 3, 1e-9);
  EXPECT_EQ(error.bins[7].by_chance->high, 1);
  EXPECT_FALSE(calibration_error({}).ece_by_chance);
}

// EVENER_SIMULATIONS=1000 makes it longer.
TEST(CalibrationTruth, PerfectNetworksStayWithinChanceAndOverconfidentOnesAreFound) {
  const char* const asked = std::getenv("EVENER_SIMULATIONS");
  std::printf(
      "| images | classes | bins | error of perfect ones | within chance | all bins within | of overconfident ones | "
      "beyond chance |\n|---|---|---|---|---|---|---|---|\n");
  int all = 0, all_within = 0;
  for (const std::size_t images : {62U, 300U, 1000U, 10'000U}) {
    for (const std::size_t classes : {2U, 10U, 100U}) {
      for (const std::size_t bins : {10U, 15U}) {
        const int trials = asked != nullptr ? std::max(1, std::atoi(asked))
                           : images > 1000  ? 2
                           : images > 300   ? 15
                                            : 60;
        int within = 0, bins_within = 0, found = 0;
        double perfect_sum = 0, overconfident_sum = 0;
        for (int trial = 0; trial < trials; ++trial) {
          const auto seed = static_cast<std::uint64_t>(trial) + 100;
          const auto perfect = calibration_error(answers_at(drawn_table(images, classes, 1, seed), 1), bins);
          const auto overconfident = calibration_error(answers_at(drawn_table(images, classes, 2, seed), 1), bins);
          within += perfect.ece <= *perfect.ece_by_chance;
          bins_within += std::ranges::all_of(perfect.bins, [](const record::ReliabilityBin& bin) {
            return !bin.by_chance || (bin.by_chance->low <= bin.accuracy && bin.accuracy <= bin.by_chance->high);
          });
          found += overconfident.ece > *overconfident.ece_by_chance;
          perfect_sum += perfect.ece;
          overconfident_sum += overconfident.ece;
        }
        std::printf("| %zu | %zu | %zu | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% |\n", images, classes, bins,
                    100 * perfect_sum / trials, 100.0 * within / trials, 100.0 * bins_within / trials,
                    100 * overconfident_sum / trials, 100.0 * found / trials);
        // Three standard errors of a share of 95 %, and one trial, as so few have a skewed share.
        const double chance = 3 * std::sqrt(0.05 * 0.95 / trials) + 1.0 / trials;
        EXPECT_GE(within, (0.95 - chance) * trials) << images << " images, " << classes << " classes";
        EXPECT_GE(bins_within, (0.95 - chance) * trials) << images << " images, " << classes << " classes";
        EXPECT_TRUE(images < 1000 || found == trials) << classes << " classes";
        all += trials;
        all_within += within;
      }
    }
  }
  EXPECT_NEAR(static_cast<double>(all_within) / all, 0.95, 3 * std::sqrt(0.05 * 0.95 / all));
}

/// A picture of class c has its pixel c lit.
class ListedPictures : public data::Samples {
 public:
  ListedPictures(std::size_t size, std::function<std::int32_t(std::size_t)> class_of)
      : size_(size), class_of_(std::move(class_of)) {}

  std::size_t size() const override { return size_; }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return false; }
  std::string name(std::size_t index) const override { return std::to_string(index); }
  std::optional<std::int32_t> label(std::size_t index) const override {
    asked.insert(index);
    return class_of_(index);
  }
  void read(std::size_t index, std::span<float> values) const override {
    std::ranges::fill(values, 0);
    values[static_cast<std::size_t>(class_of_(index))] = 1;
  }

  mutable std::multiset<std::size_t> asked;

 private:
  std::size_t size_;
  std::vector<std::int64_t> shape_ = {4};
  std::function<std::int32_t(std::size_t)> class_of_;
};

InferenceModel four_logits() {
  InferenceRequest request;
  request.model.model = "mlp:4-4";
  request.model.seed = 1;
  return InferenceModel(request);
}

CalibrationOptions of_pixels() {
  CalibrationOptions options;
  options.infer.open_engine = [](const std::string&) { return std::make_unique<test::PixelEngine>(); };
  options.infer.engine = "torch";
  options.infer.batch = 8;
  options.infer.plan.text = "cpu";
  options.infer.plan.replicas.push_back({0, {placement::PlanStage{}}, {}});
  options.unknown_share = 0;
  return options;
}

// Neither the first ones, which in a sorted listing are of one class, nor each tenth, which may be of one class where
// they take turns.
TEST(CalibrationImages, OfMoreThanAskedForAreDrawn) {
  const InferenceModel model = four_logits();
  CalibrationOptions options = of_pixels();
  options.most_images = 40;
  for (const bool is_sorted : {true, false}) {
    const ListedPictures pictures(
        400, [&](std::size_t index) { return static_cast<std::int32_t>(is_sorted ? index / 100 : index % 4); });
    const CalibrationOutcome outcome = calibrate(model, {.validation = &pictures}, options);
    EXPECT_EQ(outcome.record.fitted_images, 40);
    EXPECT_EQ(outcome.record.judged_images, 40);
    std::map<std::int32_t, int> of_class;
    for (const std::size_t index : std::set(pictures.asked.begin(), pictures.asked.end())) {
      ++of_class[static_cast<std::int32_t>(is_sorted ? index / 100 : index % 4)];
    }
    for (std::int32_t c = 0; c < 4; ++c) EXPECT_GE(of_class[c], 4) << "class " << c << (is_sorted ? ", sorted" : "");
    double right = 0;
    for (const record::ReliabilityBin& bin : outcome.record.before.bins) {
      right += bin.accuracy * static_cast<double>(bin.images);
    }
    EXPECT_EQ(right, 40) << "each is held against its own label";
    EXPECT_EQ(std::set(pictures.asked.begin(), pictures.asked.end()).size(), 40U);
    CalibrationOptions all = options;
    all.most_images = 1000;
    EXPECT_EQ(calibrate(model, {.validation = &pictures}, all).record.fitted_images, 400);
  }
}

TEST(CalibrationImages, OfTheTestJudgeWhereThereAreEnough) {
  const InferenceModel model = four_logits();
  const auto right = [](std::size_t index) { return static_cast<std::int32_t>(index % 4); };
  const ListedPictures validation(60, right), test(kFewestCalibrationImages, right),
      few(kFewestCalibrationImages - 1, right);
  const auto record_with = [&](const data::Samples* of_test) {
    return calibrate(model, {.validation = &validation, .test = of_test}, of_pixels()).record;
  };
  const record::CalibrationRecord judged = record_with(&test);
  EXPECT_EQ(judged.judged, "test part");
  EXPECT_EQ(judged.judged_images, 30);
  EXPECT_EQ(judged.fitted_images, 60);
  EXPECT_EQ(judged.no_unknown, "--unknown 0 asks for that");
  // Logits of 1 and three times 0: exp(1) / (exp(1) + 3) for the right class.
  EXPECT_NEAR(judged.before.negative_log_likelihood, std::log(std::exp(1.0) + 3) - 1, 1e-6);
  EXPECT_LT(judged.after.negative_log_likelihood, judged.before.negative_log_likelihood);
  for (const data::Samples* others :
       {static_cast<const data::Samples*>(&few), static_cast<const data::Samples*>(nullptr)}) {
    const record::CalibrationRecord halved = record_with(others);
    EXPECT_EQ(halved.judged, "validation part, each half by what the other gave");
    EXPECT_EQ(halved.judged_images, 60);
  }
  EXPECT_THROW(calibrate(model, {.validation = &few}, of_pixels()), Error);
  EXPECT_THROW(calibrate(model, {.test = &test}, of_pixels()), Error);
}

TEST(FeatureFit, IsTheMahalanobisDistanceOfFeaturesOfLengthOne) {
  // Two classes in the plane; features of length one are given, so that nothing changes.
  const auto at = [](double angle) { return std::pair{std::cos(angle), std::sin(angle)}; };
  const std::vector<double> angles = {0.1, 0.3, 0.2, 0.15, 1.1, 1.4, 1.2, 1.3};
  FeatureTable table{.values = 2, .features = {}, .labels = {0, 0, 0, 0, 1, 1, 1, 1}};
  for (const double angle : angles) {
    const auto [x, y] = at(angle);
    table.features.insert(table.features.end(), {static_cast<float>(3 * x), static_cast<float>(3 * y)});  // any length
  }
  FeatureFit fit = fit_features(table);
  // By hand: means, the mean product of deviations, Ledoit and Wolf's share, the inverse of the 2 x 2 matrix.
  double mean[2][2] = {}, s[2][2] = {}, fourth = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    const auto [x, y] = at(angles[i]);
    mean[i / 4][0] += x / 4;
    mean[i / 4][1] += y / 4;
  }
  for (std::size_t i = 0; i < 8; ++i) {
    const auto [x, y] = at(angles[i]);
    const double r[2] = {x - mean[i / 4][0], y - mean[i / 4][1]};
    for (int a = 0; a < 2; ++a) {
      for (int b = 0; b < 2; ++b) s[a][b] += r[a] * r[b] / 8;
    }
    fourth += std::pow(r[0] * r[0] + r[1] * r[1], 2) / 8;
  }
  const double mu = (s[0][0] + s[1][1]) / 2;
  const double squares = s[0][0] * s[0][0] + 2 * s[0][1] * s[0][1] + s[1][1] * s[1][1];
  const double share = ((fourth - squares) / 16) / ((squares - 2 * mu * mu) / 2);
  ASSERT_GT(share, 1e-3);
  ASSERT_LT(share, 1);
  EXPECT_NEAR(fit.shrinkage, share, 1e-5);
  const double a = (1 - share) * s[0][0] + share * mu, b = (1 - share) * s[0][1],
               d = (1 - share) * s[1][1] + share * mu, determinant = a * d - b * b;
  const auto [x, y] = at(0.7);
  double nearest = 1e30;
  for (const auto& m : mean) {
    const double dx = x - m[0], dy = y - m[1];
    nearest = std::min(nearest, (d * dx * dx - 2 * b * dx * dy + a * dy * dy) / determinant);
  }
  const std::vector<float> shown = {static_cast<float>(0.2 * x), static_cast<float>(0.2 * y)};
  EXPECT_NEAR(ClassDistance(fit.statistics).of(shown.data(), 1).front(), nearest, 1e-3 * nearest);
}

TEST(FeatureFit, TakesFewImagesOfManyFeaturesAndRefusesOneImageAlone) {
  FeatureTable table{.values = 50, .features = {}, .labels = {}};
  Random random(3, Purpose::kSynthetic);
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 50; ++j) table.features.push_back(static_cast<float>(random.normal() + (j == i % 2 ? 9 : 0)));
    table.labels.push_back(i % 2 == 0 ? 0 : 2);  // class 1 has no image
  }
  const FeatureFit fit = fit_features(table);
  EXPECT_EQ(fit.statistics.classes(), 2);
  EXPECT_GT(fit.shrinkage, 0.1);
  std::vector<float> other(50, 0);
  other[7] = 9;
  const ClassDistance distance(fit.statistics);
  EXPECT_GT(distance.of(other.data(), 1).front(), 2 * distance.of(table.features.data(), 1).front());
  FeatureTable same{.values = 2, .features = {1, 2, 1, 2}, .labels = {0, 0}};
  EXPECT_THROW(fit_features(same), Error);
}

TEST(FeatureFit, ThresholdAndSharesAreThoseOfCounting) {
  std::vector<float> known;
  for (int i = 1; i <= 99; ++i) known.push_back(static_cast<float>(i));
  EXPECT_EQ(threshold_of(known, 0.05), 95);  // the 95th of 99: ceil(100 x 0.95)
  EXPECT_EQ(threshold_of({3, 1, 2}, 0.05), 3);
  EXPECT_DOUBLE_EQ(area_under_roc({1, 2, 3}, {2, 4}), (1.5 + 3) / 6);
  EXPECT_DOUBLE_EQ(false_positives_at_95(known, {95, 96, 10, 200}), 0.5);
}

class CalibrationFile : public testing::Test {
 protected:
  void SetUp() override { weights::write_safetensors(weights_, {{"a", HostTensor::of_floats({2}, {1, 2})}}); }

  static ClassifierCalibration calibration() {
    return {.temperature = 1.625,
            .unknown = FeatureStatistics{
                .features = 2, .whitening = {1, 0, 0.5F, 2}, .centres = {1, 2, 3, 4, 5, 6}, .threshold = 3.5}};
  }

  test::TestFolder folder_;
  const std::filesystem::path weights_ = folder_ / "best.safetensors";
};

TEST_F(CalibrationFile, ComesBackAsItWas) {
  EXPECT_FALSE(read_calibration(weights_).calibration);
  write_calibration(weights_, calibration());
  const ClassifierCalibration back = read_calibration(weights_).calibration.value();
  EXPECT_EQ(back.temperature, 1.625);
  ASSERT_TRUE(back.unknown);
  EXPECT_EQ(back.unknown->whitening, calibration().unknown->whitening);
  EXPECT_EQ(back.unknown->centres, calibration().unknown->centres);
  EXPECT_EQ(back.unknown->threshold, 3.5);
  EXPECT_EQ(back.unknown->classes(), 3);
}

TEST_F(CalibrationFile, OfOtherWeightsIsNotUsed) {
  write_calibration(weights_, calibration());
  weights::write_safetensors(weights_, {{"a", HostTensor::of_floats({2}, {1, 3})}});
  const FoundCalibration found = read_calibration(weights_);
  EXPECT_FALSE(found.calibration);
  EXPECT_THAT(found.note, HasSubstr("other weights"));
}

TEST_F(CalibrationFile, IsRefusedWhereItIsDamaged) {
  write_calibration(weights_, calibration());
  const std::filesystem::path file = calibration_file(weights_);
  EXPECT_EQ(file, folder_ / "best.calibration.safetensors");
  const weights::SafetensorsFile whole = weights::read_safetensors(file);
  const auto message_of = [&](const TensorMap& tensors, weights::Metadata metadata) -> std::string {
    weights::write_safetensors(file, tensors, metadata);
    try {
      read_calibration(weights_);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const auto with = [&](const char* key, const char* value) {
    weights::Metadata metadata = whole.metadata;
    metadata[key] = value;
    return metadata;
  };
  EXPECT_THAT(message_of(whole.tensors, with("temperature", "0")), HasSubstr("temperature"));
  EXPECT_THAT(message_of(whole.tensors, with("temperature", "nan")), HasSubstr("temperature"));
  EXPECT_THAT(message_of(whole.tensors, with("threshold", "much")), HasSubstr("threshold"));
  EXPECT_THAT(message_of(whole.tensors, with("format", "other")), HasSubstr("evener-calibration-1"));
  TensorMap fewer = whole.tensors;
  fewer.erase("centres");
  EXPECT_THAT(message_of(fewer, whole.metadata), HasSubstr("a tensor is missing"));
  TensorMap other = whole.tensors;
  other["centres"] = HostTensor::of_floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(message_of(other, whole.metadata), HasSubstr("don't fit"));
  other["centres"] = HostTensor::of_floats({1, 2}, {1, NAN});
  EXPECT_THAT(message_of(other, whole.metadata), HasSubstr("no numbers"));
  weights::write_safetensors(file, whole.tensors, whole.metadata);
  const std::string bytes = read_file(file);
  write_file_atomically(file, bytes.substr(0, bytes.size() - 3));
  EXPECT_THROW(read_calibration(weights_), Error);
}

TEST(ApplyTemperature, DividesLogitsAndFlattensProbabilities) {
  HostTensor logits = HostTensor::of_floats({2, 2}, {4, -2, 1, 8});
  apply_temperature(logits, 2);
  EXPECT_EQ(logits, HostTensor::of_floats({2, 2}, {2, -1, 0.5F, 4}));
  HostTensor probabilities = HostTensor::of_floats({1, 2}, {0.9F, 0.1F});
  apply_temperature(probabilities, 2);
  EXPECT_NEAR(probabilities.floats()[0], 3.0 / 4, 1e-6);  // sqrt(0.9) / (sqrt(0.9) + sqrt(0.1))
}

TEST(FoldTemperature, DividesTheLastLayersWeights) {
  const network::Network network = network::build("mlp:4-3-2", {});
  TensorMap state = network::initial_state(network, 1);
  const TensorMap before = state;
  fold_temperature(network, state, 2);
  int changed = 0;
  for (const auto& [name, tensor] : before) {
    if (state.at(name) == tensor) continue;
    ++changed;
    EXPECT_FLOAT_EQ(state.at(name).floats()[0], tensor.floats()[0] / 2) << name;
  }
  EXPECT_EQ(changed, 2);  // weight and bias
}

}  // namespace
}  // namespace evener::inference
