// ONNX files give what the network gives: read and computed by OpenVINO, against LibTorch on the network.
#include <gmock/gmock.h>

#include "base/module.h"
#include "base/test_folder.h"
#include "engine/batches_helpers.h"
#include "engine/engine.h"
#include "engine/trainer_options.h"
#include "network/onnx_file.h"
#include "network/onnx_networks.h"
#include "network/passes/quantize.h"
#include "network/zoo.h"

namespace evener {
namespace {

using network::Network;

constexpr std::int64_t kImages = 3;
const std::vector<float> kMean = {0.4F, 0.5F, 0.6F, 0.3F}, kDeviation = {0.2F, 0.25F, 0.3F, 0.4F};

class OnnxAnswers : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"torch", "openvino", "onnx"}) {
      if (module_status(name).state == ModuleState::kNotBuilt) GTEST_SKIP() << name << " is not built";
    }
    torch_ = engine::open_engine("torch");
    openvino_ = engine::open_engine("openvino");
  }

  TensorMap of_network(const Network& network, const TensorMap& state, std::int64_t batch) const {
    engine::RunnerOptions options = options_for(batch);
    if (network.input_shape().size() == 3) set_normalization(options);
    return answers(*torch_->make_runner(network, state, options), network, batch);
  }

  TensorMap of_file(const Network& network, std::int64_t batch, bool normalized_inside) const {
    engine::RunnerOptions options = options_for(batch);
    const bool images = network.input_shape().size() == 3;
    if (images && !normalized_inside) set_normalization(options);
    if (normalized_inside) options.standard_deviation.assign(kMean.size(), 1.0F / 255);
    const engine::ModelInput input{.shape = network.input_shape(), .is_image = images};
    const auto file = openvino_->open_model_file(path_);
    return answers(*file->make_runners(input, options, 1).front(), network, batch);
  }

  void expect_same(const Network& network, double within) const {
    const TensorMap state = test::trained_looking_state(network, 3);
    network::write_onnx(path_, network, state);
    const TensorMap expected = of_network(network, state, kImages), found = of_file(network, kImages, false);
    ASSERT_EQ(found.size(), expected.size()) << network.model();
    for (const auto& [name, tensor] : expected) {
      ASSERT_EQ(found.at(name).shape, tensor.shape) << network.model() << ": " << name;
      EXPECT_LT(test::relative_distance({{name, found.at(name)}}, {{name, tensor}}), within) << name;
    }
  }

  test::TestFolder folder_;
  std::filesystem::path path_ = folder_ / "model.onnx";

 private:
  static engine::RunnerOptions options_for(std::int64_t batch) {
    engine::RunnerOptions options;
    options.batch = batch;
    options.values = engine::ImageValues::kFloats;
    return options;
  }
  static void set_normalization(engine::RunnerOptions& options) {
    options.mean = kMean;
    options.standard_deviation = kDeviation;
  }
  static TensorMap answers(engine::Runner& runner, const Network& network, std::int64_t batch) {
    std::vector<float> values(static_cast<std::size_t>(batch * element_count(network.input_shape())));
    const bool images = network.input_shape().size() == 3;
    Random random(7, Purpose::kSynthetic);
    for (float& value : values) {
      value = images ? static_cast<float>(random.below(256)) : static_cast<float>(random.normal());
    }
    runner.start(std::span<const float>(values));
    return runner.wait();
  }

  std::unique_ptr<engine::Engine> torch_, openvino_;
};

TEST_F(OnnxAnswers, OfEveryKindOfLayer) {
  for (const Network& network : test::networks_of_each_layer()) expect_same(network, 1e-5);
}

TEST_F(OnnxAnswers, OfTheZoo) {
  expect_same(network::build("mobilenet_v3_large", {network::Shape{3, 64, 48}, 10}), 1e-4);
  expect_same(network::build("resnet20", {}), 1e-4);
  expect_same(network::build("mlp:784-30-10:sigmoid", {}), 1e-5);
}

TEST_F(OnnxAnswers, OfDetectors) {
  for (const char* name : {"ssdlite320_mobilenet_v3_large", "ssdlite_mobilenet_v2"}) {
    const Network network = network::build(name, {network::Shape{3, 160, 128}, 3});
    ASSERT_EQ(network.outputs().size(), 2U) << "boxes and scores";
    expect_same(network, 1e-4);
  }
}

TEST_F(OnnxAnswers, WhereScalesWereLearntToBeNothing) {
  Network plain = test::network_of("net", {4, 9, 10}, network::Activation{});
  plain.add("last", network::Conv2d{.out_channels = 3, .bias = true});
  const Network network = network::with_quantization(plain, network::choose_quantization(plain, 8, {}));
  TensorMap state = test::trained_looking_state(network, 3);
  for (auto& [name, tensor] : state) {
    if (name.ends_with("scale")) std::fill_n(tensor.floats(), element_count(tensor.shape), 0.02F);
  }
  state.at("second.quantized.scale").floats()[0] = 0;
  state.at("first.weight_scale").floats()[1] = -1;
  network::write_onnx(path_, network, state);
  EXPECT_LT(test::relative_distance(of_file(network, kImages, false), of_network(network, state, kImages)), 1e-4);
}

TEST_F(OnnxAnswers, ToPixelsThatTheFileNormalizes) {
  const Network network = test::network_of("net", {4, 9, 10}, network::Activation{network::ActivationKind::kTanh});
  const TensorMap state = test::trained_looking_state(network, 3);
  const auto pixels = engine::make_pixel_scale(kMean, kDeviation, 4);
  network::write_onnx(path_, network, state, {.pixel_scale = pixels.scale, .pixel_shift = pixels.shift});
  EXPECT_LT(test::relative_distance(of_file(network, 2, true), of_network(network, state, 2)), 1e-5);
}

TEST_F(OnnxAnswers, AreNamedAndDescribedAsWritten) {
  const Network network = test::network_of("net", {4, 9, 10}, network::Activation{});
  network::write_onnx(path_, network, network::initial_state(network, 1), {.metadata = {{"classes", R"(["a","b"])"}}});
  const auto file = engine::open_engine("openvino")->open_model_file(path_);
  ASSERT_EQ(file->inputs().size(), 1u);
  EXPECT_EQ(file->inputs()[0].name, "input");
  EXPECT_EQ(file->inputs()[0].shape, (std::vector<std::int64_t>{-1, 4, 9, 10}));
  ASSERT_EQ(file->outputs().size(), 1u);
  EXPECT_EQ(file->outputs()[0].name, "output");
  EXPECT_EQ(file->metadata().at("classes"), R"(["a","b"])");
}

}  // namespace
}  // namespace evener
