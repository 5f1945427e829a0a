// Quantisation after training, on small networks.
// Ranges that calibration finds in histograms of magnitudes.
#include "quantize/values/quantizer.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "base/error.h"
#include "base/module.h"
#include "base/random.h"
#include "base/test_folder.h"
#include "infer/model/metadata.h"
#include "infer/model/trained_model.h"
#include "network/init.h"
#include "network/quantization.h"
#include "network/zoo.h"
#include "quantize/values/quantize.h"
#include "quantize/values/ranges.h"
#include "weights/safetensors.h"

namespace evener::quantization {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Random images, whose class is a number drawn for each; or images whose values `fill` writes.
class RandomImages : public data::Samples {
 public:
  using Fill = std::function<void(std::span<std::uint8_t> values)>;
  explicit RandomImages(std::size_t count, Fill fill = {}, std::int64_t side = 16)
      : count_(count), fill_(std::move(fill)), shape_({3, side, side}) {}
  std::size_t size() const override { return count_; }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return true; }
  std::string name(std::size_t index) const override { return "#" + std::to_string(index); }
  std::optional<std::int32_t> label(std::size_t index) const override { return static_cast<std::int32_t>(index % 4); }
  void read(std::size_t index, std::span<std::uint8_t> values) const override {
    if (fill_) return fill_(values);
    Random random(3, Purpose::kSynthetic, index);
    for (auto& value : values) value = static_cast<std::uint8_t>(random.below(256));
  }

 private:
  const std::size_t count_;
  const Fill fill_;
  const std::vector<std::int64_t> shape_;
};

int weight_bits_of(const network::Op& op) {
  if (const auto* conv = std::get_if<network::Conv2d>(&op)) return conv->weight_bits;
  return std::get<network::Linear>(op).weight_bits;
}

class QuantizerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
    engine_ = engine::open_engine("torch");
    // Running statistics that are far from their first values, so that folding shows.
    Random random(5, Purpose::kSynthetic);
    for (auto& [name, tensor] : state_) {
      for (std::int64_t i = 0;
           tensor.dtype == DType::kF32 && name.find("running") != name.npos && i < element_count(tensor.shape); ++i) {
        tensor.floats()[i] += static_cast<float>(random.uniform(-0.3, 0.3));
      }
    }
  }

  inference::Probe probe() const { return {*engine_, {{0.2F, 0.2F, 0.2F}, {0.25F, 0.25F, 0.25F}}, 1}; }
  Quantizer quantizer(const RandomImages& images, int weight_bits = 8, bool bias_correction = true) const {
    const QuantizeOptions options{{}, weight_bits, bias_correction};
    return Quantizer(probe(), network_, state_, images, options);
  }

  /// By how much weights grow and biases shrink.
  struct Change {
    std::vector<double> weights, biases;
  };
  /// What becomes of `filter` by itself in 4 bits, looked at on `images`.
  Change change_of(const network::Conv2d& filter, const RandomImages& images) const {
    network::Network alone("alone", images.shape());
    alone.add("filter", filter);
    alone.add("average", network::GlobalAveragePool{});
    alone.add("flatten", network::Flatten{});
    alone.add("fc", network::Linear{.out_features = 4});
    const TensorMap state = network::initial_state(alone, 1);
    const QuantizedModel model =
        Quantizer(probe(), alone, state, images, {.ranges = {}, .weight_bits = 4}).quantized({});
    const HostTensor &weight = state.at("filter.weight"), &scale = model.state.at("filter.weight_scale");
    const HostTensor rounded = network::dequantized_weights(network::quantized_weights(weight, scale, 4), scale);
    Change change;
    for (std::int64_t i = 0; i < element_count(weight.shape); ++i) {
      change.weights.push_back(static_cast<double>(rounded.floats()[i]) - weight.floats()[i]);
    }
    for (std::int64_t c = 0; c < filter.out_channels; ++c) {
      change.biases.push_back(static_cast<double>(state.at("filter.bias").floats()[c]) -
                              model.state.at("filter.bias").floats()[c]);
    }
    return change;
  }

  std::unique_ptr<engine::Engine> engine_;
  const network::Network network_ = network::build("resnet20", {network::Shape{3, 16, 16}, 4});
  TensorMap state_ = network::initial_state(network_, 1);
};

TEST_F(QuantizerTest, TheQuantizedNetworkIsNearTheFloatOne) {
  const RandomImages images(40);
  const Quantizer all = quantizer(images);
  EXPECT_EQ(all.images(), 40u);
  EXPECT_THAT(all.notes(), IsEmpty());
  const QuantizedModel model = all.quantized({});
  const std::vector<LayerError> errors = all.layer_errors(model, 16);
  ASSERT_EQ(errors.size(), 20u);
  for (const LayerError& error : errors) {
    EXPECT_TRUE(error.quantized);
    EXPECT_GT(error.sqnr_db, 15) << error.layer;
    EXPECT_LT(error.sqnr_db, 60) << error.layer;
  }
  const Quantizer coarse = quantizer(images, 4);
  EXPECT_LT(coarse.layer_errors(coarse.quantized({}), 16).back().sqnr_db, errors.back().sqnr_db - 5);
}

