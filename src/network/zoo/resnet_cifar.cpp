// The ResNets for CIFAR-10 (He et al., Deep Residual Learning for Image Recognition, 2015, section 4.2): three stages
// of 16, 32 and 64 channels, shortcuts without parameters. Names as PyTorch implementations of them have:
// "layer1.0.conv1", "linear". Any number of classes and channels, any size.
#include <charconv>
#include <string>

#include "network/zoo.h"

namespace evener::network {
namespace {

int add_block(Network& network, const std::string& prefix, int input, std::int64_t channels, std::int64_t stride) {
  network.add(prefix + "conv1", Conv2d{.out_channels = channels, .kernel = 3, .stride = stride, .padding = 1}, {input});
  network.add(prefix + "bn1", BatchNorm{});
  network.add(prefix + "relu1", Activation{});
  network.add(prefix + "conv2", Conv2d{.out_channels = channels, .kernel = 3, .padding = 1});
  const int residual = network.add(prefix + "bn2", BatchNorm{});
  int shortcut = input;
  if (stride != 1 || network.layers()[static_cast<std::size_t>(input)].shape[0] != channels) {
    shortcut = network.add(prefix + "shortcut", SubsamplePad{.out_channels = channels, .stride = stride}, {input});
  }
  network.add(prefix + "add", Add{}, {residual, shortcut});
  return network.add(prefix + "relu2", Activation{});
}

}  // namespace

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
      last = add_block(network, prefix, last, channels, stage > 1 && block == 0 ? 2 : 1);
    }
  }
  network.add("avgpool", GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("linear", Linear{.out_features = options.classes.value_or(10)});
  return network;
}

}  // namespace evener::network
