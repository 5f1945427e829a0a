// What runners are asked for: an engine that keeps the options it is given, and bounds of memory.
#include <gmock/gmock.h>

#include <functional>

#include "base/error.h"
#include "base/module.h"
#include "base/simd_level.h"
#include "data/open/samples.h"
#include "infer/run/infer.h"
#include "infer/run/infer_stages.h"
#include "network/cost.h"
#include "network/passes/cut.h"

namespace evener::inference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A runner that gives what the next stage reads.
class MutedRunner : public engine::Runner {
 public:
  explicit MutedRunner(std::vector<std::string> outputs) : outputs_(std::move(outputs)) {}
  void start(const engine::ImageSpan&) override {}
  void start_stage(const std::vector<HostTensor>& received) override { received_ = received.size(); }
  TensorMap wait() override {
    TensorMap outputs;
    for (const std::string& name : outputs_) {
      outputs[name] = HostTensor::of_floats({1}, {static_cast<float>(received_)});
    }
    return outputs;
  }

 private:
  const std::vector<std::string> outputs_;
  std::size_t received_ = 100;
};

class KeepingEngine : public engine::Engine {
 public:
  const char* name() const override { return "torch"; }
  std::string runner_refusal(const network::Network& network, const engine::RunnerOptions&) const override {
    return network.model() == refused ? "too hard" : "";
  }
  std::vector<std::unique_ptr<engine::Runner>> make_runners(const network::Network& network, const TensorMap&,
                                                            const engine::RunnerOptions& options, int count) override {
    asked.push_back(options);
    counts.push_back(count);
    std::vector<std::string> outputs;
    for (const network::Output& output : network.outputs()) outputs.push_back(output.name);
    std::vector<std::unique_ptr<engine::Runner>> runners;
    for (int i = 0; i < count; ++i) runners.push_back(std::make_unique<MutedRunner>(outputs));
    return runners;
  }

  std::vector<engine::RunnerOptions> asked;
  std::vector<int> counts;
  std::string refused = "none";
};

InferenceModel small_perceptron() {
  InferenceRequest request;
  request.model.model = "mlp:784-32-16-10";
  request.model.seed = 1;
  return InferenceModel(request);
}

InferenceModel grey_resnet() {
  InferenceRequest request;
  request.model.model = "resnet20";
  request.model.width = request.model.height = 32;
  request.model.channels = 1;
  request.model.seed = 1;
  request.normalization = parse_normalization("0.25/0.75");
  return InferenceModel(request);
}

placement::PlanReplica three_stages() {
  placement::PlanStage first, second, third;
  first.threads = 3;
  first.cpus = {4, 5, 6};
  second.threads = 0;
  third.factor = 0.5;
  second.device = {DeviceKind::kCuda, 1};
  return {0, {first, second, third}, {}};
}

TEST(StageRunners, AreAskedForOnEachStagesDevice) {
  const InferenceModel model = grey_resnet();
  const network::Network& network = *model.network();
  const auto stages = network::cut(network, network::begins_of(network, {"layer2.0.conv2", "layer3"}));
  ASSERT_GT(stages[0].sent.size(), 1U) << "a skip connection crosses, too";
  KeepingEngine engine;
  engine::RunnerOptions common;
  common.batch = 7;
  common.precision = Precision::kBf16;
  const auto line = make_line(model, engine, stages, three_stages(), common, 2);
  ASSERT_EQ(engine.asked.size(), 3U);
  EXPECT_THAT(engine.counts, ElementsAre(2, 2, 1)) << "streams, a GPU's two, a thread";
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(engine.asked[s].later_stage, s > 0);
    EXPECT_EQ(engine.asked[s].batch, 7);
    EXPECT_EQ(engine.asked[s].precision, Precision::kBf16);
    EXPECT_THAT(engine.asked[s].mean, ElementsAre(0.25F));
    EXPECT_THAT(engine.asked[s].standard_deviation, ElementsAre(0.75F));
  }
  EXPECT_EQ(engine.asked[0].threads, 3);
  EXPECT_THAT(engine.asked[0].cpus, ElementsAre(4, 5, 6));
  EXPECT_EQ(engine.asked[1].device.kind, DeviceKind::kCuda);
  EXPECT_EQ(engine.asked[1].device.index, 1);
  EXPECT_EQ(engine.asked[1].threads, 1) << "one at least";
  EXPECT_THAT(engine.asked[1].cpus, IsEmpty());
  EXPECT_EQ(engine.asked[2].device.kind, DeviceKind::kCpu);
  const auto lanes = parallel::StageLine::lanes(line, 1);
  lanes[0]->start(std::span<const float>());
  const TensorMap outputs = lanes[0]->wait();
  EXPECT_EQ(outputs.begin()->second.floats()[0], static_cast<float>(stages[2].received.size()))
      << "each stage is sent all that it reads";
  engine.refused = stages[1].network.model();
  EXPECT_THROW(make_line(model, engine, stages, three_stages(), common, 2), UsageError);
}