TEST_F(QuantizerTest, BiasCorrectionTakesBackWhatRoundingShifts) {
  const RandomImages images(64);
  // The first layer's inputs are the images' own: its channels' means have to be the float ones'.
  double shifts[2] = {};
  for (const bool corrects : {false, true}) {
    const Quantizer some = quantizer(images, 4, corrects);
    const QuantizedModel model = some.quantized({});
    std::vector<double> means[2];
    const auto observe = [&](const network::Network& network, const TensorMap& state, std::vector<double>& mean) {
      inference::observe_results(probe(), network, state, {"bn1"}, images, 64,
                                 [&](const TensorMap& results, auto indices) {
                                   for (std::size_t i = 0; i < indices.size(); ++i) {
                                     const auto values = inference::values_of(results.at("bn1"), i);
                                     mean.resize(16);
                                     for (std::size_t k = 0; k < values.size(); ++k) mean[k / 256] += values[k];
                                   }
                                 });
    };
    observe(some.folded(), some.folded_state(), means[0]);
    observe(model.network, model.state, means[1]);
    for (std::size_t c = 0; c < 16; ++c) shifts[corrects] += std::abs(means[0][c] - means[1][c]);
  }
  EXPECT_LT(shifts[1], 0.5 * shifts[0]);
}

TEST_F(QuantizerTest, BiasCorrectionTakesTheMeanOfTheFiltersOwnChannels) {
  // Channels whose values are all but one: their means are far apart.
  const RandomImages images(4, [](std::span<std::uint8_t> values) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::array<std::uint8_t, 3>{51, 128, 250}[i / 256];
  });
  const Change change = change_of({.out_channels = 3, .kernel = 3, .groups = 3, .bias = true}, images);
  // Pixels are normalised to these; without padding each weight meets its channel's.
  const std::array<double, 3> means = {0, (128 / 255.0 - 0.2) / 0.25, (250 / 255.0 - 0.2) / 0.25};
  for (std::size_t c = 0; c < 3; ++c) {
    double shift = 0;
    for (std::size_t i = 9 * c; i < 9 * c + 9; ++i) shift += change.weights[i] * means[c];
    EXPECT_NEAR(change.biases[c], shift, 1e-4) << c;
    if (c == 0) continue;  // its mean is nothing
    EXPECT_GT(std::abs(shift), 1e-3) << "there is something to correct";
  }
}

TEST_F(QuantizerTest, SharesOfWindowsInThePaddingAreNotCorrected) {
  // Images of one value, so that the mean of what a filter gives is known.
  const auto fill = [](std::span<std::uint8_t> values) { std::ranges::fill(values, std::uint8_t{250}); };
  const RandomImages images(4, fill, 4);
  const Change change = change_of({.out_channels = 2, .kernel = 3, .padding = 1, .bias = true}, images);
  const double pixel = (250 / 255.0 - 0.2) / 0.25;
  const std::array<double, 3> inside = {0.75, 1, 0.75};  // of 4 places: one of the outer values is in the padding
  for (std::size_t c = 0; c < 2; ++c) {
    double shift = 0;
    for (std::size_t i = 0; i < 27; ++i) {
      shift += change.weights[27 * c + i] * pixel * inside[i % 9 / 3] * inside[i % 3];
    }
    EXPECT_NEAR(change.biases[c], shift, 1e-4) << c;
  }
}

TEST_F(QuantizerTest, FewOfManyImagesAreTakenFromEverywhere) {
  const RandomImages images(40);
  std::vector<std::size_t> seen;
  inference::observe_results(probe(), network_, state_, {}, images, 18, [&](const TensorMap&, auto indices) {
    seen.insert(seen.end(), indices.begin(), indices.end());
  });
  ASSERT_EQ(seen.size(), 18U) << "the last ones, which fill no batch, are looked at too";
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i * 40 / 18);
}

TEST_F(QuantizerTest, ExactlyTheAllowedLossIsAllowed) {
  const RandomImages images(4);
  const Quantizer some = quantizer(images);
  const auto quality = [&](const network::Network& network, const TensorMap&) {
    return network.layers().size() == some.folded().layers().size() ? 0.75 : 0.5;
  };
  const KeptLayers found = keep_sensitive(some, quality, {}, 0.25);
  EXPECT_EQ(found.trials, 1);
  EXPECT_THAT(found.layers, IsEmpty());
  EXPECT_EQ(found.float_quality, 0.75);
  EXPECT_EQ(found.quality, 0.5);
}

