// Detectors (SSD: Liu et al. 2016, with SSDLite's separable convolutions: Sandler et al. 2018) on MobileNets, with
// torchvision's names where it has the network. Feature maps shrink with the image; one that has become a single cell
// stays one, so that the parameters are the same for every size, and weights of one size run at another.
#include <array>
#include <string>
#include <vector>

#include "network/anchors.h"
#include "network/zoo.h"
#include "network/zoo/blocks.h"
#include "network/zoo/mobilenets.h"

namespace evener::network {
namespace {

constexpr std::int64_t kDefaultClasses = 90;  // COCO's numbers of categories, as torchvision has them
constexpr double kFirstDeviation = 0.03;      // torchvision's ssdlite.py
constexpr BatchNorm kNormalization{.epsilon = 1e-3, .momentum = 0.03};
const ConvolutionStyle kStyle{kNormalization, ActivationKind::kRelu6};
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

const Shape& shape_of(const Network& network, int layer) {
  return network.layers()[static_cast<std::size_t>(layer)].shape;
}

// Narrow by a 1x1 convolution, halve height and width channel by channel, widen by a 1x1 convolution.
int add_extra_block(Network& network, const std::string& prefix, std::int64_t channels) {
  add_convolution(network, prefix + "0.", pointwise(channels / 2), kStyle);
  add_convolution(network, prefix + "1.", depthwise(channels / 2, 2), kStyle);
  return add_convolution(network, prefix + "2.", pointwise(channels), kStyle);
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
    network.add(prefix + "0.1", kNormalization);
    network.add(prefix + "0.2", Activation{*kStyle.activation});
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

Network build_ssdlite320_mobilenet_v3_large(std::string_view name, const ModelOptions& options) {
  Network network(std::string(name), options.input.value_or(Shape{3, 320, 320}));
  const MobileNetV3Style style{
      .normalization = kNormalization, .tail_divisor = 2, .first_deviation = kFirstDeviation, .name = backbone_name};
  const Taps taps = add_mobilenet_v3_large_features(network, style);
  add_detector(network, {taps.expansion, taps.last}, options, 0.2);
  return network;
}

Network build_ssdlite_mobilenet_v2(std::string_view name, const ModelOptions& options) {
  Network network(std::string(name), options.input.value_or(Shape{3, 320, 320}));
  const Taps taps = add_mobilenet_v2_features(network, "backbone.");
  // Half of SSD's usual least scale: objects of a tenth of the image have anchors of their size. Its level is an eighth
  // of the image: at a sixteenth, most objects of small images share less than half of their union with every anchor.
  add_detector(network, {taps.earlier_expansion, taps.expansion, taps.last}, options, 0.1);
  return network;
}

}  // namespace evener::network
