// Files of other programs as networks of ours: written by our ONNX writer, read by OpenVINO, and computed by LibTorch.
#include <gmock/gmock.h>

#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/module.h"
#include "base/random.h"
#include "base/test_folder.h"
#include "engine/batches_helpers.h"
#include "engine/engine.h"
#include "engine/graph_file.h"
#include "network/init.h"
#include "network/onnx_file.h"
#include "network/onnx_networks.h"
#include "network/passes/fold_batch_norm.h"
#include "network/passes/quantize.h"

namespace evener {
namespace {

using network::Network;
using network::Shape;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kBatch = 3;
const Shape kImage = {4, 9, 10};

class DescribeTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"torch", "openvino", "onnx"}) {
      if (module_status(name).state == ModuleState::kNotBuilt) GTEST_SKIP() << name << " is not built";
    }
  }

  static TensorMap answers(const char* engine, const Network& network, const TensorMap& state) {
    engine::RunnerOptions options;
    options.batch = kBatch;
    options.values = engine::ImageValues::kFloats;
    const auto runner = engine::open_engine(engine)->make_runner(network, state, options);
    std::vector<float> values(static_cast<std::size_t>(kBatch * element_count(network.input_shape())));
    Random random(7, Purpose::kSynthetic);
    for (float& value : values) value = static_cast<float>(random.normal());
    runner->start(std::span<const float>(values));
    return runner->wait();
  }

  engine::DescribedNetwork described(const Network& network, const TensorMap& state,
                                     const network::OnnxOptions& options = {}) const {
    const auto path = folder_ / "model.onnx";
    network::write_onnx(path, network, state, options);
    const auto engine = engine::open_engine("openvino");
    const auto file = engine->open_model_file(path);
    return file->describe({.shape = network.input_shape(), .is_image = network.input_shape().size() == 3});
  }

  void expect_same_answers(const Network& network) const {
    const TensorMap state = test::trained_looking_state(network, 3);
    const engine::DescribedNetwork found = described(network, state);
    EXPECT_FALSE(found.was_quantized);
    EXPECT_FALSE(found.pixels);
    const TensorMap expected = answers("torch", network, state), ours = answers("torch", found.network, found.state);
    ASSERT_EQ(ours.size(), expected.size()) << network.model();
    for (const auto& [name, tensor] : expected) {
      ASSERT_EQ(ours.at(name).shape, tensor.shape) << name;
      EXPECT_LT(test::relative_distance({{name, ours.at(name)}}, {{name, tensor}}), 1e-5) << name;
    }
  }

  std::string refusal(const Network& network) const {
    TensorMap state = test::trained_looking_state(network, 3);
    for (auto& [name, tensor] : state) {
      if (name.ends_with("scale")) std::fill_n(tensor.floats(), element_count(tensor.shape), 0.1F);
    }
    try {
      described(network, state);
    } catch (const Error& error) {
      return error.what();
    }
    return "it was described";
  }

  test::TestFolder folder_;
};

/// A layer that makes negative values of the input, and each of `layers` on those, as outputs side by side.
Network side_by_side(const Shape& input, const std::vector<std::pair<std::string, network::Op>>& layers) {
  Network net("side by side", input);
  if (input.size() == 3) {
    net.add("first", network::Conv2d{.out_channels = input[0], .bias = true});
  } else {
    net.add("first", network::Linear{.out_features = input[0]});
  }
  for (const auto& [name, op] : layers) net.set_output(name, net.add(name, op, {1}));
  return net;
}

