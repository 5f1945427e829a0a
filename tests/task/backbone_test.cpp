// A detector's convolutional part from a classifier, and from convolutions that batch-norms were folded into.
#include "task/training/backbone.h"

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

namespace evener::task {
namespace {

using testing::HasSubstr;

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
