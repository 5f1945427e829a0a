// What a run begins with: patterns of frozen parameters, and how images are normalised.
// A detector's convolutional part from a classifier, and from convolutions that batch-norms were folded into.
#include "task/training/start.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/module.h"
#include "base/real_data.h"
#include "base/relative_distance.h"
#include "engine/engine.h"
#include "network/init.h"
#include "network/passes/fold_batch_norm.h"
#include "network/zoo.h"
#include "task/training/backbone.h"

namespace evener::task {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <class Act>
std::string message_of(Act act) {
  try {
    act();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(MatchingParameters, FollowThePatterns) {
  const network::Network network = network::build("resnet20", {});
  EXPECT_THAT(matching_parameters(network, {"conv1*", "bn1.*"}), ElementsAre("conv1.weight", "bn1.weight", "bn1.bias"));
  EXPECT_THAT(matching_parameters(network, {"layer3.2.conv?.weight"}),
              ElementsAre("layer3.2.conv1.weight", "layer3.2.conv2.weight"));
  EXPECT_EQ(matching_parameters(network, {"*"}).size(), 59u) << "19 convolutions, 19 batch-norms, a linear layer";
  EXPECT_TRUE(matching_parameters(network, {}).empty());
}

TEST(MatchingParameters, PatternsThatMatchNothingAreErrors) {
  const network::Network network = network::build("resnet20", {});
  const auto message = [&](const char* pattern) {
    return message_of([&] { matching_parameters(network, {"conv1*", pattern}); });
  };
  EXPECT_THAT(message("layr1*"),
              AllOf(HasSubstr("'layr1*'"), HasSubstr("did you mean 'layer1*'?"), HasSubstr("resnet20")));
  EXPECT_THAT(message("fc*"), HasSubstr("conv1, bn1, layer1, layer2, layer3, linear"));
  EXPECT_THAT(message("*.running_mean"), HasSubstr("matches no parameter")) << "statistics are no parameters";
}

TEST(FreezeText, CountsParametersAndValues) {
  network::Network network = network::build("mlp:4-3-2", {});
  EXPECT_EQ(freeze_text(network), "");
  network.freeze({"0.weight"});
  EXPECT_EQ(freeze_text(network), "3 of 4 parameters are trained (11 of 23 values)");
}

TEST(Normalization, TakesNamesAndNumbers) {
  EXPECT_EQ(parse_normalization("").source, NormalizationRule::Source::kDefault);
  EXPECT_EQ(parse_normalization("data").source, NormalizationRule::Source::kData);
  const auto imagenet = for_channels(parse_normalization("imagenet"), 3);
  EXPECT_EQ(imagenet.mean, (std::vector<float>{0.485F, 0.456F, 0.406F}));
  EXPECT_EQ(imagenet.standard_deviation, (std::vector<float>{0.229F, 0.224F, 0.225F}));
  EXPECT_EQ(for_channels(parse_normalization("0.5/0.25"), 3).mean, (std::vector<float>{0.5F, 0.5F, 0.5F}));
  EXPECT_EQ(for_channels(parse_normalization("0.1:0.2:0.3/0.25:0.5:1"), 3).standard_deviation,
            (std::vector<float>{0.25F, 0.5F, 1}));
}

TEST(Normalization, OtherTextsAndNumbersOfChannelsAreRefused) {
  for (const char* text :
       {"imagnet", "0.5", "0.5/", "/0.5", "0.5/0", "0.5/-1", "0.5/x", "0.5:0.5/1", "0.5,0.5/1,1", "nan/1"}) {
    EXPECT_THAT(message_of([&] { parse_normalization(text); }), AllOf(HasSubstr(text), HasSubstr("0.5/0.25"))) << text;
  }
  EXPECT_THAT(message_of([] { for_channels(parse_normalization("imagenet"), 1); }), HasSubstr("--channels 3"));
}

TEST(Normalization, IsReadFromMetadata) {
  const weights::Metadata good = {{"mean", "[0.5,0.25,0.1]"}, {"standard_deviation", "[1.0,2.0,3.0]"}};
  ASSERT_TRUE(normalization_of(good, 3));
  EXPECT_EQ(normalization_of(good, 3)->mean, (std::vector<float>{0.5F, 0.25F, 0.1F}));
  EXPECT_FALSE(normalization_of(good, 1));
  EXPECT_FALSE(normalization_of({}, 3));
  EXPECT_FALSE(normalization_of({{"mean", "[0.5]"}, {"standard_deviation", "[0]"}}, 1));
  EXPECT_FALSE(normalization_of({{"mean", "0.5"}, {"standard_deviation", "[1]"}}, 1));
  EXPECT_FALSE(normalization_of({{"mean", "[["}, {"standard_deviation", "[1]"}}, 1));
}

const network::Shape kInput{3, 64, 64};

network::Network zoo(const char* model, std::int64_t classes = 4) {
  return network::build(model, {.input = kInput, .classes = classes});
}

template <class Act>
std::string failure(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing failed";
}

TEST(Backbone, OfAClassifierHasItsTensorsWhereTheyFit) {
  const network::Network detector = zoo("ssdlite_mobilenet_v2");
  const TensorMap classifier = network::initial_state(zoo("mobilenet_v2", 9), 5);
  EXPECT_TRUE(is_of_backbone(detector, classifier));
  EXPECT_FALSE(is_of_backbone(detector, network::initial_state(detector, 1)));
  EXPECT_FALSE(is_of_backbone(zoo("mobilenet_v2"), classifier));
  const TensorMap first = network::initial_state(detector, 2);
  const Backbone backbone = backbone_of_classifier(detector, classifier, "w", 2);
  std::size_t taken = 0;
  for (const auto& [name, tensor] : backbone.state) {
    const bool is_shared = name.starts_with("backbone.features.");
    const std::string theirs = is_shared ? name.substr(std::string("backbone.").size()) : "";
    EXPECT_EQ(tensor, is_shared ? classifier.at(theirs) : first.at(name)) << name;
    taken += is_shared ? 1 : 0;
  }
  EXPECT_THAT(backbone.notes.front(), HasSubstr(std::to_string(taken) + " tensors are those of the classifier"));
}

TEST(Backbone, OfMobileNetV3SaysWhatIsNarrowerInTheDetector) {
  const network::Network detector = zoo("ssdlite320_mobilenet_v3_large");
  const TensorMap classifier = network::initial_state(zoo("mobilenet_v3_large"), 5);
  const Backbone backbone = backbone_of_classifier(detector, classifier, "w", 2);
  EXPECT_EQ(backbone.state.at("backbone.features.0.0.0.weight"), classifier.at("features.0.0.weight"));
  EXPECT_EQ(backbone.state.at("backbone.features.0.4.block.2.fc1.weight"),
            classifier.at("features.4.block.2.fc1.weight"));
  ASSERT_EQ(backbone.notes.size(), 2U);
  EXPECT_THAT(backbone.notes[1], HasSubstr("have another shape than the detector's"));
}

TEST(Backbone, OfAnotherNetworkIsRefused) {
  const network::Network detector = zoo("ssdlite_mobilenet_v2");
  const TensorMap other = network::initial_state(zoo("mobilenet_v3_large"), 5);
  EXPECT_THAT(failure([&] { backbone_of_classifier(detector, other, "'w.pth'", 2); }),
              AllOf(HasSubstr("'w.pth'"), HasSubstr("it is no mobilenet_v2")));
}

class FoldedBackbone : public testing::Test {
 protected:
  /// What a file has of a MobileNetV2 with batch-norms that do something.
  static std::vector<weights::FoldedConvolution> folded_convolutions() {
    const network::Network network = zoo("mobilenet_v2");
    TensorMap state = network::initial_state(network, 7);
    for (auto& [name, tensor] : state) {
      const bool is_bias = name.ends_with(".bias");
      if (!name.starts_with("features.") || (!is_bias && !name.ends_with(".running_mean"))) continue;
      for (std::int64_t i = 0; i < element_count(tensor.shape); ++i) {
        tensor.floats()[i] = static_cast<float>(0.2 * std::sin(static_cast<double>(i) + (is_bias ? 0 : 1)));
      }
    }
    const network::NetworkWithState folded = network::fold_batch_norm(network, state);
    std::vector<weights::FoldedConvolution> convolutions;
    for (const network::Layer& layer : folded.network.layers()) {
      if (!std::holds_alternative<network::Conv2d>(layer.op)) continue;
      convolutions.push_back(
          {layer.name, folded.state.at(layer.name + ".weight"), folded.state.at(layer.name + ".bias")});
    }
    return convolutions;
  }
};

// With its first, made-up statistics and with those of images the network computes the same; only the second are fit
// for training.
TEST_F(FoldedBackbone, ComputesTheSameWithStatisticsOfImages) {
  if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
  const network::Network network = zoo("mobilenet_v2");
  TensorMap state = backbone_of_folded(network, folded_convolutions(), "f", 3).state;
  const TensorMap before = state;
  const data::ChannelStatistics half{{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}};
  const auto samples = data::random_samples(8, kInput, 1);
  estimate_norms(network, state, half, *samples, 2);

  const auto answer = [&](const TensorMap& weights) {
    const auto engine = engine::open_engine("torch");
    engine::RunnerOptions options;
    options.mean = half.mean;
    options.standard_deviation = half.standard_deviation;
    const auto runner = engine->make_runner(network, weights, options);
    std::vector<float> image(static_cast<std::size_t>(element_count(kInput)));
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i * 37 % 256);
    runner->start(std::span<const float>(image));
    return runner->wait();
  };
  EXPECT_LT(test::relative_distance(answer(state), answer(before)), 1e-4);
  const HostTensor& variance = state.at("features.1.conv.0.1.running_var");
  EXPECT_NE(variance, before.at("features.1.conv.0.1.running_var"));
  // A batch-norm that sees what it has seen here gives what it gave: its weight is the deviation.
  const HostTensor& weight = state.at("features.1.conv.0.1.weight");
  for (std::int64_t c = 0; c < element_count(weight.shape); ++c) {
    EXPECT_NEAR(weight.floats()[c], std::sqrt(variance.floats()[c] + 1e-5), 1e-4 * weight.floats()[c] + 1e-6);
  }
}

TEST_F(FoldedBackbone, SaysWhatDoesNotFit) {
  auto convolutions = folded_convolutions();
  EXPECT_THAT(failure([&] { backbone_of_folded(zoo("resnet18"), convolutions, "'f'", 3); }),
              HasSubstr("such as mobilenet_v2"));
  std::swap(convolutions[3], convolutions[4]);
  EXPECT_THAT(failure([&] { backbone_of_folded(zoo("ssdlite_mobilenet_v2"), convolutions, "'f'", 3); }),
              AllOf(HasSubstr("'f' does not fit"), HasSubstr("its convolution 4")));
  convolutions.resize(20);
  EXPECT_THAT(failure([&] { backbone_of_folded(zoo("mobilenet_v2"), convolutions, "'f'", 3); }),
              HasSubstr("has 20 convolutions"));
}

TEST_F(FoldedBackbone, RealModelsFit) {
  if (const std::string why = test::without_real_data({"mobilenet_v2"}); !why.empty()) GTEST_SKIP() << why;
  const std::filesystem::path folder = test::real_data("mobilenet_v2");
  for (const char* name : {"mobilenet_v2_1.0_224_quant.tflite", "tf2_mobilenet_v2_1.0_224_ptq.tflite"}) {
    const auto convolutions = weights::parse_tflite_convolutions(read_file(folder / name));
    const Backbone backbone = backbone_of_folded(zoo("ssdlite_mobilenet_v2"), convolutions, name, 3);
    EXPECT_EQ(backbone.state.at("backbone.features.18.0.weight"), convolutions[51].weight) << name;
  }
}

}  // namespace

}  // namespace evener::task
