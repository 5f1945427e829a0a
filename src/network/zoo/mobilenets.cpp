// MobileNetV2 (Sandler et al., Inverted Residuals and Linear Bottlenecks, 2018), width 1.0, with torchvision's names
// and order, so that its weights load. Any number of classes and channels.
//
// MobileNetV3-Large (Howard et al., Searching for MobileNetV3, 2019), width 1.0, with torchvision's names and order, so
// that its weights load. Any number of classes and channels.
#include "network/zoo/mobilenets.h"

#include <algorithm>
#include <string>
#include <utility>

#include "network/zoo.h"
#include "network/zoo/blocks.h"

namespace evener::network {
namespace {

struct Stage {
  std::int64_t expansion, channels;
  int blocks;
  std::int64_t stride;  // of the first block
};

constexpr Stage kStages[] = {
    {1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1},
};

const ConvolutionStyle kStyle{.activation = ActivationKind::kRelu6};

// Widen by a 1x1 convolution, filter each channel alone, narrow by a 1x1 convolution without an activation; the
// narrow ends are joined where they have one shape. `last` is the layer before, and afterwards the block's last one;
// returns the widened image.
int add_inverted_residual(Network& network, const std::string& prefix, int& last, const Stage& stage,
                          std::int64_t stride) {
  const int input = last;
  const std::int64_t narrow = network.layers()[static_cast<std::size_t>(input)].shape[0];
  const std::int64_t wide = narrow * stage.expansion;
  int part = 0;
  const auto next = [&] { return prefix + std::to_string(part++); };
  int widened = input;
  if (stage.expansion != 1) widened = add_convolution(network, next() + ".", Conv2d{.out_channels = wide}, kStyle);
  const Conv2d depthwise{.out_channels = wide, .kernel = 3, .stride = stride, .padding = 1, .groups = wide};
  add_convolution(network, next() + ".", depthwise, kStyle);
  network.add(next(), Conv2d{.out_channels = stage.channels});
  last = network.add(next(), BatchNorm{});
  if (stride == 1 && narrow == stage.channels) last = network.add(prefix + "add", Add{}, {last, input});
  return widened;
}

constexpr ActivationKind kRelu = ActivationKind::kRelu, kHardSwish = ActivationKind::kHardSwish;

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
// activation; the narrow ends are joined where they have one shape. Returns the widened image.
int add_block(Network& network, int feature, const Block& block, const MobileNetV3Style& variant) {
  const int input = static_cast<int>(network.layers().size()) - 1;
  const std::int64_t narrow = network.layers().back().shape.front();
  const ConvolutionStyle style{variant.normalization, block.activation};
  const double deviation = variant.first_deviation;
  int part = 0, widened = input;
  const auto next = [&] { return variant.name(feature, part++); };
  if (block.wide != narrow) {
    widened = add_convolution(network, next(), Conv2d{.out_channels = block.wide, .first_deviation = deviation}, style);
  }
  const Conv2d depthwise{.out_channels = block.wide,
                         .kernel = block.kernel,
                         .stride = block.stride,
                         .padding = block.kernel / 2,
                         .groups = block.wide,
                         .first_deviation = deviation};
  add_convolution(network, next(), depthwise, style);
  if (block.squeezes) {
    add_squeeze_excitation(network, next(), multiple_of_8(block.wide / 4), kRelu, ActivationKind::kHardSigmoid,
                           deviation);
  }
  const Conv2d narrowing{.out_channels = block.channels, .first_deviation = deviation};
  const int output = add_convolution(network, next(), narrowing, {variant.normalization, {}});
  if (block.stride == 1 && narrow == block.channels) {
    network.add(variant.name(feature, part) + "add", Add{}, {output, input});
  }
  return widened;
}

std::string classifier_name(int feature, int part) {
  const std::string name = "features." + std::to_string(feature) + ".";
  return part < 0 ? name : name + "block." + std::to_string(part) + ".";
}

}  // namespace

Taps add_mobilenet_v2_features(Network& network, const std::string& prefix) {
  Taps taps;
  const Conv2d first{.out_channels = 32, .kernel = 3, .stride = 2, .padding = 1};
  int last = add_convolution(network, prefix + "features.0.", first, kStyle);
  int feature = 1;
  for (const Stage& stage : kStages) {
    for (int block = 0; block < stage.blocks; ++block) {
      const std::string name = prefix + "features." + std::to_string(feature++) + ".conv.";
      const std::int64_t stride = block == 0 ? stage.stride : 1;
      const int widened = add_inverted_residual(network, name, last, stage, stride);
      if (stride != 1) taps.earlier_expansion = std::exchange(taps.expansion, widened);
    }
  }
  taps.last = add_convolution(network, prefix + "features.18.", Conv2d{.out_channels = 1280}, kStyle);
  return taps;
}

Network build_mobilenet_v2(std::string_view name, const ModelOptions& options) {
  Network network(std::string(name), options.input.value_or(Shape{3, 224, 224}));
  add_mobilenet_v2_features(network, "");
  network.add("avgpool", GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("classifier.0", Dropout{0.2});
  network.add("classifier.1", Linear{.out_features = options.classes.value_or(1000)});
  return network;
}

Taps add_mobilenet_v3_large_features(Network& network, const MobileNetV3Style& style) {
  Taps taps;
  const ConvolutionStyle outer{style.normalization, kHardSwish};
  const Conv2d first{
      .out_channels = 16, .kernel = 3, .stride = 2, .padding = 1, .first_deviation = style.first_deviation};
  add_convolution(network, style.name(0, -1), first, outer);
  int feature = 1;
  for (Block block : kBlocks) {
    if (feature >= kMobileNetV3LastStride) block.channels /= style.tail_divisor;
    if (feature > kMobileNetV3LastStride) block.wide /= style.tail_divisor;
    const int widened = add_block(network, feature, block, style);
    if (block.stride != 1) taps.expansion = widened;
    ++feature;
  }
  const Conv2d last{.out_channels = 960 / style.tail_divisor, .first_deviation = style.first_deviation};
  taps.last = add_convolution(network, style.name(feature, -1), last, outer);
  return taps;
}

Network build_mobilenet_v3_large(std::string_view name, const ModelOptions& options) {
  Network network(std::string(name), options.input.value_or(Shape{3, 224, 224}));
  add_mobilenet_v3_large_features(network, {.name = classifier_name});
  network.add("avgpool", GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("classifier.0", Linear{.out_features = 1280});
  network.add("classifier.1", Activation{kHardSwish});
  network.add("classifier.2", Dropout{0.2});
  network.add("classifier.3", Linear{.out_features = options.classes.value_or(1000)});
  return network;
}

}  // namespace evener::network
