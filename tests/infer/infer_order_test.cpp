// In what order devices are asked for and computed on, where a plan has several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "data/open/samples.h"
#include "infer/run/infer.h"

namespace evener::inference {
namespace {

using testing::HasSubstr;

class IdleRunner : public engine::Runner {
 public:
  void start(const engine::ImageSpan&) override {}
  TensorMap wait() override { return {}; }
};

/// Its library finds no GPU once it has computed on a CPU.
class ForgetfulEngine : public engine::Engine {
 public:
  explicit ForgetfulEngine(std::vector<std::string>& events) : events_(events) {}
  const char* name() const override { return "forgetful"; }
  std::string runner_refusal(const network::Network&, const engine::RunnerOptions& options) const override {
    events_.push_back("asked for " + device_text(options.device));
    return options.device.index > 0 ? "there is no " + device_text(options.device) : "";
  }
  std::vector<std::unique_ptr<engine::Runner>> make_runners(const network::Network&, const TensorMap&,
                                                            const engine::RunnerOptions& options, int count) override {
    std::vector<std::unique_ptr<engine::Runner>> runners;
    for (int i = 0; i < count; ++i) {
      events_.push_back("made for " + device_text(options.device));
      runners.push_back(std::make_unique<IdleRunner>());
    }
    return runners;
  }

 private:
  std::vector<std::string>& events_;
};

class InferOrder : public testing::Test {
 protected:
  InferOrder() {
    options_.engine = "torch";
    options_.open_engine = [this](const std::string&) { return std::make_unique<ForgetfulEngine>(events_); };
    options_.batch = 2;
    options_.plan.text = "cpu+cuda:0";
    options_.plan.replicas.push_back({0, {placement::PlanStage{}}, {}});
    options_.plan.replicas.push_back({1, {placement::PlanStage{}}, {}});
    options_.plan.replicas[1].stages[0].device = {DeviceKind::kCuda, 0};
  }

  void make_job() {
    InferenceRequest request;
    request.model.model = "mlp:784-10";
    request.model.seed = 1;
    const InferenceModel network(request);
    const auto samples = data::random_samples(8, network.input_shape(), 3);
    const InferJob job(network, *samples, options_);
  }

  std::vector<std::string> events_;
  InferOptions options_;
};

TEST_F(InferOrder, GpusAreAskedForBeforeCpusCompute) {
  make_job();
  ASSERT_FALSE(events_.empty());
  EXPECT_EQ(events_.front(), "asked for cuda:0");
}

TEST_F(InferOrder, AGpuThatIsRefusedEndsAJobBeforeItComputes) {
  options_.plan.replicas[1].stages[0].device.index = 1;
  try {
    make_job();
    FAIL() << "it was taken";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no cuda:1"));
  }
  EXPECT_THAT(events_, testing::ElementsAre("asked for cuda:1"));
}

}  // namespace
}  // namespace evener::inference
