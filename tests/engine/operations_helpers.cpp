// The networks of tests/golden/operations.py, with its names and order of parameters.
#include "engine/operations_helpers.h"

namespace evener::test {

using namespace network;

Network windows_network(const Shape& input, std::int64_t classes) {
  Network net("operations:windows", input);
  net.add("conv1", Conv2d{.out_channels = 6, .kernel = {3, 5}, .stride = {2, 1}, .padding = {1, 0}, .bias = true});
  net.add("prelu1", PRelu{});
  net.add("pool1", MaxPool{.kernel = 3, .stride = 2, .ceil_mode = true});
  net.add("conv2", Conv2d{.out_channels = 8, .kernel = {1, 7}, .padding = {0, 3}});
  net.add("bn", BatchNorm{});
  net.add("silu", Activation{ActivationKind::kSilu});
  net.add("pool2", AveragePool{.kernel = {2, 3}, .stride = {2, 3}, .padding = 1, .ceil_mode = true});
  net.add("depthwise", Conv2d{.out_channels = 8, .kernel = {3, 1}, .padding = {1, 0}, .groups = 8});
  net.add("flatten", Flatten{});
  net.add("fc1", Linear{.out_features = 10});
  net.add("prelu2", PRelu{});
  net.add("fc2", Linear{.out_features = classes});
  return net;
}

Network branches_network(const Shape& input, std::int64_t classes) {
  const Activation silu{ActivationKind::kSilu}, gate{ActivationKind::kHardSigmoid};
  Network net("operations:branches", input);
  net.add("conv1", Conv2d{.out_channels = 8, .kernel = 3, .padding = 1});
  net.add("bn1", BatchNorm{});
  const int trunk = net.add("swish", Activation{ActivationKind::kHardSwish});
  const int mean = net.add("mean", AveragePool{.kernel = 3, .stride = 1, .padding = 1, .count_include_pad = false});
  net.add("conv2", Conv2d{.out_channels = 6, .kernel = 3, .padding = 1, .bias = true}, {trunk});
  const int gated = net.add("gate", gate);
  const int most = net.add("most", MaxPool{.kernel = 3, .stride = 1, .padding = 1}, {trunk});
  const int joined = net.add("concat", Concat{}, {mean, gated, most});
  net.add("squeeze", GlobalAveragePool{});
  net.add("fc1", Conv2d{.out_channels = 4, .bias = true});
  net.add("silu", silu);
  net.add("fc2", Conv2d{.out_channels = 22, .bias = true});
  const int factors = net.add("scale", gate);
  net.add("scaled", Multiply{}, {factors, joined});
  net.add("conv3", Conv2d{.out_channels = 8});
  net.add("bn2", BatchNorm{});
  const int branch = net.add("drop", StochasticDepth{0.4});
  const int sum = net.add("sum", Add{}, {branch, trunk});
  const int other = net.add("conv4", Conv2d{.out_channels = 8, .bias = true});
  net.add("product", Multiply{}, {sum, other});
  net.add("pool", MaxPool{.kernel = 3, .stride = 2, .ceil_mode = true});
  net.add("avgpool", GlobalAveragePool{});
  const int features = net.add("flatten", Flatten{});
  net.add("linear1", Linear{.out_features = 6});
  const int more = net.add("silu2", silu);
  net.add("features", Concat{}, {features, more});
  net.add("linear2", Linear{.out_features = classes});
  return net;
}

}  // namespace evener::test