TEST_F(QuantizerTest, LayersThatAreKeptAnywayStayInFloat) {
  const RandomImages images(4);
  const Quantizer some = quantizer(images);
  const std::string last = *some.matching("last").begin();
  const auto quality = [&](const network::Network& network, const TensorMap&) {
    const auto head = std::ranges::find(network.layers(), last, &network::Layer::name);
    return weight_bits_of(head->op) == 0 ? 0.75 : 0.5;
  };
  const KeptLayers found = keep_sensitive(some, quality, {last}, 0.5);
  EXPECT_THAT(found.layers, testing::ElementsAre(last));
  EXPECT_EQ(found.quality, 0.75);
}

// Int8 kernels have one scale for all that is concatenated: the largest that one of its parts needs.
TEST_F(QuantizerTest, PartsOfAConcatenationHaveTheScaleOfTheLargest) {
  network::Network parts("parts", {3, 16, 16});
  const int stem = parts.add("stem", network::Conv2d{.out_channels = 4});
  const int small = parts.add("small", network::Conv2d{.out_channels = 4}, {stem});
  const int large = parts.add("large", network::Conv2d{.out_channels = 4}, {stem});
  parts.add("both", network::Concat{}, {small, large});
  parts.add("last", network::Conv2d{.out_channels = 2});
  parts.add("average", network::GlobalAveragePool{});
  parts.add("flatten", network::Flatten{});
  parts.add("fc", network::Linear{.out_features = 4});
  TensorMap state = network::initial_state(parts, 1);
  HostTensor& weight = state.at("large.weight");
  for (std::int64_t i = 0; i < element_count(weight.shape); ++i) weight.floats()[i] *= 20;
  const RandomImages images(4);
  const QuantizeOptions options{{Calibration::kMinMax}, 8, true};
  const QuantizedModel model = Quantizer(probe(), parts, state, images, options).quantized({});
  float largest = 0;
  inference::observe_results(probe(), parts, state, {"large"}, images, 4, [&](const TensorMap& results, auto indices) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      for (const float value : inference::values_of(results.at("large"), i))
        largest = std::max(largest, std::abs(value));
    }
  });
  for (const char* name : {"small", "large"}) {
    const float scale = model.state.at(network::quantizer_name(name) + ".scale").floats()[0];
    const network::Levels levels = network::activation_levels(model.scheme.activations.at(name));
    EXPECT_NEAR(scale * levels.most / largest, 1, 1e-4) << name;
  }
  EXPECT_LT(model.state.at(network::quantizer_name("stem") + ".scale").floats()[0],
            model.state.at(network::quantizer_name("large") + ".scale").floats()[0])
      << "which is no part of it";
}

TEST_F(QuantizerTest, FewImagesAreToldAndNoneRefused) {
  EXPECT_THAT(quantizer(RandomImages(1)).notes(), Contains(HasSubstr("calibrated on 1 image alone")));
  EXPECT_THROW(quantizer(RandomImages(0)), UsageError);
  EXPECT_THROW(quantizer(RandomImages(1, [](auto) { throw Error("broken"); })), UsageError);
}

TEST_F(QuantizerTest, ALayerThatGivesZerosAloneIsToldAndComputes) {
  for (const char* name : {"layer2.0.bn1.weight", "layer2.0.bn1.bias"}) {
    HostTensor& tensor = state_.at(name);
    std::fill(tensor.floats(), tensor.floats() + element_count(tensor.shape), 0.0F);
  }
  const RandomImages images(8);
  const Quantizer some = quantizer(images);
  EXPECT_THAT(some.notes(), Contains(HasSubstr("'layer2.0.relu1' gives zeros alone")));
  const QuantizedModel model = some.quantized({});
  EXPECT_EQ(model.state.at("layer2.0.relu1.quantized.scale").floats()[0], 1);
  EXPECT_EQ(model.state.at("layer2.0.bn1.weight_scale").floats()[0], 1);
  EXPECT_GT(some.layer_errors(model, 8).back().sqnr_db, 15);
}

TEST_F(QuantizerTest, WhatReadsInfiniteValuesStaysInFloat) {
  state_.at("layer2.0.bn1.bias").floats()[0] = std::numeric_limits<float>::infinity();
  const Quantizer some = quantizer(RandomImages(4));
  EXPECT_THAT(some.notes(), Contains(AllOf(HasSubstr("'layer2.0.relu1' gives"), HasSubstr("not finite"))));
  const QuantizedModel model = some.quantized({});
  EXPECT_FALSE(model.scheme.activations.contains("layer2.0.relu1"));
  EXPECT_FALSE(model.scheme.weight_bits.contains("layer2.0.bn2"));
  EXPECT_TRUE(model.scheme.weight_bits.contains("layer1.0.bn2"));
}

