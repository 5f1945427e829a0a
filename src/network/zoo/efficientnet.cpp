// EfficientNet-B0 (Tan and Le, EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks, 2019) with
// torchvision's names and order, so that its weights load, and its stochastic depth. Any number of classes and
// channels.
#include <algorithm>
#include <string>

#include "network/zoo.h"
#include "network/zoo/blocks.h"

namespace evener::network {
namespace {

struct Stage {
  std::int64_t expansion, kernel;
  std::int64_t stride;  // of the first block
  std::int64_t channels;
  int blocks;
};

constexpr Stage kStages[] = {
    {1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2},  {6, 3, 2, 80, 3},
    {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1},
};
constexpr int kBlocks = 16;  // of all stages
constexpr double kDepthDropped =
    0.2;  // how likely a block after the last would be dropped; before that it rises evenly
const ConvolutionStyle kStyle{.activation = ActivationKind::kSilu};

// Widen by a 1x1 convolution, filter each channel alone, scale the channels, narrow by a 1x1 convolution without an
// activation; where both ends have one shape they are joined, and the branch may be dropped in training.
void add_block(Network& network, const std::string& prefix, const Stage& stage, std::int64_t stride, int index) {
  const int input = static_cast<int>(network.layers().size()) - 1;
  const std::int64_t narrow = network.layers().back().shape.front();
  const std::int64_t wide = narrow * stage.expansion;
  int part = 0;
  const auto next = [&] { return prefix + "block." + std::to_string(part++) + "."; };
  if (wide != narrow) add_convolution(network, next(), Conv2d{.out_channels = wide}, kStyle);
  const Conv2d depthwise{
      .out_channels = wide, .kernel = stage.kernel, .stride = stride, .padding = stage.kernel / 2, .groups = wide};
  add_convolution(network, next(), depthwise, kStyle);
  const std::int64_t squeezed = std::max<std::int64_t>(1, narrow / 4);
  add_squeeze_excitation(network, next(), squeezed, ActivationKind::kSilu, ActivationKind::kSigmoid);
  add_convolution(network, next(), Conv2d{.out_channels = stage.channels}, {});
  if (stride != 1 || narrow != stage.channels) return;
  const int branch = network.add(prefix + "drop", StochasticDepth{kDepthDropped * index / kBlocks});
  network.add(prefix + "add", Add{}, {branch, input});
}

}  // namespace

Network build_efficientnet_b0(std::string_view name, const ModelOptions& options) {
  Network network(std::string(name), options.input.value_or(Shape{3, 224, 224}));
  const Conv2d first{.out_channels = 32, .kernel = 3, .stride = 2, .padding = 1};
  add_convolution(network, "features.0.", first, kStyle);
  int feature = 1, index = 0;
  for (const Stage& stage : kStages) {
    const std::string prefix = "features." + std::to_string(feature++) + ".";
    for (int block = 0; block < stage.blocks; ++block) {
      add_block(network, prefix + std::to_string(block) + ".", stage, block == 0 ? stage.stride : 1, index++);
    }
  }
  add_convolution(network, "features.8.", Conv2d{.out_channels = 1280}, kStyle);
  network.add("avgpool", GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("classifier.0", Dropout{0.2});
  network.add("classifier.1", Linear{.out_features = options.classes.value_or(1000)});
  return network;
}

}  // namespace evener::network