TEST_F(DescribeTest, EachLayerComputesTheSame) {
  using namespace network;
  std::vector<std::pair<std::string, Op>> layers = {
      {"windows", Conv2d{.out_channels = 6, .kernel = {3, 5}, .stride = {2, 1}, .padding = {1, 2}, .groups = 2}},
      {"biased", Conv2d{.out_channels = 5, .kernel = 3, .bias = true}},
      {"depthwise", Conv2d{.out_channels = 4, .kernel = 3, .stride = 2, .padding = 1, .groups = 4, .bias = true}},
      {"norm", BatchNorm{.epsilon = 1e-3}},
      {"prelu", PRelu{}},
      {"scale", Scale{0.3}},
      {"flatten", Flatten{}},
      {"global", GlobalAveragePool{}},
      {"largest", MaxPool{.kernel = 3, .stride = 2, .padding = 1}},
      {"mean", AveragePool{.kernel = {2, 3}, .stride = 2, .padding = {0, 1}}},
      {"mean of pixels", AveragePool{.kernel = 3, .stride = 1, .padding = 1, .count_include_pad = false}},
      {"mean of all", AveragePool{.kernel = {9, 10}, .stride = 1}},
      {"pad", Pad{.before = {0, 2}, .after = {1, 3}}},
  };
  for (const ActivationKind kind :
       {ActivationKind::kRelu, ActivationKind::kRelu6, ActivationKind::kSigmoid, ActivationKind::kTanh,
        ActivationKind::kSilu, ActivationKind::kHardSwish, ActivationKind::kHardSigmoid}) {
    layers.emplace_back(op_name(Activation{kind}) + std::to_string(static_cast<int>(kind)), Activation{kind});
  }
  expect_same_answers(side_by_side(kImage, layers));
  expect_same_answers(side_by_side({7}, {{"linear", Linear{.out_features = 5}},
                                         {"without bias", Linear{.out_features = 5, .bias = false}},
                                         {"tanh", Activation{ActivationKind::kTanh}}}));
}

TEST_F(DescribeTest, WholeNetworksComputeTheSame) {
  const data::ImageShape shape{3, 16, 16};
  expect_same_answers(test::small_resnet(shape, 5));
  expect_same_answers(test::small_mobilenet(shape, 5));
  Network net("branches", kImage);
  const int a = net.add("a", network::Conv2d{.out_channels = 4});
  const int b = net.add("b", network::Activation{network::ActivationKind::kTanh});
  const int sum = net.add("sum", network::Add{}, {a, b});
  const int factor = net.add("factor", network::GlobalAveragePool{});
  const int scaled = net.add("scaled", network::Multiply{}, {factor, sum});
  net.add("joined", network::Concat{}, {scaled, a});
  net.add("flat", network::Flatten{});
  net.add("scores", network::Linear{.out_features = 3});
  expect_same_answers(net);
}

TEST_F(DescribeTest, TheFilesOwnNormalizationIsToldApart) {
  const Network network = test::network_of("net", kImage, network::Activation{});
  const TensorMap state = test::trained_looking_state(network, 3);
  const std::vector<float> scale = {0.5F, 2, 1, 0.25F}, shift = {-1, 0.5F, 0, 3};
  const engine::DescribedNetwork found = described(network, state, {.pixel_scale = scale, .pixel_shift = shift});
  ASSERT_TRUE(found.pixels);
  EXPECT_EQ(found.pixels->scale, scale);
  EXPECT_EQ(found.pixels->shift, shift);
  EXPECT_LT(test::relative_distance(answers("torch", found.network, found.state), answers("torch", network, state)),
            1e-5);
}

TEST_F(DescribeTest, WhatIsQuantizedAlreadyIsToldSo) {
  Network plain("net", kImage);
  plain.add("conv", network::Conv2d{.out_channels = 4, .bias = true});
  plain.add("relu", network::Activation{});
  plain.add("second", network::Conv2d{.out_channels = 2, .bias = true});
  const Network network = network::with_quantization(plain, network::choose_quantization(plain, 8, {}));
  EXPECT_THAT(refusal(network), HasSubstr("is quantised already"));
}

TEST_F(DescribeTest, LayersThatOursDontHaveAreNamed) {
  Network pooled("net", kImage);
  pooled.add("conv", network::Conv2d{.out_channels = 4});
  pooled.add("odd", network::MaxPool{.kernel = 2, .stride = 3, .ceil_mode = true});
  pooled.add("relu", network::Activation{});
  EXPECT_THAT(refusal(pooled), AllOf(HasSubstr("'odd'"), HasSubstr("MaxPool")));
  Network moved("net", kImage);
  moved.add("conv", network::Conv2d{.out_channels = 4});
  moved.add("shortcut", network::SubsamplePad{.out_channels = 6, .stride = 2});
  EXPECT_THAT(refusal(moved), AllOf(HasSubstr("shortcut"), HasSubstr("can be quantised")));
}