TEST_F(QuantizerTest, LearningBeginsWithFiniteValues) {
  const RandomImages images(4);  // so few that another note stands beside the one that matters
  const data::ChannelStatistics normalization{{0.2F, 0.2F, 0.2F}, {0.25F, 0.25F, 0.25F}};
  const TensorMap calibrated = calibrated_state(network_, state_, 8, normalization, images, 1);
  EXPECT_GT(calibrated.at("bn1.weight_scale").floats()[0], 0);
  state_.at("layer2.0.bn1.bias").floats()[0] = std::numeric_limits<float>::infinity();
  try {
    calibrated_state(network_, state_, 8, normalization, images, 1);
    FAIL() << "it was calibrated";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("'layer2.0.relu1'"), HasSubstr("not finite")));
  }
}

TEST_F(QuantizerTest, LayersAreKeptByEitherName) {
  const RandomImages images(8);
  const Quantizer some = quantizer(images);
  EXPECT_THAT(some.matching("conv1"), testing::ElementsAre("bn1"));
  EXPECT_THAT(some.matching("first"), testing::ElementsAre("bn1"));
  EXPECT_EQ(some.matching("layer3.*").size(), 6u);
  EXPECT_THROW(some.matching("layer4.*"), UsageError);
  EXPECT_EQ(some.quantized(some.matching("layer3.*")).scheme.weight_bits.size(), 14u);
  EXPECT_EQ(some.quantized(some.matching("layer?.?.bn2")).scheme.weight_bits.size(), 11u) << "terms of sums";
}

TEST_F(QuantizerTest, AsFewLayersAsNeededAreKept) {
  const RandomImages images(16);
  const Quantizer some = quantizer(images, 2);
  // As good as layers that stay in float: every one of those three has to be among them, and none else.
  const std::vector<std::string> order = some.by_sensitivity(16);
  ASSERT_EQ(order.size(), 20u);
  const auto needs = [&](std::size_t count) {
    return [&, count](const network::Network& network, const TensorMap&) {
      for (std::size_t i = 0; i < count; ++i) {
        const auto layer = std::ranges::find(network.layers(), order[i], &network::Layer::name);
        if (weight_bits_of(layer->op) > 0) return 0.5;
      }
      return 0.9;
    };
  };
  EXPECT_THAT(keep_sensitive(some, needs(3), {}, 1).layers, IsEmpty());
  for (const std::size_t count : {1U, 3U, 20U}) {
    const KeptLayers found = keep_sensitive(some, needs(count), {}, 0);
    EXPECT_THAT(found.layers,
                testing::UnorderedElementsAreArray(order.begin(), order.begin() + static_cast<long>(count)));
    EXPECT_EQ(found.quality, 0.9);
    EXPECT_LE(found.trials, 10);
  }
}

TEST_F(QuantizerTest, AccuracyIsWhatIsKept) {
  const RandomImages images(16);
  const Quantizer some = quantizer(images, 2);
  const auto accuracy = [&](const network::Network& network, const TensorMap& state) {
    return inference::accuracy_of(probe(), network, state, images);
  };
  const KeptLayers none_lost = keep_sensitive(some, accuracy, {}, 0);
  EXPECT_GE(none_lost.quality, none_lost.float_quality);
  const QuantizedModel model = some.quantized(none_lost.layers);
  EXPECT_EQ(accuracy(model.network, model.state), none_lost.quality);
}

TEST_F(QuantizerTest, AFileOfBytesIsTheSameNetwork) {
  const RandomImages images(8);
  const QuantizedModel model = quantizer(images).quantized({});
  const test::TestFolder folder;
  const auto file = folder / "quantized.safetensors";
  inference::ModelFacts facts{"resnet20", {"a", "b", "c", "d"}, network::Shape{3, 16, 16}, {}};
  facts.quantization = model.scheme;
  weights::write_safetensors(file, inference::packed(model.network, model.state), inference::model_metadata(facts));
  const inference::TrainedModel read = inference::open_trained_model({.model = file.string()});
  EXPECT_EQ(read.quantization, model.scheme);
  EXPECT_EQ(inference::packed(read.network, read.state), inference::packed(model.network, model.state));
  EXPECT_EQ(read.state.at("bn1.weight").dtype, DType::kF32);
  // 0.27 M weights of a byte, and 1.4 k biases and scales.
  EXPECT_LT(std::filesystem::file_size(file), 0.27 * 4 * 271000);
}

constexpr network::Levels kBytes = network::activation_levels(false);

std::vector<float> normal_values(std::size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

/// 100,000 magnitudes of a normal distribution, and one of a hundred.
MagnitudeHistogram with_outlier() {
  std::vector<float> values = normal_values(100000);
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
  const std::vector<float> values = normal_values(20000);
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

}  // namespace evener::quantization
