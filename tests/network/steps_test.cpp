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
    const Layer& layer = network.layers()[static_cast<std::size_t>(step.layer)];
    if (std::holds_alternative<BatchNorm>(layer.op)) names.push_back(layer.name);
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
