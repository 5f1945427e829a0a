// MobileNetV3-Large (Howard et al., Searching for MobileNetV3, 2019), width 1.0, with torchvision's names and order, so
// that its weights load. Any number of classes and channels.
#include <algorithm>
#include <string>

#include "network/zoo.h"
#include "network/zoo/blocks.h"

namespace evener::network {
namespace {

constexpr ActivationKind kRelu = ActivationKind::kRelu, kHardSwish = ActivationKind::kHardSwish;
constexpr BatchNorm kNormalization{.epsilon = 1e-3, .momentum = 0.01};

struct Block {
  std::int64_t kernel, wide, channels;
  bool squeezes;
  ActivationKind activation;
  std::int64_t stride;
};

constexpr Block kBlocks[] = {
    {3, 16, 16, false, kRelu, 1},       {3, 64, 24, false, kRelu, 2},       {3, 72, 24, false, kRelu, 1},
    {5, 72, 40, true, kRelu, 2},        {5, 120, 40, true, kRelu, 1},       {5, 120, 40, true, kRelu, 1},
    {3, 240, 80, false, kHardSwish, 2}, {3, 200, 80, false, kHardSwish, 1}, {3, 184, 80, false, kHardSwish, 1},
    {3, 184, 80, false, kHardSwish, 1}, {3, 480, 112, true, kHardSwish, 1}, {3, 672, 112, true, kHardSwish, 1},
    {5, 672, 160, true, kHardSwish, 2}, {5, 960, 160, true, kHardSwish, 1}, {5, 960, 160, true, kHardSwish, 1},
};

// The nearest multiple of 8, at least 8 and not less than nine tenths of `channels`.
std::int64_t multiple_of_8(std::int64_t channels) {
  const std::int64_t nearest = std::max<std::int64_t>(8, (channels + 4) / 8 * 8);
  return 10 * nearest < 9 * channels ? nearest + 8 : nearest;
}

// Widen by a 1x1 convolution, filter each channel alone, scale the channels, narrow by a 1x1 convolution without an
// activation; the narrow ends are joined where they have one shape.
void add_block(Network& network, const std::string& prefix, const Block& block) {
  const int input = static_cast<int>(network.layers().size()) - 1;
  const std::int64_t narrow = network.layers().back().shape.front();
  const ConvolutionStyle style{kNormalization, block.activation};
  int part = 0;
  const auto next = [&] { return prefix + "block." + std::to_string(part++) + "."; };
  if (block.wide != narrow) add_convolution(network, next(), Conv2d{.out_channels = block.wide}, style);
  const Conv2d depthwise{.out_channels = block.wide,
                         .kernel = block.kernel,
                         .stride = block.stride,
                         .padding = block.kernel / 2,
                         .groups = block.wide};
  add_convolution(network, next(), depthwise, style);
  if (block.squeezes) {
    add_squeeze_excitation(network, next(), multiple_of_8(block.wide / 4), kRelu, ActivationKind::kHardSigmoid);
  }
  const int output = add_convolution(network, next(), Conv2d{.out_channels = block.channels}, {kNormalization, {}});
  if (block.stride != 1 || narrow != block.channels) return;
  network.add(prefix + "add", Add{}, {output, input});
}

}  // namespace

Network build_mobilenet_v3_large(std::string_view name, const ModelOptions& options) {
  Network network(std::string(name), options.input.value_or(Shape{3, 224, 224}));
  const ConvolutionStyle style{kNormalization, kHardSwish};
  const Conv2d first{.out_channels = 16, .kernel = 3, .stride = 2, .padding = 1};
  add_convolution(network, "features.0.", first, style);
  int feature = 1;
  for (const Block& block : kBlocks) add_block(network, "features." + std::to_string(feature++) + ".", block);
  add_convolution(network, "features.16.", Conv2d{.out_channels = 960}, style);
  network.add("avgpool", GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("classifier.0", Linear{.out_features = 1280});
  network.add("classifier.1", Activation{kHardSwish});
  network.add("classifier.2", Dropout{0.2});
  network.add("classifier.3", Linear{.out_features = options.classes.value_or(1000)});
  return network;
}

}  // namespace evener::network
