// ResNet-18, -34 and -50 (He et al., Deep Residual Learning for Image Recognition, 2015) with torchvision's names and
// order, so that its weights load. Any number of classes and channels.
//
// The ResNets for CIFAR-10 (He et al., Deep Residual Learning for Image Recognition, 2015, section 4.2): three stages
// of 16, 32 and 64 channels, shortcuts without parameters. Names as PyTorch implementations of them have:
// "layer1.0.conv1", "linear". Any number of classes and channels, any size.
#include <array>
#include <charconv>
#include <string>

#include "network/zoo.h"

namespace evener::network {
namespace {

// The sum of `residual` and the block's input, for which a strided 1x1 convolution fits it where the shape changes.
int add_shortcut(Network& network, const std::string& prefix, int input, int residual, std::int64_t stride) {
  const std::int64_t channels = network.layers()[static_cast<std::size_t>(residual)].shape.front();
  int shortcut = input;
  if (stride != 1 || network.layers()[static_cast<std::size_t>(input)].shape.front() != channels) {
    network.add(prefix + "downsample.0", Conv2d{.out_channels = channels, .stride = stride}, {input});
    shortcut = network.add(prefix + "downsample.1", BatchNorm{});
  }
  return network.add(prefix + "add", Add{}, {residual, shortcut});
}

// Two 3x3 convolutions; returns the last layer.
int add_convolutions(Network& network, const std::string& prefix, int input, std::int64_t channels,
                     std::int64_t stride) {
  network.add(prefix + "conv1", Conv2d{.out_channels = channels, .kernel = 3, .stride = stride, .padding = 1}, {input});
  network.add(prefix + "bn1", BatchNorm{});
  network.add(prefix + "relu1", Activation{});
  network.add(prefix + "conv2", Conv2d{.out_channels = channels, .kernel = 3, .padding = 1});
  return network.add(prefix + "bn2", BatchNorm{});
}

// Two 3x3 convolutions around a shortcut.
int add_basic_block(Network& network, const std::string& prefix, int input, std::int64_t channels,
                    std::int64_t stride) {
  const int residual = add_convolutions(network, prefix, input, channels, stride);
  add_shortcut(network, prefix, input, residual, stride);
  return network.add(prefix + "relu2", Activation{});
}

// A 3x3 convolution of few channels between 1x1 convolutions from and to four times as many. The stride is the 3x3
// convolution's, as in torchvision, not the first's, as in the paper.
int add_bottleneck(Network& network, const std::string& prefix, int input, std::int64_t channels, std::int64_t stride) {
  network.add(prefix + "conv1", Conv2d{.out_channels = channels}, {input});
  network.add(prefix + "bn1", BatchNorm{});
  network.add(prefix + "relu1", Activation{});
  network.add(prefix + "conv2", Conv2d{.out_channels = channels, .kernel = 3, .stride = stride, .padding = 1});
  network.add(prefix + "bn2", BatchNorm{});
  network.add(prefix + "relu2", Activation{});
  network.add(prefix + "conv3", Conv2d{.out_channels = 4 * channels});
  const int residual = network.add(prefix + "bn3", BatchNorm{});
  add_shortcut(network, prefix, input, residual, stride);
  return network.add(prefix + "relu3", Activation{});
}

using AddBlock = int(Network&, const std::string& prefix, int input, std::int64_t channels, std::int64_t stride);

Network build_resnet(std::string_view name, AddBlock* add_block, const std::array<int, 4>& blocks,
                     const ModelOptions& options) {
  Network network(std::string(name), options.input.value_or(Shape{3, 224, 224}));
  network.add("conv1", Conv2d{.out_channels = 64, .kernel = 7, .stride = 2, .padding = 3});
  network.add("bn1", BatchNorm{});
  network.add("relu", Activation{});
  int last = network.add("maxpool", MaxPool{.kernel = 3, .stride = 2, .padding = 1});
  std::int64_t channels = 64;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage, channels *= 2) {
    for (int block = 0; block < blocks[stage]; ++block) {
      const std::string prefix = "layer" + std::to_string(stage + 1) + "." + std::to_string(block) + ".";
      last = add_block(network, prefix, last, channels, stage > 0 && block == 0 ? 2 : 1);
    }
  }
  network.add("avgpool", GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("fc", Linear{.out_features = options.classes.value_or(1000)});
  return network;
}

int add_small_block(Network& network, const std::string& prefix, int input, std::int64_t channels,
                    std::int64_t stride) {
  const int residual = add_convolutions(network, prefix, input, channels, stride);
  int shortcut = input;
  if (stride != 1 || network.layers()[static_cast<std::size_t>(input)].shape[0] != channels) {
    shortcut = network.add(prefix + "shortcut", SubsamplePad{.out_channels = channels, .stride = stride}, {input});
  }
  network.add(prefix + "add", Add{}, {residual, shortcut});
  return network.add(prefix + "relu2", Activation{});
}

}  // namespace

Network build_resnet18(std::string_view name, const ModelOptions& options) {
  return build_resnet(name, add_basic_block, {2, 2, 2, 2}, options);
}

Network build_resnet34(std::string_view name, const ModelOptions& options) {
  return build_resnet(name, add_basic_block, {3, 4, 6, 3}, options);
}

Network build_resnet50(std::string_view name, const ModelOptions& options) {
  return build_resnet(name, add_bottleneck, {3, 4, 6, 3}, options);
}

Network build_resnet_cifar(std::string_view name, const ModelOptions& options) {
  int depth = 0;  // the layers with weights: 6 in each row of blocks, the first convolution, the last linear
  const std::string_view digits = name.substr(name.find_first_of("0123456789"));
  std::from_chars(digits.data(), digits.data() + digits.size(), depth);
  const int blocks = (depth - 2) / 6;
  Network network(std::string(name), options.input.value_or(Shape{3, 32, 32}));
  network.add("conv1", Conv2d{.out_channels = 16, .kernel = 3, .padding = 1});
  network.add("bn1", BatchNorm{});
  int last = network.add("relu", Activation{});
  std::int64_t channels = 16;
  for (int stage = 1; stage <= 3; ++stage, channels *= 2) {
    for (int block = 0; block < blocks; ++block) {
      const std::string prefix = "layer" + std::to_string(stage) + "." + std::to_string(block) + ".";
      last = add_small_block(network, prefix, last, channels, stage > 1 && block == 0 ? 2 : 1);
    }
  }
  network.add("avgpool", GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("linear", Linear{.out_features = options.classes.value_or(10)});
  return network;
}

}  // namespace evener::network