TEST_F(DescribeTest, WindowsWithUnequalBordersTakeAPadBefore) {
  test::GraphFile graph;
  const int input = graph.input("f32", "1,2,3,3");
  const int weights = graph.constant({1, 2, 3, 4, 5, 6, 7, 8}, "1,2,2,2");
  graph.output(graph.node("Convolution", "opset1",
                          R"(strides="1,1" dilations="1,1" pads_begin="0,1" pads_end="2,0" auto_pad="explicit")",
                          {input, weights}, "windows"));
  graph.write(folder_ / "model.xml");
  const auto engine = engine::open_engine("openvino");
  const auto file = engine->open_model_file(folder_ / "model.xml");
  const engine::DescribedNetwork found = file->describe({.shape = {2, 3, 3}});
  EXPECT_EQ(found.state.at("windows.weight").shape, (std::vector<std::int64_t>{1, 2, 2, 2}));
  engine::RunnerOptions options;
  options.values = engine::ImageValues::kFloats;
  options.standard_deviation.assign(2, 1.0F / 255);
  std::vector<float> values(18);
  std::iota(values.begin(), values.end(), 1.0F);
  const auto answered = [&](engine::Runner& runner) {
    runner.start(std::span<const float>(values));
    return runner.wait();
  };
  const auto theirs = std::move(file->make_runners({.shape = {2, 3, 3}}, options, 1).front());
  const auto ours = engine::open_engine("torch")->make_runner(found.network, found.state, options);
  EXPECT_LT(test::relative_distance(answered(*ours), answered(*theirs)), 1e-5);
}

TEST_F(DescribeTest, WindowsWithGapsAreRefused) {
  // Of 5 pixels in steps of 2, windows of two that touch and of two with a gap are as many.
  const std::string window = R"(kernel="2,2" strides="2,2" pads_begin="0,0" pads_end="0,0" rounding_type="floor" )";
  for (const auto& [kind, opset, more] : {std::tuple{"MaxPool", "opset8", R"(index_element_type="i64" axis="0" )"},
                                          std::tuple{"MaxPool", "opset14", R"(index_element_type="i64" axis="0" )"},
                                          std::tuple{"AvgPool", "opset16", R"(exclude-pad="false" )"}}) {
    for (const char* dilations : {"1,1", "1,2"}) {
      test::GraphFile graph;
      const int input = graph.input("f32", "1,2,5,5");
      graph.output(graph.node(kind, opset, window + more + "dilations=\"" + dilations + "\"", {input}, "pool"));
      graph.write(folder_ / "model.xml");
      const auto engine = engine::open_engine("openvino");
      const auto file = engine->open_model_file(folder_ / "model.xml");
      if (dilations == std::string("1,1")) {
        EXPECT_EQ(file->describe({.shape = {2, 5, 5}}).network.layers().size(), 2U) << kind << " of " << opset;
      } else {
        EXPECT_THROW(file->describe({.shape = {2, 5, 5}}), Error) << kind << " of " << opset;
      }
    }
  }
}

TEST_F(DescribeTest, EnginesPutZerosWhereAPadSays) {
  Network net("pad", {1, 2, 2});
  net.add("pad", network::Pad{.before = {1, 0}, .after = {0, 2}});
  engine::RunnerOptions options;
  options.values = engine::ImageValues::kFloats;
  const std::vector<float> values = {255, 510, 765, 1020};  // which are divided by 255
  for (const char* engine : {"torch", "openvino"}) {
    const auto runner = engine::open_engine(engine)->make_runner(net, {}, options);
    runner->start(std::span<const float>(values));
    const HostTensor found = runner->wait().begin()->second;
    EXPECT_EQ(found.shape, (std::vector<std::int64_t>{1, 1, 3, 4})) << engine;
    EXPECT_THAT(std::vector<float>(found.floats(), found.floats() + 12),
                testing::Pointwise(testing::FloatEq(), {0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0}))
        << engine;
  }
}

}  // namespace
}  // namespace evener
