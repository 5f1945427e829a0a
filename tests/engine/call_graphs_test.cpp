// Runners that replay the work of a call: on the CPU driven as a GPU is, and on a GPU where there is one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/device.h"
#include "engine/device_helpers.h"
#include "network/init.h"
#include "network/zoo.h"

namespace evener {
namespace {

using namespace test;
using testing::HasSubstr;

class CallGraphsTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) engine_ = engine::open_engine("torch");
  }

  engine::RunnerOptions plain() const {
    engine::RunnerOptions options;
    options.batch = 3;
    options.mean = {0.4F, 0.5F, 0.6F};
    options.standard_deviation = {0.2F, 0.25F, 0.3F};
    return options;
  }
  engine::RunnerOptions replaying() const {
    engine::RunnerOptions options = plain();
    options.device = GetParam();
    options.torch.like_accelerator = true;
    return options;
  }
  std::unique_ptr<engine::Runner> runner(const network::Network& network, const engine::RunnerOptions& options) const {
    return engine_->make_runner(network, network::initial_state(network, 1), options);
  }

  std::unique_ptr<engine::Engine> engine_;
};

TEST_P(CallGraphsTest, OutputsAreThoseOfCallsMadeOneByOne) {
  for (const network::Network& network : {small_resnet(kColour, 5), two_outputs(kColour, 5)}) {
    engine::RunnerOptions options = replaying();
    options.in_flight = 2;
    const auto one_by_one = runner(network, plain()), replayed = runner(network, options);
    EXPECT_EQ(replayed->note(), "");
    std::vector<TensorMap> expected;
    for (std::uint64_t call = 0; call < 8; ++call) {
      const auto batch = random_batch(3, kColour, 5, call);
      one_by_one->start(std::span(batch.images));
      expected.push_back(one_by_one->wait());
      replayed->start(std::span(batch.images));
      if (call == 0) continue;  // two calls are under way, and the later one doesn't touch what the earlier one gave
      EXPECT_LT(relative_distance(replayed->wait(), expected[call - 1]), close()) << call;
    }
    EXPECT_LT(relative_distance(replayed->wait(), expected.back()), close());
    EXPECT_THAT(replayed->note(), HasSubstr("replayed as a graph"));
    EXPECT_EQ(one_by_one->note(), "");
  }
}

// More sizes than are kept, in turn and then each several times; bytes and floats of one size.
TEST_P(CallGraphsTest, SizesComeAndGo) {
  network::Network network("windows", {3, 12, 12});
  network.add("conv", network::Conv2d{4, 3, 1, 0});
  network.add("relu", network::Activation{});
  network.add("score", network::Conv2d{2, 1, 1, 0});
  engine::RunnerOptions options = replaying();
  options.any_size = true;
  engine::RunnerOptions alone = plain();
  alone.any_size = true;
  const auto one_by_one = runner(network, alone), replayed = runner(network, options);
  std::uint64_t seed = 0;
  const auto expect_equal = [&](std::int64_t size, bool floats) {
    SCOPED_TRACE(size);
    const auto batch = random_batch(2, {3, size, 12}, 2, ++seed);
    const std::vector<float> values(batch.images.begin(), batch.images.end());
    std::vector<TensorMap> outputs;
    for (engine::Runner* each : {one_by_one.get(), replayed.get()}) {
      floats ? each->start_of_size(std::span(values), 2, size, 12)
             : each->start_of_size(std::span(batch.images), 2, size, 12);
      outputs.push_back(each->wait());
    }
    EXPECT_LT(relative_distance(outputs[1], outputs[0]), close());
  };
  for (int round = 0; round < 4; ++round) {
    for (std::int64_t size = 8; size < 15; ++size) expect_equal(size, /*floats=*/false);
  }
  EXPECT_EQ(replayed->note(), "") << "none was kept for as long as it takes";
  for (std::int64_t size = 8; size < 15; ++size) {
    for (int call = 0; call < 5; ++call) expect_equal(size, call % 2 == 1);
    for (int call = 0; call < 5; ++call) expect_equal(size, /*floats=*/false);
  }
  EXPECT_THAT(replayed->note(), HasSubstr("replayed as a graph"));
  for (std::int64_t size = 8; size < 15; ++size) expect_equal(size, /*floats=*/false);
}

TEST_P(CallGraphsTest, RunnersOfOneDeviceShareTheWeights) {
  const network::Network network = small_resnet(kColour, 5);
  const auto several = engine_->make_runners(network, network::initial_state(network, 1), replaying(), 2);
  const auto one_by_one = runner(network, plain());
  for (std::uint64_t call = 0; call < 5; ++call) {
    const auto batch = random_batch(3, kColour, 5, call);
    one_by_one->start(std::span(batch.images));
    const TensorMap expected = one_by_one->wait();
    for (const auto& each : several) each->start(std::span(batch.images));
    for (const auto& each : several) EXPECT_LT(relative_distance(each->wait(), expected), close());
  }
}

TEST_P(CallGraphsTest, LayersAreTimedOneByOne) {
  const network::Network network = small_resnet(kColour, 5);
  engine::RunnerOptions options = replaying();
  options.times_layers = true;
  const auto timed = runner(network, options);
  const auto batch = random_batch(3, kColour, 5);
  for (int call = 0; call < 5; ++call) {
    timed->start(std::span(batch.images));
    timed->wait();
  }
  EXPECT_EQ(timed->note(), "");
  EXPECT_FALSE(timed->layer_times().empty());
}

INSTANTIATE_TEST_SUITE_P(, CallGraphsTest, testing::ValuesIn(test_devices()), device_test_name);

}  // namespace
}  // namespace evener
