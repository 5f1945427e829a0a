// Networks divided over stages ('..' in placements) answer what an undivided one answers.
#include "infer/run/infer_stages.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/module.h"
#include "data/open/samples.h"
#include "network/cost.h"

namespace evener::inference {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class InferStages : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (module_status(GetParam()).state == ModuleState::kNotBuilt)
      GTEST_SKIP() << "the " << GetParam() << " engine is not built";
    options_.engine = GetParam();
    options_.batch = 4;
  }

  /// So many replicas of so many stages of a thread each.
  static placement::Plan staged(int replicas, int stages) {
    placement::Plan plan;
    plan.text = "staged";
    for (int r = 0; r < replicas; ++r) {
      plan.replicas.push_back({r, std::vector<placement::PlanStage>(static_cast<std::size_t>(stages)), {}});
    }
    return plan;
  }

  InferenceModel network_of(const std::string& model) const {
    InferenceRequest request;
    request.model.model = model;
    if (!model.starts_with("mlp")) request.model.width = request.model.height = 64;
    request.model.seed = 1;
    return InferenceModel(request);
  }

  std::vector<std::vector<float>> answers_on(const placement::Plan& plan, const std::string& model) {
    const InferenceModel network = network_of(model);
    const auto samples = data::random_samples(22, network.input_shape(), 3);
    options_.plan = plan;
    InferJob job(network, *samples, options_);
    std::vector<std::vector<float>> answers;
    result_ = job.run(*samples, [&](const Prediction& answer) {
      EXPECT_EQ(answer.index, answers.size());
      const auto& scores = answer.outputs.begin()->second;
      answers.emplace_back(scores.begin(), scores.end());
    });
    setup_ = job.setup();
    return answers;
  }

  void expect_equal_answers(const std::string& model, const placement::Plan& plan) {
    SCOPED_TRACE(model);
    const auto expected = answers_on(staged(1, 1), model);
    const auto found = answers_on(plan, model);
    ASSERT_EQ(found.size(), 22u);
    float largest = 0, difference = 0;
    for (std::size_t n = 0; n < found.size(); ++n) {
      for (std::size_t c = 0; c < found[n].size(); ++c) {
        largest = std::max(largest, std::abs(expected[n][c]));
        difference = std::max(difference, std::abs(found[n][c] - expected[n][c]));
      }
    }
    EXPECT_LE(difference, 1e-4F * largest) << "engines choose kernels by their speed, Winograd's among them";
    EXPECT_GT(largest, 0);
  }

  std::string refusal(const std::string& model, const placement::Plan& plan) {
    try {
      answers_on(plan, model);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  }

  InferOptions options_;
  InferSetup setup_;
  InferResult result_;
};

TEST_P(InferStages, AnswerAsOneDevice) {
  for (const char* model : {"resnet20", "mobilenet_v2"}) {
    for (const int stages : {2, 3}) expect_equal_answers(model, staged(1, stages));
  }
  expect_equal_answers("resnet20", staged(2, 2));
  ASSERT_EQ(result_.stages.size(), 2u);
  std::int64_t calls = 0;
  for (const auto& replica : result_.stages) {
    ASSERT_EQ(replica.size(), 2u);
    EXPECT_EQ(replica[0].calls, replica[1].calls);
    calls += replica[0].calls;
  }
  EXPECT_EQ(calls, 6) << "22 images in calls of 4";
}

TEST_P(InferStages, BeginWhereTheCutSaysAlsoWithinABlock) {
  options_.cut = {"layer2.0.conv2", "layer3.1.bn2"};  // a skip connection passes, and a batch-norm without its layer
  expect_equal_answers("resnet20", staged(1, 3));
  ASSERT_EQ(setup_.stages.size(), 3u);
  EXPECT_EQ(setup_.stages[1].first, "layer2.0.conv2");
  EXPECT_EQ(setup_.stages[2].first, "layer3.1.bn2");
  EXPECT_GT(setup_.stages[0].sent_bytes, 0);
  EXPECT_EQ(setup_.stages[2].sent_bytes, 0);
}

TEST_P(InferStages, TakeVectors) {
  expect_equal_answers("mlp:784-64-32-10", staged(1, 2));
}

TEST_P(InferStages, HoldANetworkThatIsTooLargeForOneDevice) {
  options_.stage_memory_bytes = 4'000'000;
  EXPECT_THAT(refusal("resnet20", staged(1, 1)),
              AllOf(HasSubstr("doesn't fit into the 4 MB that --memory gives each device: it takes about"),
                    HasSubstr("divided over 2 stages")));
  EXPECT_EQ(answers_on(staged(1, 2), "resnet20").size(), 22u);
  std::int64_t parameters = 0;
  for (const StageSetup& stage : setup_.stages) {
    EXPECT_LE(stage.memory_bytes, options_.stage_memory_bytes);
    EXPECT_GE(stage.memory_bytes, 4 * stage.parameters);
    parameters += stage.parameters;
  }
  EXPECT_EQ(parameters, network::total_cost(*network_of("resnet20").network()).parameters) << "each lies in one stage";
}

INSTANTIATE_TEST_SUITE_P(Engines, InferStages, testing::Values("torch", "openvino"));

}  // namespace
}  // namespace evener::inference
