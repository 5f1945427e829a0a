// Inception-ResNet v1 (Szegedy et al., Inception-v4, Inception-ResNet and the Impact of Residual Connections on
// Learning, 2016) as FaceNet uses it, with the names of facenet-pytorch, so that its weights load. A face of 160 x 160
// pixels becomes an embedding of 512 numbers, which is not normalised here: comparing faces needs it scaled to length
// 1.
#include <string>
#include <vector>

#include "network/zoo.h"

namespace evener::network {
namespace {

constexpr double kEpsilon = 0.001;

/// Puts layers on one network, under names below a prefix.
class Builder {
 public:
  explicit Builder(Network& network) : network_(network) {}

  /// A convolution, normalised, with a ReLU: NAME.conv, .bn, .relu.
  int convolution(const std::string& name, int input, const Conv2d& convolution) {
    network_.add(name + ".conv", convolution, {input});
    network_.add(name + ".bn", BatchNorm{.epsilon = kEpsilon});
    return network_.add(name + ".relu", Activation{});
  }

  /// Convolutions one after the other: NAME.0, NAME.1, ...
  int sequence(const std::string& name, int input, const std::vector<Conv2d>& convolutions) {
    for (std::size_t i = 0; i < convolutions.size(); ++i) {
      input = convolution(name + "." + std::to_string(i), input, convolutions[i]);
    }
    return input;
  }

  /// The branches side by side, brought back to the input's channels, scaled, and added to it.
  int residual(const std::string& name, int input, const std::vector<int>& branches, double scale, bool activated) {
    const std::int64_t channels = network_.layers()[static_cast<std::size_t>(input)].shape[0];
    network_.add(name + ".cat", Concat{}, branches);
    network_.add(name + ".conv2d", Conv2d{.out_channels = channels, .bias = true});
    const int scaled = network_.add(name + ".scale", Scale{scale});
    const int sum = network_.add(name + ".add", Add{}, {scaled, input});
    return activated ? network_.add(name + ".relu", Activation{}) : sum;
  }

  int block35(const std::string& name, int input) {
    const Conv2d point{.out_channels = 32};
    const Conv2d around{.out_channels = 32, .kernel = 3, .padding = 1};
    return residual(name, input,
                    {convolution(name + ".branch0", input, point), sequence(name + ".branch1", input, {point, around}),
                     sequence(name + ".branch2", input, {point, around, around})},
                    0.17, true);
  }

  int block17(const std::string& name, int input) {
    const Conv2d point{.out_channels = 128};
    const Conv2d row{.out_channels = 128, .kernel = {1, 7}, .padding = {0, 3}};
    const Conv2d column{.out_channels = 128, .kernel = {7, 1}, .padding = {3, 0}};
    return residual(
        name, input,
        {convolution(name + ".branch0", input, point), sequence(name + ".branch1", input, {point, row, column})}, 0.10,
        true);
  }

  int block8(const std::string& name, int input, double scale, bool activated) {
    const Conv2d point{.out_channels = 192};
    const Conv2d row{.out_channels = 192, .kernel = {1, 3}, .padding = {0, 1}};
    const Conv2d column{.out_channels = 192, .kernel = {3, 1}, .padding = {1, 0}};
    return residual(
        name, input,
        {convolution(name + ".branch0", input, point), sequence(name + ".branch1", input, {point, row, column})}, scale,
        activated);
  }

  int mixed_6a(int input) {
    const int first = convolution("mixed_6a.branch0", input, {.out_channels = 384, .kernel = 3, .stride = 2});
    const int second = sequence("mixed_6a.branch1", input,
                                {{.out_channels = 192},
                                 {.out_channels = 192, .kernel = 3, .padding = 1},
                                 {.out_channels = 256, .kernel = 3, .stride = 2}});
    const int pool = network_.add("mixed_6a.branch2", MaxPool{.kernel = 3, .stride = 2}, {input});
    return network_.add("mixed_6a.cat", Concat{}, {first, second, pool});
  }

  int mixed_7a(int input) {
    const Conv2d point{.out_channels = 256};
    const Conv2d narrow{.out_channels = 256, .kernel = 3, .stride = 2};
    const int first = sequence("mixed_7a.branch0", input, {point, {.out_channels = 384, .kernel = 3, .stride = 2}});
    const int second = sequence("mixed_7a.branch1", input, {point, narrow});
    const int third =
        sequence("mixed_7a.branch2", input, {point, {.out_channels = 256, .kernel = 3, .padding = 1}, narrow});
    const int pool = network_.add("mixed_7a.branch3", MaxPool{.kernel = 3, .stride = 2}, {input});
    return network_.add("mixed_7a.cat", Concat{}, {first, second, third, pool});
  }

 private:
  Network& network_;
};

}  // namespace

Network build_inception_resnet_v1(std::string_view name, const ModelOptions& options) {
  Network network(std::string(name), options.input.value_or(Shape{3, 160, 160}));
  Builder builder(network);
  int last = builder.convolution("conv2d_1a", 0, {.out_channels = 32, .kernel = 3, .stride = 2});
  last = builder.convolution("conv2d_2a", last, {.out_channels = 32, .kernel = 3});
  last = builder.convolution("conv2d_2b", last, {.out_channels = 64, .kernel = 3, .padding = 1});
  last = network.add("maxpool_3a", MaxPool{.kernel = 3, .stride = 2});
  last = builder.convolution("conv2d_3b", last, {.out_channels = 80});
  last = builder.convolution("conv2d_4a", last, {.out_channels = 192, .kernel = 3});
  last = builder.convolution("conv2d_4b", last, {.out_channels = 256, .kernel = 3, .stride = 2});
  for (int i = 0; i < 5; ++i) last = builder.block35("repeat_1." + std::to_string(i), last);
  last = builder.mixed_6a(last);
  for (int i = 0; i < 10; ++i) last = builder.block17("repeat_2." + std::to_string(i), last);
  last = builder.mixed_7a(last);
  for (int i = 0; i < 5; ++i) last = builder.block8("repeat_3." + std::to_string(i), last, 0.20, true);
  builder.block8("block8", last, 1, false);
  network.add("avgpool_1a", GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("dropout", Dropout{0.6});
  network.add("last_linear", Linear{.out_features = options.classes.value_or(512), .bias = false});
  network.add("last_bn", BatchNorm{.epsilon = kEpsilon});
  return network;
}

}  // namespace evener::network
