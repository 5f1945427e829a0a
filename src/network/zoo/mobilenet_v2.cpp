// MobileNetV2 (Sandler et al., Inverted Residuals and Linear Bottlenecks, 2018), width 1.0, with torchvision's names
// and order, so that its weights load. Any number of classes and channels.
#include <string>
#include <utility>

#include "network/zoo.h"
#include "network/zoo/blocks.h"
#include "network/zoo/mobilenets.h"

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

}  // namespace evener::network
