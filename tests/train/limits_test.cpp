// What is refused before the first step.
// Which engine trains where the user names none.
#include "train/steps/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/module.h"
#include "base/precision.h"
#include "base/thrown.h"
#include "network/zoo.h"
#include "placement/placement.h"
#include "placement/plan.h"
#include "train/steps/job.h"
#include "train/steps/trial.h"

namespace evener::training {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// What require_trainable_batch says; "" = nothing.
std::string refusal(const network::Network& network, std::size_t images, std::int64_t batch, int accumulate = 1) {
  return test::thrown_by<UsageError>([&] { require_trainable_batch(network, images, batch, accumulate); }, "");
}

/// ResNet-18's last layers see one pixel of these images.
network::Network one_pixel_resnet() {
  return network::build("resnet18", {network::Shape{1, 32, 32}, 2});
}

TEST(RequireTrainableBatch, RefusesABatchOfOneWhereALayerSeesOnePixel) {
  const network::Network network = one_pixel_resnet();
  EXPECT_EQ(refusal(network, 64, 16), "");
  EXPECT_EQ(refusal(network, 66, 16), "");
  EXPECT_EQ(refusal(network, 7, 16), "");
  EXPECT_THAT(refusal(network, 65, 16), AllOf(HasSubstr("65 training images and --batch 16"), HasSubstr("layer4.0.bn1"),
                                              HasSubstr("Use another --batch or a larger --size")));
  EXPECT_THAT(refusal(network, 64, 1), HasSubstr("a batch has one image"));
  EXPECT_THAT(refusal(network, 1, 16), HasSubstr("a batch has one image"));
  EXPECT_EQ(refusal(network::build("resnet18", {network::Shape{1, 64, 64}, 2}), 65, 16), "");
  EXPECT_EQ(refusal(network::build("mlp:1024-4-2", {network::Shape{1, 32, 32}, 2}), 65, 16), "");
}

TEST(RequireTrainableBatch, LooksAtThePartsOfABatch) {
  const network::Network network = one_pixel_resnet();
  EXPECT_EQ(refusal(network, 64, 16, 8), "");
  EXPECT_EQ(refusal(network, 64, 17, 8), "");
  EXPECT_EQ(refusal(network, 67, 16, 8), "") << "the last batch, of 3, is one part";
  EXPECT_THAT(refusal(network, 64, 16, 9),
              AllOf(HasSubstr("--accumulate 9 a part of a batch has one image"), HasSubstr("a smaller --accumulate")));
  EXPECT_THAT(refusal(network, 65, 16, 8), HasSubstr("a part of a batch has one image"));
}

TEST(LeastShare, IsTwoWhereOneImageHasNoVariance) {
  EXPECT_EQ(least_share(one_pixel_resnet(), /*local_batch_norm=*/true), 2);
  EXPECT_EQ(least_share(one_pixel_resnet(), /*local_batch_norm=*/false), 1);
  EXPECT_EQ(least_share(network::build("resnet20", {network::Shape{1, 32, 32}, 2}), true), 1);
}

/// Images without pixels: of classes, or of boxes where `boxes` have any.
class Labelled : public data::Dataset {
 public:
  explicit Labelled(std::vector<std::vector<std::int32_t>> labels, data::TargetKind kind)
      : labels_(std::move(labels)), kind_(kind) {}
  std::size_t size() const override { return labels_.size(); }
  data::ImageShape shape() const override { return {1, 2, 3}; }
  const std::vector<std::string>& classes() const override { return classes_; }
  data::TargetKind target_kind() const override { return kind_; }
  data::SampleTargets targets(std::size_t index) const override {
    if (kind_ == data::TargetKind::kClasses) return labels_[index].front();
    std::vector<data::LabelledBox> boxes;
    for (const std::int32_t label : labels_[index]) boxes.push_back({.x2 = 1, .y2 = 1, .label = label});
    return boxes;
  }
  void read(std::size_t, std::span<std::uint8_t>) const override {}
  std::string source(std::size_t index) const override { return std::to_string(index); }

