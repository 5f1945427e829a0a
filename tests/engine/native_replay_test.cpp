// Steps that are replayed as a graph come to the same bits as steps that are started kernel by kernel.
#include <gmock/gmock.h>

#include "engine/native_device_helpers.h"

namespace evener {
namespace {

using engine::StepReport;
using engine::Trainer;
using engine::TrainerOptions;
using test::BatchData;
using test::mlp;
using test::native;
using test::NativeDeviceTest;
using test::OwnedBatch;
using test::random_batch;
using testing::ElementsAre;
using testing::HasSubstr;

const data::ImageShape kReplayShape{1, 12, 10};

/// Both ways of doing steps, with the same work.
struct BothWays {
  std::unique_ptr<Trainer> replayed, started;

  template <class Work>
  void each(const Work& work) const {
    work(*replayed);
    work(*started);
  }
  void expect_equal() const {
    EXPECT_TRUE(replayed->state() == started->state());
    EXPECT_TRUE(replayed->optimizer_state() == started->optimizer_state());
  }
};

BothWays both_ways(TrainerOptions options) {
  const network::Network network = mlp("mlp:120-70-33-5:tanh", kReplayShape);
  BothWays both;
  both.replayed = native(network, options);
  options.step_graph = false;
  both.started = native(network, options);
  return both;
}

TrainerOptions with_momentum(TrainerOptions options) {
  options.optimizer.momentum = 0.9;
  options.optimizer.nesterov = true;
  options.optimizer.weight_decay = 0.01;
  options.optimizer.average_decay = 0.9;
  return options;
}

TEST_P(NativeDeviceTest, ReplayedStepsAreThoseStartedKernelByKernelBitForBit) {
  const OwnedBatch batch = random_batch(11, kReplayShape, 5);
  for (const TrainerOptions& options : {on_device(), with_momentum(on_device())}) {
    for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{11}, {11, 11, 11, 11, 11, 11, 4}}) {
      const BothWays both = both_ways(options);
      const StepReport first = train(*both.replayed, batch, 34, sizes), second = train(*both.started, batch, 34, sizes);
      EXPECT_EQ(first.steps, 34);
      EXPECT_EQ(first.sums.total("loss"), second.sums.total("loss"));
      EXPECT_EQ(first.sums.total("correct"), second.sums.total("correct"));
      both.expect_equal();
      const bool replays = GetParam().kind == DeviceKind::kCuda;
      EXPECT_THAT(both.replayed->capabilities().device->report().notes,
                  ElementsAre(HasSubstr(replays ? "as a graph" : "kernel by kernel")));
      EXPECT_THAT(both.started->capabilities().device->report().notes, ElementsAre(HasSubstr("kernel by kernel")));
    }
  }
}

TEST_P(NativeDeviceTest, AGraphIsMadeAnewWhenMemoryMoved) {
  const OwnedBatch batch = random_batch(30, kReplayShape, 5);
  const BothWays both = both_ways(with_momentum(on_device()));
  both.each([&](Trainer& trainer) {
    train(trainer, batch, 12, {8});
    trainer.evaluate(batch.view(0, 17));  // takes more room
    train(trainer, batch, 4, {8});
    train(trainer, batch, 3, {30});  // and so does a step
    train(trainer, batch, 4, {8});
    const TensorMap state = trainer.state(), optimizer = trainer.optimizer_state();
    trainer.load_optimizer_state(optimizer);  // takes the memory that there is
    trainer.load_state(state);
    train(trainer, batch, 4, {8});
  });
  both.expect_equal();
}

TEST_P(NativeDeviceTest, AGraphTrainsTheWeightsThatTookTheAveragesPlace) {
  const OwnedBatch batch = random_batch(8, kReplayShape, 5);
  const BothWays both = both_ways(with_momentum(on_device()));
  both.each([&](Trainer& trainer) {
    train(trainer, batch, 12, {8});
    trainer.capabilities().average->swap_average();
    train(trainer, batch, 4, {8});
    trainer.capabilities().average->swap_average();
    train(trainer, batch, 4, {8});
  });
  both.expect_equal();
}

TEST_P(NativeDeviceTest, AReplayTakesEachStepsImagesLabelsAndRate) {
  OwnedBatch batch = random_batch(21, kReplayShape, 5);
  for (std::size_t i = 0; i < batch.samples.size(); ++i) batch.samples[i] = static_cast<std::uint32_t>(i);
  for (const bool resident : {false, true}) {
    TrainerOptions options = on_device();
    if (resident) options.resident = std::make_shared<BatchData>(batch);
    const BothWays both = both_ways(options);
    both.each([&](Trainer& trainer) {
      for (int step = 0; step < 24; ++step) {
        data::Batch part = batch.view(step % 14, step % 14 + 7);
        if (resident) part.images = {};
        trainer.step(part, 1.0 / 7, 0.2 / (1 + step));
      }
      EXPECT_TRUE(trainer.settle().finite);
    });
    both.expect_equal();
  }
}

}  // namespace
}  // namespace evener
