// What the native engine refuses, what it takes of the machine, and how its time is booked.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>

#include "base/cpu.h"
#include "base/error.h"
#include "base/phase.h"
#include "base/precision.h"
#include "engine/batches_helpers.h"
#include "network/zoo.h"

namespace evener {
namespace {

using engine::KernelChoice;
using engine::TrainerOptions;
using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class NativeLimits : public EngineTest<kNative> {};

network::Network mlp(const std::string& model, data::ImageShape shape) {
  return network::build(model, {.input = network::Shape{shape.channels, shape.height, shape.width}});
}

std::unique_ptr<engine::Trainer> native(const network::Network& network, const TrainerOptions& options = {}) {
  return make_trainer(network, options, {}, "native");
}

TrainerOptions naive() {
  TrainerOptions options;
  options.native.kernels = KernelChoice::kNaive;
  return options;
}

TEST_F(NativeLimits, RefusesWhatItCannotDo) {
  const auto engine = engine::open_engine("native");
  const data::ImageShape shape{3, 24, 20};
  const auto why = [&](const network::Network& network, const TrainerOptions& options) {
    return engine->trainer_refusal(network, options);
  };
  EXPECT_THAT(why(small_resnet(shape, 4), {}),
              AllOf(HasSubstr("'conv1'"), HasSubstr("conv2d"), HasSubstr("--engine torch")));
  network::Network dropout("dropout", {16});
  dropout.add("drop", network::Dropout{0.5});
  dropout.add("fc", network::Linear{3});
  EXPECT_THAT(why(dropout, {}), HasSubstr("'drop'"));
  using network::ActivationKind;
  for (const auto kind : {ActivationKind::kSilu, ActivationKind::kHardSwish, ActivationKind::kHardSigmoid}) {
    network::Network other("other", {16});
    other.add("0", network::Linear{8});
    other.add("1", network::Activation{kind});
    other.add("2", network::Linear{3});
    EXPECT_THAT(why(other, {}), AllOf(HasSubstr("'1'"), HasSubstr(network::op_name(network::Activation{kind}))));
  }
  network::Network two("two", {16});
  const int middle = two.add("0", network::Linear{8});
  two.set_output("last", two.add("1", network::Linear{3}));
  EXPECT_EQ(why(two, {}), "") << "its last layer alone, under another name";
  two.set_output("middle", middle);
  EXPECT_THAT(why(two, {}), HasSubstr("outputs last 3, middle 8"));
  const network::Network network = small_mlp(shape, 4);
  EXPECT_EQ(why(network, {}), "");
  TrainerOptions options;
  options.optimizer.kind = engine::OptimizerKind::kAdamW;
  EXPECT_THAT(why(network, options), AllOf(HasSubstr("adamw"), HasSubstr("--optimizer sgd")));
  options = naive();
  options.precision = Precision::kBf16;
  EXPECT_THAT(why(network, options), AllOf(HasSubstr("naive"), HasSubstr("bf16")));
  options = {};
  options.device = {DeviceKind::kCuda, 1};
  EXPECT_THAT(why(network, options), HasSubstr("cuda:1"));
}

TEST_F(NativeLimits, RefusesLayersThatAreTooWideForCuda) {
  const auto why = [](const std::string& model, data::ImageShape shape, DeviceKind kind) {
    TrainerOptions options;
    options.device = {kind, 0};
    return engine::open_engine("native")->trainer_refusal(mlp(model, shape), options);
  };
  constexpr const char* kTooWide = "has 2097152 inputs; the native engine's kernels for CUDA take up to 2097120";
  const data::ImageShape wide{1, 2048, 1024};
  EXPECT_THAT(why("mlp:2097152-2", wide, DeviceKind::kCuda), HasSubstr(std::string("layer '0' ") + kTooWide));
  EXPECT_THAT(why("mlp:4-2097152-2", {1, 2, 2}, DeviceKind::kCuda), HasSubstr(std::string("layer '2' ") + kTooWide));
  EXPECT_THAT(why("mlp:2097120-2", {1, 2040, 1028}, DeviceKind::kCuda), Not(HasSubstr("inputs")));
  EXPECT_THAT(why("mlp:2097152-2", wide, DeviceKind::kOpencl), Not(HasSubstr("inputs")));
  EXPECT_EQ(why("mlp:2097152-2", wide, DeviceKind::kCpu), "");
}

TEST_F(NativeLimits, EvaluationIsNoForwardPhase) {
  struct Heard : PhaseListener {
    Heard() { set_phase_listener(this); }
    ~Heard() override { set_phase_listener(nullptr); }
    void on_phase(Phase phase, bool, std::int64_t, std::int64_t, std::int64_t) override {
      const std::lock_guard lock(mutex);
      phases.insert(phase);
    }
    std::mutex mutex;
    std::set<Phase> phases;
  };
  const data::ImageShape shape{1, 4, 4};
  const OwnedBatch batch = random_batch(8, shape, 3);
  for (const TrainerOptions& options : {TrainerOptions{}, naive()}) {
    const auto trainer = native(mlp("mlp:16-20-3", shape), options);
    Heard heard;
    trainer->evaluate(batch.view(), nullptr);
    EXPECT_THAT(heard.phases, testing::ElementsAre(Phase::kEvaluate));
    trainer->forward_backward(batch.view(), 1);
    EXPECT_THAT(heard.phases, testing::ElementsAre(Phase::kForward, Phase::kBackward, Phase::kEvaluate));
  }
}

TEST_F(NativeLimits, RefusesForeignBatchesAndWeights) {
  const data::ImageShape shape{1, 4, 4};
  const auto trainer = native(mlp("mlp:16-20-3", shape));
  const auto message = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  const OwnedBatch large = random_batch(2, {1, 5, 4}, 3), wide = random_batch(8, shape, 9);
  EXPECT_THAT(message([&] { trainer->forward_backward(large.view(), 1); }), AllOf(HasSubstr("20"), HasSubstr("16")));
  EXPECT_THAT(message([&] { trainer->step(wide.view(), 1, 0.1); }), HasSubstr("3 outputs"));
  TensorMap state = trainer->state();
  state.at("0.bias") = HostTensor::of_floats({3}, {1, 2, 3});
  EXPECT_THAT(message([&] { trainer->load_state(state); }), AllOf(HasSubstr("0.bias"), HasSubstr("20")));
  state.erase("0.bias");
  EXPECT_THAT(message([&] { trainer->load_state(state); }), HasSubstr("0.bias"));
}

std::ptrdiff_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST_F(NativeLimits, StartsNoMoreThreadsThanThereAreCpus) {
  const network::Network network = network::build("mlp:20-7-5", {});
  TrainerOptions options;
  options.threads = 1000;
  // The first trainer's threads may bring others: a sanitizer starts one of its own with the first thread of a process.
  const auto first = native(network, options);
  const std::ptrdiff_t before = threads_of_this_process();
  const auto second = native(network, options);
  EXPECT_EQ(threads_of_this_process(), before + std::min(usable_cpus(), 1000) - 1);
}

}  // namespace
}  // namespace evener