 private:
  std::vector<std::vector<std::int32_t>> labels_;
  data::TargetKind kind_;
  std::vector<std::string> classes_ = {"ant", "bee", "cow", "dog", "eel", "fox", "gnu", "hen"};
};

/// Sentences on parts of images with these labels, which are indices of a letter.
std::vector<std::string> lacking(const std::string& train, const std::string& val, const std::string& test,
                                 bool trains = true, data::TargetKind kind = data::TargetKind::kClasses) {
  data::OpenedData data;
  std::vector<std::vector<std::int32_t>> labels;
  const std::pair<const std::string&, std::vector<std::uint32_t>&> parts[] = {
      {train, data.split.train}, {val, data.split.val}, {test, data.split.test}};
  for (const auto& [letters, part] : parts) {
    for (const char letter : letters) {
      part.push_back(static_cast<std::uint32_t>(labels.size()));
      labels.push_back({letter - 'a'});
      if (kind == data::TargetKind::kBoxes) labels.back().push_back(letter - 'a');
    }
  }
  data.dataset = std::make_shared<Labelled>(std::move(labels), kind);
  return lacking_classes(data, trains);
}

TEST(LackingClasses, AreNamedWithTheirCountsInTheOtherParts) {
  EXPECT_THAT(lacking("aab", "ab", "ba"), IsEmpty());
  EXPECT_THAT(lacking("aab", "", ""), IsEmpty()) << "there is no such part";
  EXPECT_THAT(lacking("aaabbcc", "ab", "abcc"),
              ElementsAre("of the 2 images to validate on, none is of 'cow' (2 to train on, 2 to test on): the figures "
                          "of this part say nothing of that"));
  EXPECT_THAT(
      lacking("aaabb", "aa", "bb"),
      ElementsAre(HasSubstr("of the 2 images to validate on, all of class 'ant', none is of 'bee' (2 to train "
                            "on, 2 to test on): "),
                  HasSubstr("of the 2 images to test on, all of class 'bee', none is of 'ant' (3 to train on, 2 "
                            "to validate on): ")));
  EXPECT_THAT(lacking("aaa", "abb", ""),
              ElementsAre("of the 3 images to train on, all of class 'ant', none is of 'bee' (2 to validate on): what "
                          "is not trained is not found"));
  EXPECT_THAT(lacking("aaa", "abb", "", /*trains=*/false), IsEmpty());
  EXPECT_THAT(lacking("abcdefgh", "h", ""), ElementsAre(HasSubstr("'eel' (1 to train on) and 2 classes more: ")));
  EXPECT_THAT(
      lacking("aab", "a", "", true, data::TargetKind::kBoxes),
      ElementsAre(HasSubstr("of the 2 boxes to validate on, all of class 'ant', none is of 'bee' (2 to train on)")));
}

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

struct Search {
  std::int64_t found = 0;
  std::vector<std::int64_t> tried;
};

/// A device that has room for `room` images.
Search search(std::int64_t most, std::int64_t room) {
  Search search;
  search.found = largest_that_fits(most, [&](std::int64_t images) {
    search.tried.push_back(images);
    return images <= room;
  });
  return search;
}

TEST(LargestThatFits, IsFoundToA32ndAndNeverTooLarge) {
  for (const std::int64_t room : {1, 2, 15, 16, 17, 31, 100, 777, 12345, 500000}) {
    const Search result = search(1'000'000, room);
    EXPECT_LE(result.found, room);
    EXPECT_LE(room - result.found, std::max<std::int64_t>(0, room / 32)) << room;
    EXPECT_LE(result.tried.size(), 25U) << room;
  }
}

TEST(LargestThatFits, TriesNoMoreThanThereIs) {
  const Search all = search(50, 1000);
  EXPECT_EQ(all.found, 50);
  EXPECT_EQ(all.tried, (std::vector<std::int64_t>{16, 32, 50}));
  EXPECT_EQ(search(1, 1000).found, 1);
  EXPECT_EQ(search(5, 3).found, 3);
}

TEST(LargestThatFits, IsNoneWhereNotEvenOneFits) {
  EXPECT_EQ(search(1000, 0).found, 0);
}

/// Has memory for 40 images.
class FullTrainer : public engine::Trainer {
 public:
  void clear_gradients() override {}
  engine::Sums add_gradients(const data::Batch& batch, double) override {
    if (batch.count > 40) throw engine::OutOfMemory("full");
    if (batch.count == 7) throw Error("another fault");
    steps_ += 1;
    return engine::classification_sums(1, 0, batch.count);
  }
  void apply(double learning_rate) override { EXPECT_EQ(learning_rate, 0); }
  engine::Sums evaluate(const data::Batch& batch, std::vector<std::int32_t>*) override {
    EXPECT_GT(steps_, 8) << "as many as an engine needs to settle";
    return engine::classification_sums(0, 0, batch.count);
  }
  TensorMap state() const override { return {}; }
  void load_state(const TensorMap&) override {}
  TensorMap optimizer_state() const override { return {}; }
  void load_optimizer_state(const TensorMap&) override {}
  engine::Capabilities capabilities() override { return {}; }

 private:
  int steps_ = 0;
};

class FullEngine : public engine::Engine {
 public:
  const char* name() const override { return "full"; }
  std::string trainer_refusal(const network::Network&, const engine::TrainerOptions&) const override { return ""; }
  std::unique_ptr<engine::Trainer> make_trainer(const network::Network&, const engine::TrainerOptions&) override {
    return std::make_unique<FullTrainer>();
  }
};

TEST(CanTrain, SaysNoOnlyWhereMemoryIsShort) {
  FullEngine engine;
  const auto network = network::build("mlp:4-3-2", {.input = network::Shape{1, 2, 2}});
  EXPECT_TRUE(can_train(engine, network, {}, {}, 40, 40));
  EXPECT_FALSE(can_train(engine, network, {}, {}, 41, 41));
  EXPECT_THROW(can_train(engine, network, {}, {}, 7, 7), Error);
}

/// Has memory for 40 images, and keeps what batches of a size take once there were eight of them.
class KeepingTrainer : public FullTrainer {
 public:
  engine::Sums add_gradients(const data::Batch& batch, double weight) override {
    if (batch.count != kept_ && batch.count + kept_ > 40) throw engine::OutOfMemory("full");
    if (batch.count == 1) throw Error("there is no variance of one");
    if (++steps_of_[batch.count] == 8) kept_ = batch.count;
    return FullTrainer::add_gradients(batch, weight);
  }

