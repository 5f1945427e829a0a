// Steps: replicas that join layers and others that don't exchange the sums of the same batch normalisation at a time.
#include "network/steps.h"

#include <gmock/gmock.h>

#include <string>
#include <variant>
#include <vector>

#include "network/zoo.h"

namespace evener::network {
namespace {

std::vector<std::string> batch_norms(const Network& network, Join join) {
  std::vector<std::string> names;
  for (const Step& step : plan_steps(network, join)) {
    const int last = step.depthwise >= 0 ? step.output : step.layer;
    for (int i = step.layer; i <= last; ++i) {
      const Layer& layer = network.layers()[static_cast<std::size_t>(i)];
      if (std::holds_alternative<BatchNorm>(layer.op)) names.push_back(layer.name);
    }
  }
  return names;
}

TEST(Steps, BatchNormsHaveOneOrderWhateverIsJoined) {
  for (const ModelInfo& model : known_models()) {
    if (model.name.starts_with("mlp")) continue;
    SCOPED_TRACE(model.name);
    const Network network = build(model.name, {});
    const std::vector<std::string> joined = batch_norms(network, Join::kBatchNorm);
    EXPECT_EQ(batch_norms(network, Join::kNothing), joined);
  }
}

std::vector<std::string> depthwise_steps(const Network& network) {
  std::vector<std::string> found;
  for (const Step& step : plan_steps(network, Join::kBatchNorm)) {
    if (step.depthwise < 0) continue;
    const auto name = [&](int index) { return network.layers()[static_cast<std::size_t>(index)].name; };
    found.push_back(name(step.layer) + " to " + name(step.output));
  }
  return found;
}

// 17 blocks of MobileNetV2; in SSDLite two widened images have other readers too.
TEST(Steps, DepthwiseConvolutionsAreJoinedWithBatchNormsAtTheirSides) {
  EXPECT_THAT(depthwise_steps(build("mobilenet_v2", {})),
              testing::AllOf(testing::SizeIs(17), testing::Contains("features.2.conv.0.1 to features.2.conv.1.2")));
  const auto of_detector = depthwise_steps(build("ssdlite_mobilenet_v2", {}));
  EXPECT_THAT(of_detector, testing::Contains("backbone.features.14.conv.1.0 to backbone.features.14.conv.1.2"));
}

TEST(Steps, DepthwiseConvolutionsAreNotJoinedWithWhatOthersRead) {
  Network network("net", Shape{4, 8, 8});
  network.add("before", BatchNorm{});
  const Conv2d filter{.out_channels = 4, .kernel = 3, .padding = 1, .groups = 4};
  network.add("depthwise", filter);
  network.add("after", BatchNorm{});
  network.add("sum", Add{}, {3, 1});  // reads the first normalisation's result, too
  network.add("alone", filter);
  network.add("pool", GlobalAveragePool{});
  EXPECT_THAT(depthwise_steps(network), testing::IsEmpty());
}

// A sum's terms are computed before it, and what is read was computed: also where a batch-norm waits for the other
// term.
TEST(Steps, ComeAfterWhatTheyRead) {
  const Network network = build("resnet34", {});
  for (const Join join : {Join::kNothing, Join::kBatchNorm, Join::kConvolutionToo}) {
    std::vector<bool> is_known(network.layers().size(), false);
    for (const Step& step : plan_steps(network, join)) {
      for (const int input : step.inputs) EXPECT_TRUE(is_known[static_cast<std::size_t>(input)]) << input;
      is_known[static_cast<std::size_t>(step.output)] = true;
      for (const int dead : step.dead) is_known[static_cast<std::size_t>(dead)] = false;
    }
    EXPECT_TRUE(is_known.back());
  }
}

}  // namespace
}  // namespace evener::network
