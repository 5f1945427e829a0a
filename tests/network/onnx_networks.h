// Small networks that have among them every layer of network.h, in the shapes in which ONNX says it differently.
// Header only, so that the tests of several rooms can use it.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "network/init.h"
#include "network/network.h"

namespace evener::test {

/// `op` on an input of this shape, after a layer that makes negative values of the input's.
inline network::Network network_of(const std::string& name, const network::Shape& input, const network::Op& op) {
  network::Network net(name, input);
  if (input.size() == 3) {
    net.add("first", network::Conv2d{.out_channels = input[0], .bias = true});
  } else {
    net.add("first", network::Linear{.out_features = input[0]});
  }
  net.add("second", op);
  return net;
}

/// Layers of one kind are outputs of one network, side by side, so that they are compiled together.
inline std::vector<network::Network> networks_of_each_layer() {
  using namespace network;
  const Shape image = {4, 9, 10}, vector = {7};
  std::vector<Network> nets;
  nets.push_back(network_of("of images", image, Activation{ActivationKind::kTanh}));
  nets.push_back(network_of("of vectors", vector, Activation{ActivationKind::kTanh}));
  const auto add = [&](const std::string& name, const Shape& input, const Op& op) {
    Network& net = nets[input == image ? 0 : 1];
    net.set_output(name, net.add(name, op, {1}));
  };
  add("linear", vector, Linear{.out_features = 5});
  add("linear without bias", vector, Linear{.out_features = 5, .bias = false});
  add("conv2d", image,
      Conv2d{.out_channels = 6, .kernel = {3, 5}, .stride = {2, 1}, .padding = {1, 2}, .groups = 2, .bias = true});
  add("depthwise", image, Conv2d{.out_channels = 4, .kernel = 3, .stride = 2, .padding = 1, .groups = 4});
  add("batch_norm", image, BatchNorm{.epsilon = 1e-3});
  add("batch_norm", vector, BatchNorm{});
  for (const ActivationKind kind :
       {ActivationKind::kRelu, ActivationKind::kRelu6, ActivationKind::kSigmoid, ActivationKind::kTanh,
        ActivationKind::kSilu, ActivationKind::kHardSwish, ActivationKind::kHardSigmoid}) {
    add(op_name(Activation{kind}), image, Activation{kind});
    add(op_name(Activation{kind}), vector, Activation{kind});
  }
  add("prelu", image, PRelu{});
  add("prelu", vector, PRelu{});
  add("scale", image, Scale{0.3});
  add("flatten", image, Flatten{});
  add("global_pool", image, GlobalAveragePool{});
  add("subsample_pad", image, SubsamplePad{.out_channels = 7, .stride = 2});
  add("subsample_pad of all", image, SubsamplePad{.out_channels = 4, .stride = 1});
  add("pad", image, Pad{.before = {1, 2}, .after = {0, 3}});
  add("rows", image, Rows{2});
  add("dropout", image, Dropout{});
  add("stochastic_depth", vector, StochasticDepth{});
  // Windows that come out even, leave pixels over, reach into the padding, and beyond it.
  struct Windows {
    Extent2d kernel, stride, padding;
  };
  for (const auto& [kernel, stride, padding] :
       {Windows{2, 2, 0}, Windows{3, 2, 1}, Windows{{2, 3}, {3, 2}, {1, 0}}, Windows{{3, 4}, {2, 4}, {1, 2}},
        Windows{{5, 3}, {4, 4}, {2, 1}}, Windows{2, {2, 3}, 1}}) {
    for (const bool ceil_mode : {false, true}) {
      const std::string window = std::to_string(kernel.height) + "x" + std::to_string(kernel.width) + "/" +
                                 std::to_string(stride.height) + "x" + std::to_string(stride.width) +
                                 (ceil_mode ? " rounded up" : "");
      add("max_pool " + window, image, MaxPool{kernel, stride, padding, ceil_mode});
      add("avg_pool " + window, image, AveragePool{kernel, stride, padding, ceil_mode, true});
      add("avg_pool of pixels " + window, image, AveragePool{kernel, stride, padding, ceil_mode, false});
    }
  }
  {
    Network& net = nets.emplace_back("branches", image);
    const int a = net.add("a", Conv2d{.out_channels = 4});
    const int b = net.add("b", Activation{ActivationKind::kTanh});
    const int two = net.add("two", Add{}, {a, b});
    const int three = net.add("three", Add{}, {a, two, b});
    const int product = net.add("product", Multiply{}, {a, three});
    const int factor = net.add("factor", GlobalAveragePool{});
    const int scaled = net.add("scaled", Multiply{}, {product, factor});
    const int scales = net.add("scales", Multiply{}, {factor, scaled});
    net.add("joined", Concat{}, {scaled, a, scales});
    const int vectors = net.add("flat", Flatten{});
    const int fewer = net.add("fewer", Linear{.out_features = 3});
    net.add("ends", Concat{}, {fewer, vectors});
  }
  {  // outputs that share a layer, are dropped from in training, have the input's or a layer's name, or are in the
     // middle
    Network& net = nets.emplace_back("outputs", image);
    const int a = net.add("output", Conv2d{.out_channels = 3});
    const int b = net.add("b", BatchNorm{});
    const int dropped = net.add("dropped", Dropout{}, {a});
    net.add("flatten", Flatten{});
    const int scores = net.add("scores", Linear{.out_features = 2});
    net.set_output("output", scores);
    net.set_output("input", dropped);
    net.set_output("the same", a);
    net.set_output("b.weight", b);
  }
  return nets;
}

/// First values, but statistics and factors as training leaves them: none is 0 or 1.
inline TensorMap trained_looking_state(const network::Network& network, std::uint64_t seed) {
  TensorMap state = network::initial_state(network, seed);
  for (auto& [name, tensor] : state) {
    const bool mean = name.ends_with(".running_mean"), bias = name.ends_with(".bias");
    const bool factor = name.ends_with(".running_var") || (tensor.shape.size() == 1 && name.ends_with(".weight"));
    if (tensor.dtype != DType::kF32 || !(mean || bias || factor)) continue;
    Random random(seed, Purpose::kSynthetic, hash_text(name));
    for (std::int64_t i = 0; i < element_count(tensor.shape); ++i) {
      tensor.floats()[i] = static_cast<float>(factor ? 0.5 + random.uniform() : 0.4 * random.uniform() - 0.2);
    }
  }
  return state;
}

}  // namespace evener::test
