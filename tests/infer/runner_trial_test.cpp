// Trials of runners, with runners that only wait.
// Which engine runs a trained network where the user names none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "infer/run/infer.h"
#include "infer/run/runner_choice.h"
#include "network/passes/quantize.h"
#include "network/zoo.h"

namespace evener::inference {
namespace {

using network::Conv2d;
using network::Network;
using network::Shape;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SlowRunner : public engine::Runner {
 public:
  explicit SlowRunner(bool fails) : fails_(fails) {}
  void start(const engine::ImageSpan&) override {
    if (fails_) throw Error("no memory for it");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  TensorMap wait() override { return {}; }

 private:
  const bool fails_;
};

Runners slow_one(bool fails) {
  Runners runners;
  runners.push_back(std::make_unique<SlowRunner>(fails));
  return runners;
}

const SampleValues kBatch = {.bytes = {1}, .floats = {}};

// A line of stages is filled before its first call ends.
TEST(RunnerTrial, RatesLeaveOutTheFirstCalls) {
  EXPECT_THAT(rates_between({{5, 5.5, 6, 6.25, 6.5, 7, 7.5}}, 1), ElementsAre(2.4)) << "6 calls in 2.5 s";
  EXPECT_THAT(rates_between({{5, 6, 6.25, 6.5, 7}}, 2), ElementsAre(1, 3));
  EXPECT_THAT(rates_between({{0.25}}, 3), ElementsAre(4)) << "one call tells something, too";
  EXPECT_THAT(rates_between({{0.5, 1}, {2}}, 3), ElementsAre(1.5)) << "one was too slow for a second call";
  EXPECT_THAT(rates_between({{0.5}, {}}, 3), IsEmpty()) << "stopped";
}

// Beside another program one runner is slower: none waits for it, and what it has half done counts.
TEST(RunnerTrial, RatesAreOfAllRunnersAtTheirOwnPace) {
  EXPECT_THAT(rates_between({{1, 2, 3, 4, 5, 6, 7}, {2, 4, 6}}, 2), ElementsAre(1.5, 1.5)) << "from 2 to 6 s";
  EXPECT_THAT(rates_between({{1, 2, 3, 4, 5, 6, 7}, {2, 4, 6}}, 10), ElementsAre(1.5, 1.5))
      << "each ends a call in each stretch";
  EXPECT_THAT(rates_between({{1, 2, 3, 4, 5}, {1, 3, 5}}, 1), ElementsAre(1.5));
  EXPECT_THAT(rates_between({{1, 2, 3, 4, 5, 6, 7}, {1.5, 4.5, 5.75}}, 1),
              ElementsAre(DoubleNear((4.25 + 2) / 4.25, 1e-12)))
      << "half a call at the begin, three quarters of one at the end";
}

TEST(RunnerTrial, RatesAreOfTheCallsThatWereMade) {
  EXPECT_THAT(call_rates(slow_one(false), kBatch, 0, 3),
              ElementsAre(testing::AllOf(testing::Gt(0), testing::Le(1000))));
}

// Runners compute on threads of their own, where an exception would end the program.
TEST(RunnerTrial, AFailureIsTheCallers) {
  EXPECT_THROW(call_rates(slow_one(true), kBatch, 0.01, 2), Error);
}

/// One convolution that Winograd's kernels suit, after `change`: each image has 4 x 4 tiles.
double gain_of(const std::function<void(Conv2d&)>& change = {}, std::int64_t batch = 100, Shape input = {32, 16, 16},
               int threads = 1) {
  Network network("net", std::move(input));
  Conv2d op{.out_channels = 64, .kernel = 3, .padding = 1, .bias = false};
  if (change) change(op);
  network.add("conv", op);
  return winograd_use(network, batch, threads).gain;
}

TEST(WinogradUse, CountsConvolutionsThatItShortens) {
  EXPECT_DOUBLE_EQ(gain_of(), 0.6 * 4) << "a quarter of the multiplications";
  const double direct = gain_of([](Conv2d& op) { op.kernel = 5; });
  EXPECT_DOUBLE_EQ(direct, 0.85);
  EXPECT_EQ(gain_of([](Conv2d& op) { op.stride = 2; }), direct);
  EXPECT_EQ(gain_of([](Conv2d& op) { op.groups = 2; }), direct);
  EXPECT_EQ(gain_of([](Conv2d& op) { op.weight_bits = 8; }), direct);
  EXPECT_EQ(gain_of([](Conv2d& op) { op.out_channels = 16; }), direct) << "too few channels";
  EXPECT_EQ(gain_of([](Conv2d& op) { op.out_channels = 40; }), direct) << "no multiple of 16";
  EXPECT_EQ(gain_of({}, 100, {24, 16, 16}), direct);
}

TEST(WinogradUse, WantsTilesForEachThread) {
  EXPECT_LT(gain_of({}, 2), 1);
  EXPECT_GT(gain_of({}, 3), 1) << "48 tiles";
  EXPECT_LT(gain_of({}, 5, {32, 16, 16}, 2), 1);
  EXPECT_GT(gain_of({}, 6, {32, 16, 16}, 2), 1);
}

TEST(WinogradUse, LosesByTilesThatAreNotFull) {
  EXPECT_DOUBLE_EQ(gain_of({}, 100, {32, 14, 14}), 0.6 * 4 * (14 * 14) / (16 * 16));
  EXPECT_DOUBLE_EQ(gain_of({}, 100, {32, 16, 12}), 0.6 * 4) << "12 tiles";
  EXPECT_LT(gain_of({}, 100, {32, 2, 2}), 1) << "a quarter of each tile";
}

TEST(WinogradUse, KnowsTheShareOfTheOperations) {
  const WinogradUse resnet = winograd_use(network::build("resnet18", {}), 16, 1);
  EXPECT_NEAR(resnet.share, 0.8, 0.05);
  EXPECT_NEAR(resnet.gain, 1.6, 0.1) << "1.62 was measured";
  EXPECT_NEAR(winograd_use(network::build("resnet34", {}), 16, 1).gain, 1.8, 0.1) << "1.82 was measured";
  EXPECT_LT(winograd_use(network::build("mobilenet_v2", {}), 16, 1).share, 0.01);
  EXPECT_EQ(winograd_use(Network("net", {4}), 16, 1).gain, 1) << "no operations";
}

class RunnerChoiceTest : public testing::Test {
 protected:
  RunnerChoiceTest() {
    question_.network = &network_;
    question_.batch = 16;
    question_.images = 10'000;
    question_.threads = question_.streams = 2;
    question_.level = SimdLevel::kAvx512;
    question_.has_torch = [this] { return ++asked_, has_torch_; };
  }
  std::string chosen() const { return choose_runner_engine(question_).engine; }
  std::string reason() const { return choose_runner_engine(question_).reason; }
  std::string chosen_for(const char* model) {
    network_ = network::build(model, {});
    return chosen();
  }

  Network network_ = network::build("resnet18", {});
  RunnerQuestion question_;
  bool has_torch_ = true;
  int asked_ = 0;
};

TEST_F(RunnerChoiceTest, IsTheOneThatWasMeasuredFaster) {
  for (const SimdLevel level : {SimdLevel::kAvx512, SimdLevel::kAvx2}) {
    question_.level = level;
    question_.batch = 16;
    for (const char* model : {"resnet18", "resnet34", "resnet50", "inception_resnet_v1"}) {
      EXPECT_EQ(chosen_for(model), "torch") << model;
    }
    for (const char* model : {"mobilenet_v2", "mobilenet_v3_large", "ssdlite320_mobilenet_v3_large", "mlp:784-32-10"}) {
      EXPECT_EQ(chosen_for(model), "openvino") << model;
    }
    question_.batch = 1;
    for (const char* model : {"resnet50", "inception_resnet_v1", "resnet20"}) {
      EXPECT_EQ(chosen_for(model), "openvino") << model;
    }
  }
}

TEST_F(RunnerChoiceTest, FewImagesDontPayForLibTorch) {
  asked_ = 0;
  question_.images = 1;
  EXPECT_EQ(chosen(), "openvino");
  EXPECT_THAT(reason(), HasSubstr("by rule torch is for "));
  EXPECT_EQ(asked_, 0) << "to ask loads it";
  const auto fewest = [this] {
    const std::string text = (question_.images = 1, reason());
    return std::stoll(text.substr(text.find("for ", text.find("torch")) + 4));
  };
  const std::int64_t of_two = fewest();
  EXPECT_NEAR(static_cast<double>(of_two), 206, 20) << "1 s of 4.9 ms each";
  question_.images = of_two - 1;
  EXPECT_EQ(chosen(), "openvino");
  question_.images = of_two;
  EXPECT_EQ(chosen(), "torch");
  question_.threads = question_.streams = 8;
  EXPECT_NEAR(static_cast<double>(fewest()), 4.0 * static_cast<double>(of_two), 4) << "they save less time each";
  question_.level = SimdLevel::kAvx2;
  EXPECT_NEAR(static_cast<double>(fewest()), 2.0 * static_cast<double>(of_two), 4) << "of a slower processor";
}

TEST_F(RunnerChoiceTest, ThreadsOfOneCallShareItsTiles) {
  question_.batch = 4;
  question_.threads = 8;
  question_.streams = 8;
  EXPECT_EQ(chosen(), "torch");
  question_.streams = 1;
  EXPECT_EQ(chosen(), "openvino");
}

TEST_F(RunnerChoiceTest, OnlyFloat32IsLeftToTorch) {
  question_.precision = Precision::kTf32;  // which CPUs compute in float32
  EXPECT_EQ(chosen(), "torch");
  question_.precision = Precision::kBf16;
  EXPECT_EQ(chosen(), "openvino");
  EXPECT_THAT(reason(), HasSubstr("bf16"));
  question_.precision = Precision::kFp16;
  EXPECT_EQ(chosen(), "openvino");
  question_.precision = Precision::kFp32;
  question_.level = SimdLevel::kBaseline;
  EXPECT_EQ(chosen(), "openvino");
  question_.network = nullptr;
  EXPECT_EQ(chosen(), "openvino");
  EXPECT_THAT(reason(), HasSubstr("other programs"));
}

TEST_F(RunnerChoiceTest, WithoutLibTorchThereIsOpenVino) {
  has_torch_ = false;
  EXPECT_EQ(chosen(), "openvino");
  EXPECT_THAT(reason(), HasSubstr("can't be used"));
  EXPECT_GT(asked_, 0);
}

}  // namespace

}  // namespace evener::inference