TEST(RunnersOfModels, NormalizeBytesAndFloatsAlike) {
  const InferenceModel model = grey_resnet();
  KeepingEngine engine;
  engine::RunnerOptions options;
  for (const auto values : {engine::ImageValues::kBytes, engine::ImageValues::kFloats}) {
    options.values = values;
    EXPECT_EQ(model.make_runners(engine, {1, 32, 32}, options, 3).size(), 3U);
    EXPECT_THAT(engine.asked.back().mean, ElementsAre(0.25F));
    EXPECT_THAT(engine.asked.back().standard_deviation, ElementsAre(0.75F));
  }
  EXPECT_EQ(model.refusal(engine, options), "");
  engine.refused = "resnet20";
  EXPECT_EQ(model.refusal(engine, options), "too hard");
}

class MemoryOfStages : public testing::Test {
 protected:
  MemoryOfStages() {
    setup_.batch = 4;
    setup_.streams = 2;
    plan_stages(1);
  }
  void plan_stages(std::size_t stages) {
    options_.plan.text = "so many";
    options_.plan.replicas = {{0, std::vector<placement::PlanStage>(stages), {}}};
    for (auto& stage : options_.plan.replicas[0].stages) stage.threads = 2;
  }
  /// Of 8 images: two calls of 4 side by side.
  static std::int64_t needed(const network::Network& network) {
    const network::InferenceMemory memory = network::inference_memory(network);
    return memory.weight_bytes + 8 * memory.per_sample_bytes;
  }
  std::string refusal() {
    try {
      divided_ = divided_for_inference(model_, options_, setup_, *samples_).size();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  }

  const InferenceModel model_ = small_perceptron();
  const std::unique_ptr<data::Samples> samples_ = data::random_samples(1, {784}, 1);
  InferOptions options_;
  InferSetup setup_;
  std::size_t divided_ = 9;
};

TEST_F(MemoryOfStages, TheWholeNetworkMayTakeAllThereIs) {
  options_.stage_memory_bytes = needed(*model_.network());
  EXPECT_EQ(refusal(), "none");
  EXPECT_EQ(divided_, 0U);
  --options_.stage_memory_bytes;
  EXPECT_THAT(refusal(), HasSubstr("--memory gives each device: it takes about"));
  options_.stage_memory_bytes = 0;
  EXPECT_EQ(refusal(), "none") << "no limit";
}

TEST_F(MemoryOfStages, TheLargestStageMayTakeAllThereIs) {
  plan_stages(2);
  options_.cut = {"2"};
  const auto stages = network::cut(*model_.network(), network::begins_of(*model_.network(), options_.cut));
  const std::int64_t first = needed(stages[0].network), second = needed(stages[1].network);
  ASSERT_GT(first, second);
  options_.stage_memory_bytes = first;
  EXPECT_EQ(refusal(), "none");
  EXPECT_EQ(divided_, 2U);
  options_.stage_memory_bytes = first - 1;
  EXPECT_THAT(refusal(), HasSubstr("the largest stage takes about"));
  options_.stage_memory_bytes = second;
  EXPECT_THAT(refusal(), HasSubstr("the largest stage takes about"));
}

TEST_F(MemoryOfStages, CutsAreChosenByOperationsWhereOneDeviceCannotHoldTheWhole) {
  plan_stages(2);
  options_.stage_memory_bytes = needed(*model_.network()) - 1;
  ASSERT_EQ(refusal(), "none");
  EXPECT_EQ(divided_, 2U);
}

TEST(EngineOfAJob, SuitsTheImagesToCome) {
  for (const char* engine : {"torch", "openvino"}) {
    if (module_status(engine).state != ModuleState::kUsable) GTEST_SKIP() << engine << " can't be used here";
  }
  if (simd_level() == SimdLevel::kBaseline) GTEST_SKIP() << "this processor has no AVX2";
  InferenceRequest request;
  request.model.model = "resnet18";
  request.model.seed = 1;
  const InferenceModel model(request);
  const auto samples = data::random_samples(3, {3, 224, 224}, 1);
  const auto chosen = [&](const std::function<void(InferOptions&)>& change) {
    std::vector<std::string> opened;
    InferOptions options;
    options.plan.replicas = {{0, {placement::PlanStage{}}, {}}};
    options.batch = 16;
    options.open_engine = [&](const std::string& name) {
      opened.push_back(name);
      return std::make_unique<KeepingEngine>();
    };
    change(options);
    const InferJob job(model, *samples, options);
    EXPECT_EQ(opened, job.setup().engines) << "no other is opened";
    return job.setup().engines.front();
  };
  const auto of_many = [&](const std::string& engine, Precision precision) {
    return chosen([&](InferOptions& options) {
      options.coming = kManyImages;
      options.engine = engine;
      options.precision = precision;
    });
  };
  const auto of_repeated = [&](std::optional<std::int64_t> coming, bool usual) {
    return chosen([&](InferOptions& options) {
      options.repeated = true;
      options.coming = coming;
      options.usual_engine = usual;
    });
  };
  EXPECT_EQ(chosen([](InferOptions&) {}), "openvino") << "three images";
  EXPECT_EQ(of_many("auto", Precision::kFp32), "torch");
  EXPECT_EQ(of_many("auto", Precision::kBf16), "openvino");
  EXPECT_EQ(of_many("openvino", Precision::kFp32), "openvino");
  EXPECT_EQ(of_repeated({}, false), "torch");
  EXPECT_EQ(of_repeated(1, false), "openvino");
  EXPECT_EQ(of_repeated({}, true), "openvino");
  EXPECT_EQ(chosen([](InferOptions& options) { options.engine = "torch"; }), "torch") << "as the user wants";
}

}  // namespace
}  // namespace evener::inference