 private:
  std::map<std::int64_t, int> steps_of_;
  std::int64_t kept_ = 0;
};

class KeepingFullEngine : public FullEngine {
 public:
  std::unique_ptr<engine::Trainer> make_trainer(const network::Network&, const engine::TrainerOptions&) override {
    return std::make_unique<KeepingTrainer>();
  }
};

TEST(CanTrain, TriesTheLastBatchOfAnEpochBesideWhatWholeOnesKeep) {
  KeepingFullEngine engine;
  const auto network = network::build("mlp:4-3-2", {.input = network::Shape{1, 2, 2}});
  EXPECT_TRUE(can_train(engine, network, {}, {}, 25, 50)) << "there is none";
  EXPECT_TRUE(can_train(engine, network, {}, {}, 25, 60));
  EXPECT_FALSE(can_train(engine, network, {}, {}, 25, 70));
  EXPECT_TRUE(can_train(engine, network, {}, {}, 25, 26)) << "one image is no matter of memory";
}

placement::Plan plan_on(DeviceKind kind) {
  placement::Plan plan;
  plan.text = device_kind_name(kind);
  plan.replicas.resize(1);
  plan.replicas[0].stages.resize(1);
  plan.replicas[0].stages[0].device.kind = kind;
  return plan;
}

TEST(DataOnDevice, NeedsAGpuAndChangesThatItCanMake) {
  const auto refusal = [](DeviceKind kind, const char* augment, const char* engine = "torch") {
    try {
      require_data_on_device(plan_on(kind), data::parse_augment(augment), engine);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal(DeviceKind::kCpu, ""), HasSubstr("placement 'cpu' has no GPU"));
  EXPECT_EQ(refusal(DeviceKind::kCuda, ""), "");
  EXPECT_EQ(refusal(DeviceKind::kCuda, "", "native"), "");
  EXPECT_EQ(refusal(DeviceKind::kCuda, "flip,crop:4,colour:0.2,mixup:0.2"), "");
  EXPECT_THAT(refusal(DeviceKind::kCuda, "flip,resized-crop,mosaic"), HasSubstr("but for resized-crop, mosaic"));
  EXPECT_THAT(refusal(DeviceKind::kCuda, "flip", "native"), HasSubstr("the native engine has them changed on the CPU"));
}

placement::Plan plan_of_cores(int cores, const std::vector<std::vector<placement::PlanStage>>& replicas,
                              int hosts = 1) {
  placement::Plan plan;
  plan.cores = cores;
  plan.processes.emplace_back();
  for (const auto& stages : replicas) {
    plan.replicas.push_back({static_cast<int>(plan.replicas.size()), stages, std::nullopt});
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      plan.processes[0].ranks.push_back(static_cast<int>(plan.processes[0].ranks.size()));
    }
  }
  return placement::on_hosts(plan, hosts);
}

TEST(LoaderThreads, AreHalfOfTheCoresThatNobodyComputesOnBesideAGpu) {
  placement::PlanStage cpu, gpu;
  cpu.threads = 6;
  gpu.device.kind = DeviceKind::kCuda;
  EXPECT_EQ(usual_loader_threads({}, 0), 1);
  EXPECT_EQ(usual_loader_threads(plan_of_cores(16, {{cpu}}), 0), 1);
  EXPECT_EQ(usual_loader_threads(plan_of_cores(16, {{gpu}}), 0), 8);
  EXPECT_EQ(usual_loader_threads(plan_of_cores(96, {{gpu}}), 0), 16);
  EXPECT_EQ(usual_loader_threads(plan_of_cores(1, {{gpu}}), 0), 1);
  const placement::Plan hybrid = plan_of_cores(16, {{gpu}, {cpu}});
  EXPECT_EQ(usual_loader_threads(hybrid, 0), 5);
  EXPECT_EQ(usual_loader_threads(hybrid, 1), 1);
  EXPECT_EQ(usual_loader_threads(plan_of_cores(32, {{gpu}, {gpu}}), 1), 8);
  EXPECT_EQ(usual_loader_threads(plan_of_cores(16, {{gpu}}, 3), 2), 8) << "each host has its own cores";
  EXPECT_EQ(usual_loader_threads(plan_of_cores(16, {{cpu, gpu}}), 1), 5);
  EXPECT_EQ(usual_loader_threads(plan_of_cores(4, {{cpu, gpu}}), 1), 1);
}

}  // namespace

}  // namespace evener::training
