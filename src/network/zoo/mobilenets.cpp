// Networks of inverted residuals, with torchvision's names and order where it has the network, so that its weights
// load. Any number of classes and channels.
//
// MobileNetV2 (Sandler et al., Inverted Residuals and Linear Bottlenecks, 2018), width 1.0.
//
// MobileNetV3-Large (Howard et al., Searching for MobileNetV3, 2019), width 1.0.
//
// EfficientNet-B0 (Tan and Le, EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks, 2019), with
// torchvision's stochastic depth.
//
// Detectors (SSD: Liu et al. 2016, with SSDLite's separable convolutions: Sandler et al. 2018) on MobileNets. Feature
// maps shrink with the image; one that has become a single cell stays one, so that the parameters are the same for
// every size, and weights of one size run at another.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "network/anchors.h"
#include "network/zoo.h"

namespace evener::network {
namespace {

/// Normalisation and activation that a model puts behind its convolutions.
struct ConvolutionStyle {
  BatchNorm normalization = {};
  std::optional<ActivationKind> activation = {};  // absent: none
};

/// A convolution of the layer before, normalised, with an activation: layers PREFIX0, PREFIX1 and, if any, PREFIX2, as
/// torchvision's Conv2dNormActivation numbers them. Returns the last layer.
int add_convolution(Network& network, const std::string& prefix, const Conv2d& convolution,
                    const ConvolutionStyle& style) {
  network.add(prefix + "0", convolution);
  const int normalized = network.add(prefix + "1", style.normalization);
  return style.activation ? network.add(prefix + "2", Activation{*style.activation}) : normalized;
}

/// Multiplies each channel of the layer before by a factor that two 1x1 convolutions, PREFIXfc1 to `squeezed` channels
/// and PREFIXfc2 back, compute from the means of all channels (Hu et al., Squeeze-and-Excitation Networks, 2018).
/// `first_deviation`: as Conv2d's. Returns the last layer.
int add_squeeze_excitation(Network& network, const std::string& prefix, std::int64_t squeezed,
                           ActivationKind activation, ActivationKind scale_activation, double first_deviation = 0) {
  const int image = static_cast<int>(network.layers().size()) - 1;
  const std::int64_t channels = network.layers().back().shape.front();
  network.add(prefix + "pool", GlobalAveragePool{});
  network.add(prefix + "fc1", Conv2d{.out_channels = squeezed, .bias = true, .first_deviation = first_deviation});
  network.add(prefix + "act1", Activation{activation});
  network.add(prefix + "fc2", Conv2d{.out_channels = channels, .bias = true, .first_deviation = first_deviation});
  const int factors = network.add(prefix + "act2", Activation{scale_activation});
  return network.add(prefix + "scale", Multiply{}, {image, factors});
}

const Shape& shape_of(const Network& network, int layer) {
  return network.layers()[static_cast<std::size_t>(layer)].shape;
}

/// What stands behind the features of MobileNetV2 and EfficientNet-B0.
Network with_classifier(Network network, const ModelOptions& options) {
  network.add("avgpool", GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("classifier.0", Dropout{0.2});
  network.add("classifier.1", Linear{.out_features = options.classes.value_or(1000)});
  return network;
}

Network for_images(std::string_view name, const ModelOptions& options, std::int64_t side) {
  return Network(std::string(name), options.input.value_or(Shape{3, side, side}));
}

// A stage of MobileNetV2 or EfficientNet-B0.
struct Stage {
  std::int64_t expansion, kernel;
  std::int64_t stride;  // of the first block
  std::int64_t channels;
  int blocks;
};

/// Layers whose feature maps a detector reads.
struct Taps {
  int earlier_expansion = 0;  // of the last block but one with a stride: an eighth of the image's sides
  int expansion = 0;          // of the last block with a stride: a sixteenth of them
  int last = 0;               // a thirty-second of them
};

constexpr Stage kMobileNetV2Stages[] = {
    {1, 3, 1, 16, 1}, {6, 3, 2, 24, 2},  {6, 3, 2, 32, 3},  {6, 3, 2, 64, 4},
    {6, 3, 1, 96, 3}, {6, 3, 2, 160, 3}, {6, 3, 1, 320, 1},
};

const ConvolutionStyle kMobileNetV2Style{.activation = ActivationKind::kRelu6};

// Widen by a 1x1 convolution, filter each channel alone, narrow by a 1x1 convolution without an activation; the
// narrow ends are joined where they have one shape. `last` is the layer before, and afterwards the block's last one;
// returns the widened image.
int add_inverted_residual(Network& network, const std::string& prefix, int& last, const Stage& stage,
                          std::int64_t stride) {
  const int input = last;
  const std::int64_t narrow = shape_of(network, input).front();
  const std::int64_t wide = narrow * stage.expansion;
  int part = 0;
  const auto next = [&] { return prefix + std::to_string(part++); };
  int widened = input;
  if (stage.expansion != 1)
    widened = add_convolution(network, next() + ".", Conv2d{.out_channels = wide}, kMobileNetV2Style);
  const Conv2d depthwise{.out_channels = wide, .kernel = 3, .stride = stride, .padding = 1, .groups = wide};
  add_convolution(network, next() + ".", depthwise, kMobileNetV2Style);
  network.add(next(), Conv2d{.out_channels = stage.channels});
  last = network.add(next(), BatchNorm{});
  if (stride == 1 && narrow == stage.channels) last = network.add(prefix + "add", Add{}, {last, input});
  return widened;
}

Taps add_mobilenet_v2_features(Network& network, const std::string& prefix) {
  Taps taps;
  const Conv2d first{.out_channels = 32, .kernel = 3, .stride = 2, .padding = 1};
  int last = add_convolution(network, prefix + "features.0.", first, kMobileNetV2Style);
  int feature = 1;
  for (const Stage& stage : kMobileNetV2Stages) {
    for (int block = 0; block < stage.blocks; ++block) {
      const std::string name = prefix + "features." + std::to_string(feature++) + ".conv.";
      const std::int64_t stride = block == 0 ? stage.stride : 1;
      const int widened = add_inverted_residual(network, name, last, stage, stride);
      if (stride != 1) taps.earlier_expansion = std::exchange(taps.expansion, widened);
    }
  }
  taps.last = add_convolution(network, prefix + "features.18.", Conv2d{.out_channels = 1280}, kMobileNetV2Style);
  return taps;
}

/// How MobileNetV3-Large is varied for detectors.
struct MobileNetV3Style {
  BatchNorm normalization{.epsilon = 1e-3, .momentum = 0.01};
  std::int64_t tail_divisor = 1;  // divides the channels from the last block with a stride on
  double first_deviation = 0;     // as Conv2d's
  /// Returns the prefix of the layer names of part `part` of block `feature`; -1: of the first or last convolution,
  /// which have no parts.
  std::string (*name)(int feature, int part) = nullptr;
};

/// The number of MobileNetV3-Large's last block with a stride.
constexpr int kMobileNetV3LastStride = 13;

constexpr ActivationKind kRelu = ActivationKind::kRelu, kHardSwish = ActivationKind::kHardSwish;

struct MobileNetV3Block {
  std::int64_t kernel, wide, channels;
  bool squeezes;
  ActivationKind activation;
  std::int64_t stride;
};

constexpr MobileNetV3Block kMobileNetV3Blocks[] = {
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
int add_mobilenet_v3_block(Network& network, int feature, const MobileNetV3Block& block,
                           const MobileNetV3Style& variant) {
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

Taps add_mobilenet_v3_large_features(Network& network, const MobileNetV3Style& style) {
  Taps taps;
  const ConvolutionStyle outer{style.normalization, kHardSwish};
  const Conv2d first{
      .out_channels = 16, .kernel = 3, .stride = 2, .padding = 1, .first_deviation = style.first_deviation};
  add_convolution(network, style.name(0, -1), first, outer);
  int feature = 1;
  for (MobileNetV3Block block : kMobileNetV3Blocks) {
    if (feature >= kMobileNetV3LastStride) block.channels /= style.tail_divisor;
    if (feature > kMobileNetV3LastStride) block.wide /= style.tail_divisor;
    const int widened = add_mobilenet_v3_block(network, feature, block, style);
    if (block.stride != 1) taps.expansion = widened;
    ++feature;
  }
  const Conv2d last{.out_channels = 960 / style.tail_divisor, .first_deviation = style.first_deviation};
  taps.last = add_convolution(network, style.name(feature, -1), last, outer);
  return taps;
}

std::string classifier_name(int feature, int part) {
  const std::string name = "features." + std::to_string(feature) + ".";
  return part < 0 ? name : name + "block." + std::to_string(part) + ".";
}

constexpr Stage kEfficientNetStages[] = {
    {1, 3, 1, 16, 1},  {6, 3, 2, 24, 2},  {6, 5, 2, 40, 2},  {6, 3, 2, 80, 3},
    {6, 5, 1, 112, 3}, {6, 5, 2, 192, 4}, {6, 3, 1, 320, 1},
};
constexpr int kEfficientNetBlocks = 16;  // of all stages
constexpr double kDepthDropped =
    0.2;  // how likely a block after the last would be dropped; before that it rises evenly
const ConvolutionStyle kEfficientNetStyle{.activation = ActivationKind::kSilu};

// Widen by a 1x1 convolution, filter each channel alone, scale the channels, narrow by a 1x1 convolution without an
// activation; where both ends have one shape they are joined, and the branch may be dropped in training.
void add_efficientnet_block(Network& network, const std::string& prefix, const Stage& stage, std::int64_t stride,
                            int index) {
  const int input = static_cast<int>(network.layers().size()) - 1;
  const std::int64_t narrow = network.layers().back().shape.front();
  const std::int64_t wide = narrow * stage.expansion;
  int part = 0;
  const auto next = [&] { return prefix + "block." + std::to_string(part++) + "."; };
  if (wide != narrow) add_convolution(network, next(), Conv2d{.out_channels = wide}, kEfficientNetStyle);
  const Conv2d depthwise{
      .out_channels = wide, .kernel = stage.kernel, .stride = stride, .padding = stage.kernel / 2, .groups = wide};
  add_convolution(network, next(), depthwise, kEfficientNetStyle);
  const std::int64_t squeezed = std::max<std::int64_t>(1, narrow / 4);
  add_squeeze_excitation(network, next(), squeezed, ActivationKind::kSilu, ActivationKind::kSigmoid);
  add_convolution(network, next(), Conv2d{.out_channels = stage.channels}, {});
  if (stride != 1 || narrow != stage.channels) return;
  const int branch = network.add(prefix + "drop", StochasticDepth{kDepthDropped * index / kEfficientNetBlocks});
  network.add(prefix + "add", Add{}, {branch, input});
}

constexpr std::int64_t kDefaultClasses = 90;  // COCO's numbers of categories, as torchvision has them
constexpr double kFirstDeviation = 0.03;      // torchvision's ssdlite.py
constexpr BatchNorm kDetectorNormalization{.epsilon = 1e-3, .momentum = 0.03};
const ConvolutionStyle kDetectorStyle{kDetectorNormalization, ActivationKind::kRelu6};
constexpr std::array<std::int64_t, 4> kExtraChannels = {512, 256, 256, 128};

Conv2d pointwise(std::int64_t channels, bool bias = false) {
  return {.out_channels = channels, .bias = bias, .first_deviation = kFirstDeviation};
}

Conv2d depthwise(std::int64_t channels, std::int64_t stride) {
  return {.out_channels = channels,
          .kernel = 3,
          .stride = stride,
          .padding = 1,
          .groups = channels,
          .first_deviation = kFirstDeviation};
}

// Narrow by a 1x1 convolution, halve height and width channel by channel, widen by a 1x1 convolution.
int add_extra_block(Network& network, const std::string& prefix, std::int64_t channels) {
  add_convolution(network, prefix + "0.", pointwise(channels / 2), kDetectorStyle);
  add_convolution(network, prefix + "1.", depthwise(channels / 2, 2), kDetectorStyle);
  return add_convolution(network, prefix + "2.", pointwise(channels), kDetectorStyle);
}

// Adds a head that predicts `values` numbers for each anchor of the levels. Returns the layer with all of them, anchor
// by anchor.
int add_head(Network& network, const std::string& name, const std::vector<int>& levels, std::int64_t values) {
  const std::int64_t per_cell = AnchorLevel().anchors_per_cell();
  std::vector<int> rows;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const std::string prefix = name + ".module_list." + std::to_string(level) + ".";
    // The first layer names a level as its input; each later one reads the layer before it.
    network.add(prefix + "0.0", depthwise(shape_of(network, levels[level]).front(), 1), {levels[level]});
    network.add(prefix + "0.1", kDetectorNormalization);
    network.add(prefix + "0.2", Activation{*kDetectorStyle.activation});
    network.add(prefix + "1", pointwise(per_cell * values, /*bias=*/true));
    rows.push_back(network.add(prefix + "rows", Rows{values}));
  }
  return network.add(name + ".cat", Concat{}, rows);
}

// Extra levels after the backbone's, the last of which is the network's last layer; heads on all of them, and anchors
// from `least_scale` on.
void add_detector(Network& network, std::vector<int> levels, const ModelOptions& options, double least_scale) {
  constexpr double kGreatestScale = 0.95;
  for (std::size_t extra = 0; extra < kExtraChannels.size(); ++extra) {
    const std::string prefix = "backbone.extra." + std::to_string(extra) + ".";
    levels.push_back(add_extra_block(network, prefix, kExtraChannels[extra]));
  }
  const std::int64_t classes = options.classes.value_or(kDefaultClasses);
  const int scores = add_head(network, "head.classification_head", levels, classes + 1);
  const int boxes = add_head(network, "head.regression_head", levels, 4);
  network.set_output("boxes", boxes);
  network.set_output("scores", scores);
  const std::vector<double> scales = anchor_scales(levels.size(), least_scale, kGreatestScale);
  std::vector<AnchorLevel> anchors;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const Shape& shape = shape_of(network, levels[i]);
    anchors.push_back({.rows = shape[1], .columns = shape[2], .scale = scales[i], .next_scale = scales[i + 1]});
  }
  network.set_anchors(default_boxes(anchors));
}

// torchvision cuts the backbone in two inside of the last block with a stride, after its first part.
std::string backbone_name(int feature, int part) {
  constexpr int kCut = kMobileNetV3LastStride;
  const bool in_cut_block = feature == kCut;
  const bool second = feature > kCut || (in_cut_block && part > 0);
  std::string name = "backbone.features." + std::to_string(second ? 1 : 0) + ".";
  name += std::to_string(second ? feature - kCut : feature) + ".";
  if (part < 0) return name;
  if (in_cut_block) return part == 0 ? name : name + std::to_string(part) + ".";
  return name + "block." + std::to_string(part) + ".";
}

}  // namespace

Network build_mobilenet_v2(std::string_view name, const ModelOptions& options) {
  Network network = for_images(name, options, 224);
  add_mobilenet_v2_features(network, "");
  return with_classifier(std::move(network), options);
}

Network build_mobilenet_v3_large(std::string_view name, const ModelOptions& options) {
  Network network = for_images(name, options, 224);
  add_mobilenet_v3_large_features(network, {.name = classifier_name});
  network.add("avgpool", GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("classifier.0", Linear{.out_features = 1280});
  network.add("classifier.1", Activation{kHardSwish});
  network.add("classifier.2", Dropout{0.2});
  network.add("classifier.3", Linear{.out_features = options.classes.value_or(1000)});
  return network;
}

Network build_efficientnet_b0(std::string_view name, const ModelOptions& options) {
  Network network = for_images(name, options, 224);
  const Conv2d first{.out_channels = 32, .kernel = 3, .stride = 2, .padding = 1};
  add_convolution(network, "features.0.", first, kEfficientNetStyle);
  int feature = 1, index = 0;
  for (const Stage& stage : kEfficientNetStages) {
    const std::string prefix = "features." + std::to_string(feature++) + ".";
    for (int block = 0; block < stage.blocks; ++block) {
      add_efficientnet_block(network, prefix + std::to_string(block) + ".", stage, block == 0 ? stage.stride : 1,
                             index++);
    }
  }
  add_convolution(network, "features.8.", Conv2d{.out_channels = 1280}, kEfficientNetStyle);
  return with_classifier(std::move(network), options);
}

Network build_ssdlite320_mobilenet_v3_large(std::string_view name, const ModelOptions& options) {
  Network network = for_images(name, options, 320);
  const MobileNetV3Style style{.normalization = kDetectorNormalization,
                               .tail_divisor = 2,
                               .first_deviation = kFirstDeviation,
                               .name = backbone_name};
  const Taps taps = add_mobilenet_v3_large_features(network, style);
  add_detector(network, {taps.expansion, taps.last}, options, 0.2);
  return network;
}

Network build_ssdlite_mobilenet_v2(std::string_view name, const ModelOptions& options) {
  Network network = for_images(name, options, 320);
  const Taps taps = add_mobilenet_v2_features(network, "backbone.");
  // Half of SSD's usual least scale: objects of a tenth of the image have anchors of their size. Its level is an eighth
  // of the image: at a sixteenth, most objects of small images share less than half of their union with every anchor.
  add_detector(network, {taps.earlier_expansion, taps.expansion, taps.last}, options, 0.1);
  return network;
}

}  // namespace evener::network
