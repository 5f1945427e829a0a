// Which engine trains where the user names none.
#include <gtest/gtest.h>

#include <memory>

#include "base/module.h"
#include "base/precision.h"
#include "network/zoo.h"
#include "placement/placement.h"
#include "task/training/job.h"

namespace evener::task {
namespace {

constexpr Device kCpu{DeviceKind::kCpu, 0}, kGpu{DeviceKind::kCuda, 0}, kOpencl{DeviceKind::kOpencl, 0};

/// Replicas on these devices, all of them on this host unless `here` says how many.
placement::Plan plan_of(const std::vector<Device>& devices, std::size_t here = 100) {
  placement::Plan plan;
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    placement::PlanStage stage;
    stage.device = devices[rank];
    plan.replicas.push_back({static_cast<int>(rank), {stage}, 1.0});
    if (rank < here) plan.processes.push_back({{static_cast<int>(rank)}});
  }
  return plan;
}

class EngineChoiceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("native").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the native engine is not built";
    native_ = engine::open_engine("native");
  }

  std::string chosen(const std::string& model, const engine::TrainerOptions& options,
                     const std::vector<placement::Plan>& plans, const std::string& before = "",
                     SimdLevel level = SimdLevel::kAvx2) const {
    const auto network = network::build(model, {.input = network::Shape{3, 32, 32}, .classes = 10});
    EngineQuestion question{network, options, {}, before};
    for (const auto& plan : plans) question.plans.push_back(&plan);
    return choose_engine(question, native_.get(), level).name;
  }

  std::unique_ptr<engine::Engine> native_;
};

constexpr const char* kMlp = "mlp:3072-32-10";

engine::TrainerOptions with(Precision precision, engine::OptimizerKind optimizer = engine::OptimizerKind::kSgd) {
  engine::TrainerOptions options;
  options.device = kCpu;
  options.precision = precision;
  options.optimizer.kind = optimizer;
  return options;
}

TEST_F(EngineChoiceTest, NativeIsForPerceptronsOnCpusAndOpencl) {
  const auto fp32 = with(Precision::kFp32);
  const auto on_gpu = [](engine::TrainerOptions options) {
    options.device = kGpu;
    return options;
  };
  struct Case {
    const char *what, *model;
    engine::TrainerOptions options;
    std::vector<placement::Plan> plans;
    const char* expected;
  };
  const char* bfloat16 = has_bfloat16_products() ? "native" : "torch";
  const std::vector<Case> cases = {
      {"one replica", kMlp, fp32, {plan_of({kCpu})}, "native"},
      {"no plan", kMlp, fp32, {}, "native"},
      {"replicas", kMlp, fp32, {plan_of({kCpu, kCpu})}, "native"},
      {"hosts", kMlp, fp32, {plan_of({kCpu, kCpu}, 1)}, "native"},
      {"another network", "resnet20", fp32, {plan_of({kCpu})}, "torch"},
      {"another network without a plan", "resnet20", fp32, {}, "torch"},
      {"another optimiser", kMlp, with(Precision::kFp32, engine::OptimizerKind::kAdamW), {plan_of({kCpu})}, "torch"},
      {"a GPU", kMlp, on_gpu(fp32), {plan_of({kGpu})}, "torch"},
      {"a GPU and a CPU", kMlp, fp32, {plan_of({kCpu, kGpu})}, "torch"},
      {"perhaps a GPU", kMlp, fp32, {plan_of({kCpu}), plan_of({kGpu})}, "torch"},
      {"OpenCL, which torch does not know", kMlp, fp32, {plan_of({kOpencl})}, "native"},
      {"OpenCL and a CPU", kMlp, fp32, {plan_of({kOpencl, kCpu})}, "native"},
      {"another network on OpenCL, which no engine does", "resnet20", fp32, {plan_of({kOpencl})}, "native"},
      {"CPUs to choose from", kMlp, fp32, {plan_of({kCpu}), plan_of({kCpu, kCpu})}, "native"},
      {"bf16", kMlp, with(Precision::kBf16), {plan_of({kCpu})}, bfloat16},
      {"fp16, which CPUs compute as bf16", kMlp, with(Precision::kFp16), {plan_of({kCpu})}, bfloat16},
      {"tf32, which CPUs compute as fp32", kMlp, with(Precision::kTf32), {plan_of({kCpu})}, "native"},
      {"bf16 on hosts that may differ", kMlp, with(Precision::kBf16), {plan_of({kCpu, kCpu}, 1)}, "torch"},
  };
  for (const Case& c : cases) EXPECT_EQ(chosen(c.model, c.options, c.plans), c.expected) << c.what;
}

TEST_F(EngineChoiceTest, PlainInstructionsAreLeftToTorch) {
  const auto fp32 = with(Precision::kFp32);
  EXPECT_EQ(chosen(kMlp, fp32, {plan_of({kCpu})}, "", SimdLevel::kBaseline), "torch");
  EXPECT_EQ(chosen(kMlp, fp32, {plan_of({kCpu})}, "", SimdLevel::kAvx512), "native");
}

TEST_F(EngineChoiceTest, ARunKeepsItsEngine) {
  const auto fp32 = with(Precision::kFp32);
  EXPECT_EQ(chosen(kMlp, fp32, {plan_of({kCpu})}, "torch"), "torch");
  EXPECT_EQ(chosen(kMlp, fp32, {plan_of({kCpu})}, "native", SimdLevel::kBaseline), "native");
  EXPECT_EQ(chosen(kMlp, with(Precision::kFp32, engine::OptimizerKind::kAdamW), {plan_of({kCpu})}, "native"), "torch");
  EXPECT_EQ(chosen("resnet20", fp32, {plan_of({kCpu})}, "torch"), "torch");
}

TEST_F(EngineChoiceTest, NaiveKernelsAreNativeWhetherItCanOrNot) {
  auto naive = with(Precision::kFp32);
  naive.native.kernels = engine::KernelChoice::kNaive;
  EXPECT_EQ(chosen(kMlp, naive, {plan_of({kCpu})}, "", SimdLevel::kBaseline), "native");
  EXPECT_EQ(chosen("resnet20", naive, {plan_of({kCpu})}), "native");
  EXPECT_EQ(chosen(kMlp, naive, {plan_of({kGpu})}), "native");
  EXPECT_EQ(chosen(kMlp, naive, {plan_of({kCpu})}, "torch"), "native");  // a run that goes on with them
  naive.optimizer.kind = engine::OptimizerKind::kAdamW;
  EXPECT_EQ(chosen(kMlp, naive, {plan_of({kCpu})}), "native");
  naive = with(Precision::kBf16);
  naive.native.kernels = engine::KernelChoice::kNaive;
  EXPECT_EQ(chosen(kMlp, naive, {plan_of({kCpu})}), "native");
  native_.reset();
  EXPECT_EQ(chosen(kMlp, naive, {plan_of({kCpu})}), "native") << "whose absence is told then";
}

TEST_F(EngineChoiceTest, WithoutItsModuleThereIsTorch) {
  native_.reset();
  EXPECT_EQ(chosen(kMlp, with(Precision::kFp32), {plan_of({kCpu})}), "torch");
  EXPECT_EQ(chosen(kMlp, with(Precision::kFp32), {plan_of({kCpu})}, "native"), "torch");
}

}  // namespace
}  // namespace evener::task
