// MobileFaceNet (Chen et al., MobileFaceNets: Efficient CNNs for Accurate Real-Time Face Verification on Mobile
// Devices, 2018), with the names of the PyTorch implementation whose weights are in use (Xiaoccer's): an aligned face
// of 96 x 112 pixels, values from -1 to 1, becomes 128 numbers. Other sizes get a last window of their own.
#include <string>

#include "network/zoo.h"

namespace evener::network {
namespace {

struct Stage {
  std::int64_t expansion, channels;
  int blocks;
  std::int64_t stride;  // of the first block
};

constexpr Stage kStages[] = {{2, 64, 5, 2}, {4, 128, 1, 2}, {2, 128, 6, 1}, {4, 128, 1, 2}, {2, 128, 2, 1}};

/// A convolution, normalised, with a PReLU unless it is linear: PREFIX.conv, .bn, .prelu.
int add_block(Network& network, const std::string& prefix, const Conv2d& convolution, bool linear = false) {
  network.add(prefix + ".conv", convolution);
  const int normalized = network.add(prefix + ".bn", BatchNorm{});
  return linear ? normalized : network.add(prefix + ".prelu", PRelu{});
}

int add_bottleneck(Network& network, const std::string& prefix, int input, const Stage& stage, std::int64_t stride) {
  const std::int64_t narrow = network.layers()[static_cast<std::size_t>(input)].shape[0];
  const std::int64_t wide = narrow * stage.expansion;
  const auto part = [&](int number) { return prefix + ".conv." + std::to_string(number); };
  network.add(part(0), Conv2d{.out_channels = wide}, {input});
  network.add(part(1), BatchNorm{});
  network.add(part(2), PRelu{});
  network.add(part(3), Conv2d{.out_channels = wide, .kernel = 3, .stride = stride, .padding = 1, .groups = wide});
  network.add(part(4), BatchNorm{});
  network.add(part(5), PRelu{});
  network.add(part(6), Conv2d{.out_channels = stage.channels});
  const int output = network.add(part(7), BatchNorm{});
  if (stride != 1 || narrow != stage.channels) return output;
  return network.add(prefix + ".add", Add{}, {input, output});
}

}  // namespace

Network build_mobilefacenet(std::string_view name, const ModelOptions& options) {
  Network network(std::string(name), options.input.value_or(Shape{3, 112, 96}));
  add_block(network, "conv1", Conv2d{.out_channels = 64, .kernel = 3, .stride = 2, .padding = 1});
  int last = add_block(network, "dw_conv1", Conv2d{.out_channels = 64, .kernel = 3, .padding = 1, .groups = 64});
  int number = 0;
  for (const Stage& stage : kStages) {
    for (int block = 0; block < stage.blocks; ++block) {
      const std::string prefix = "blocks." + std::to_string(number++);
      last = add_bottleneck(network, prefix, last, stage, block == 0 ? stage.stride : 1);
    }
  }
  add_block(network, "conv2", Conv2d{.out_channels = 512});
  // One weight for each place and channel: what lies where in a face matters.
  const Shape& whole = network.layers().back().shape;
  const Extent2d window{whole[1], whole[2]};
  add_block(network, "linear7", Conv2d{.out_channels = 512, .kernel = window, .groups = 512}, /*linear=*/true);
  add_block(network, "linear1", Conv2d{.out_channels = options.classes.value_or(128)}, /*linear=*/true);
  network.add("flatten", Flatten{});
  return network;
}

}  // namespace evener::network
