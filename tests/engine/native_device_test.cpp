// The native engine on accelerators comes to what its plain loops do on the CPU.
#include <gmock/gmock.h>

#include <limits>

#include "base/error.h"
#include "base/precision.h"
#include "engine/native_device_helpers.h"
#include "network/init.h"

namespace evener {
namespace {

using engine::KernelChoice;
using engine::StepReport;
using engine::Trainer;
using engine::TrainerOptions;
using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct Case {
  std::string model;
  data::ImageShape shape;
  std::int64_t batch;
};
const Case kCases[] = {{"mlp:784-256-10", {1, 28, 28}, 64},
                       {"mlp:785-3-2", {1, 5, 157}, 11},
                       {"mlp:3-1-2", {1, 1, 3}, 1},
                       {"mlp:1-785-3:tanh", {1, 1, 1}, 11},
                       {"mlp:35-70-33-5:sigmoid", {1, 5, 7}, 13},
                       {"mlp:36-97-130-80:relu", {3, 4, 3}, 65},  // several tiles, channels
                       {"mlp:16-3", {1, 4, 4}, 5}};               // one layer

TEST_P(NativeDeviceTest, GradientsAndEvaluationsAreThoseOfPlainLoops) {
  for (const auto& [model, shape, count] : kCases) {
    for (const auto& criterion : {network::cross_entropy(0.1), network::mean_squared_error()}) {
      SCOPED_TRACE(model + " " + network::criterion_text(criterion));
      const network::Network network = mlp(model, shape);
      const OwnedBatch batch = random_batch(count, shape, static_cast<int>(network.output_shape().front()));
      TrainerOptions options;
      options.criterion = criterion;
      options.mean.assign(static_cast<std::size_t>(shape.channels), 0.4F);
      options.standard_deviation = {0.3F, 0.2F, 0.25F};
      options.standard_deviation.resize(static_cast<std::size_t>(shape.channels));
      const auto reference = native(network, naive(options)), trainer = native(network, on_device(options));
      const double weight = 1.0 / static_cast<double>(count);
      // A larger batch after a smaller one, and the other way round: what is left of the other must not matter.
      for (const std::int64_t samples : {count / 2 + 1, count, count / 2 + 1}) {
        const auto expected = reference->forward_backward(batch.view(0, samples), weight);
        const auto found = trainer->forward_backward(batch.view(0, samples), weight);
        EXPECT_NEAR(found.total("loss"), expected.total("loss"), kRounding * expected.total("loss"));
        EXPECT_EQ(found.total("correct"), expected.total("correct"));
        EXPECT_EQ(found.count("loss"), samples);
        EXPECT_LT(relative_distance(exchange_of(*trainer).gradients(), exchange_of(*reference).gradients()), kRounding);
      }
      std::vector<std::int32_t> expected_classes{-1}, classes_found{-1};
      const auto expected = reference->evaluate(batch.view(), &expected_classes);
      const auto found = trainer->evaluate(batch.view(), &classes_found);
      EXPECT_NEAR(found.total("loss"), expected.total("loss"), kRounding * expected.total("loss"));
      EXPECT_EQ(found.total("correct"), expected.total("correct"));
      EXPECT_EQ(classes_found, expected_classes);
    }
  }
}

TEST_P(NativeDeviceTest, StepsAreThoseOfPlainLoops) {
  const data::ImageShape shape{1, 12, 10};
  const network::Network network = mlp("mlp:120-70-33-5:tanh", shape);
  for (const bool nesterov : {false, true}) {
    for (const double momentum : {0.0, 0.9}) {
      for (const double average : {0.0, 0.99}) {
        if (nesterov && momentum == 0) continue;
        TrainerOptions options;
        options.optimizer.momentum = momentum;
        options.optimizer.nesterov = nesterov;
        options.optimizer.weight_decay = 0.01;
        options.optimizer.average_decay = average;
        expect_equal_training(network, shape, options);
      }
    }
  }
}

TEST_P(NativeDeviceTest, TakesBatchesOfSeveralSizesKernelByKernelToo) {
  const data::ImageShape shape{1, 12, 10};
  const network::Network network = mlp("mlp:120-40-5", shape);
  TrainerOptions options;
  expect_equal_training(network, shape, options, {8, 8, 8, 5});
  expect_equal_training(network, shape, options, {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 9});  // room is made late
  options.step_graph = false;
  expect_equal_training(network, shape, options, {8, 8, 8, 5});
}

TEST_P(NativeDeviceTest, ClipsGradientsAndKeepsFrozenParameters) {
  const data::ImageShape shape{1, 12, 10};
  network::Network network = mlp("mlp:120-40-5", shape);
  TrainerOptions options;
  options.optimizer.momentum = 0.9;
  options.optimizer.clip_norm = 0.1;  // below the norm of these gradients
  expect_equal_training(network, shape, options);
  options.optimizer.clip_norm = 0;
  network.freeze({"0.weight", "2.bias"});
  expect_equal_training(network, shape, options);
  const auto trainer = native(network, on_device(options));
  EXPECT_THAT(exchange_of(*trainer).trained_parameters(), ElementsAre("0.bias", "2.weight"));
  network.freeze({"0.bias"});
  expect_equal_training(network, shape, options);  // nothing to be done below the last layer
}

// The digits of 100 steps: rounding errors grow as the weights move, so the tolerance is wider than for one step.
TEST_P(NativeDeviceTest, LossesOfAHundredStepsAgree) {
  const data::ImageShape shape{1, 28, 28};
  const network::Network network = mlp("mlp:784-64-10", shape);
  const OwnedBatch data = random_batch(256, shape, 10);
  const auto reference = native(network, naive()), trainer = native(network, on_device());
  for (int i = 0; i < 100; ++i) {
    const data::Batch batch = data.view(i % 4 * 64, i % 4 * 64 + 64);
    const double expected = reference->step(batch, 1.0 / 64, 0.05).sums.total("loss");
    StepReport found = trainer->step(batch, 1.0 / 64, 0.05);
    add(found, trainer->settle());
    ASSERT_EQ(found.steps, 1);
    ASSERT_NEAR(found.sums.total("loss"), expected, 1e-4 * expected) << "step " << i;
  }
}

TEST_P(NativeDeviceTest, ComputesTheSameFromDataThatTheDeviceKeeps) {
  const data::ImageShape shape{3, 5, 7};
  const network::Network network = mlp("mlp:105-40-5", shape);
  OwnedBatch batch = random_batch(21, shape, 5);
  for (std::size_t i = 0; i < batch.samples.size(); ++i) batch.samples[i] = static_cast<std::uint32_t>(i);
  TrainerOptions options = on_device();
  const auto sent = native(network, options);
  options.resident = std::make_shared<BatchData>(batch);
  const auto kept = native(network, options);
  data::Batch named = batch.view(3, 17);
  named.images = {};
  StepReport of_sent, of_kept;  // a step may report earlier ones, as many as have arrived by then
  for (int i = 0; i < 12; ++i) {
    add(of_sent, sent->step(batch.view(3, 17), 1.0 / 14, 0.1));
    add(of_kept, kept->step(named, 1.0 / 14, 0.1));
  }
  add(of_sent, sent->settle());
  add(of_kept, kept->settle());
  EXPECT_EQ(of_sent.steps, 12);
  EXPECT_EQ(of_sent.sums, of_kept.sums);
  EXPECT_EQ(sent->state(), kept->state());
  EXPECT_EQ(sent->evaluate(batch.view(3, 17)).total("loss"), kept->evaluate(named).total("loss"));
  const std::vector<std::uint32_t> outside(14, 21);
  named.samples = outside;
  EXPECT_THAT([&] { kept->step(named, 1.0 / 14, 0.1); },
              testing::ThrowsMessage<Error>(AllOf(HasSubstr("image 21"), HasSubstr("keeps 21 images"))));
  EXPECT_THROW(sent->step(named, 1.0 / 14, 0.1), Error) << "no pixels, and none are kept";
}

TEST_P(NativeDeviceTest, GradientsHaveTheOrderThatReplicasOnTheCpuHaveThemIn) {
  const data::ImageShape shape{1, 12, 10};
  const network::Network network = mlp("mlp:120-70-33-5", shape);
  const OwnedBatch batch = random_batch(11, shape, 5);
  const auto here = native(network, {}), there = native(network, on_device());
  std::vector<std::size_t> ready;
  exchange_of(*there).on_gradient_ready([&](std::size_t index) { ready.push_back(index); });
  here->forward_backward(batch.view(), 1.0 / 11);
  there->add_gradients(batch.view(0, 0), 1.0 / 11);
  for (const float value : exchange_of(*there).gradient(0)) ASSERT_EQ(value, 0.0F);
  there->add_gradients(batch.view(0, 7), 1.0 / 11);
  there->add_gradients(batch.view(7, 11), 1.0 / 11);
  EXPECT_EQ(ready.size(), 3 * exchange_of(*here).trained_parameters().size());
  for (std::size_t i = 0; i < exchange_of(*here).trained_parameters().size(); ++i) {
    const std::span<const float> expected = exchange_of(*here).gradient(i), found = exchange_of(*there).gradient(i);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t v = 0; v < found.size(); ++v) ASSERT_NEAR(found[v], expected[v], 1e-6) << i << " " << v;
  }
  for (float& value : exchange_of(*there).gradient(1)) value = 0;  // what an exchange leaves is what is applied
  const TensorMap before = there->state();
  there->apply(0.1);
  EXPECT_EQ(there->state().at(exchange_of(*there).trained_parameters()[1]),
            before.at(exchange_of(*there).trained_parameters()[1]));
  EXPECT_NE(there->state().at(exchange_of(*there).trained_parameters()[0]),
            before.at(exchange_of(*there).trained_parameters()[0]));
}

TEST_P(NativeDeviceTest, ALossThatIsNotFiniteEndsTheTraining) {
  const data::ImageShape shape{1, 4, 4};
  const network::Network network = mlp("mlp:16-20-3", shape);
  const OwnedBatch batch = random_batch(6, shape, 3);
  const auto reference = native(network, naive()), trainer = native(network, on_device());
  const StepReport expected = train(*reference, batch, 40, {6}, 1e30);
  const StepReport found = train(*trainer, batch, 40, {6}, 1e30);
  EXPECT_FALSE(expected.finite);
  EXPECT_FALSE(found.finite);
  EXPECT_EQ(found.steps, expected.steps);
  EXPECT_FALSE(trainer->forward_backward(batch.view(), 1.0 / 6).total("loss") < 1e30);
  // That step and all later ones change nothing.
  TensorMap state = network::initial_state(network, 1);
  state.at("2.bias").floats()[1] = std::numeric_limits<float>::quiet_NaN();
  trainer->load_state(state);
  StepReport ruined;
  for (int i = 0; i < 3 && ruined.finite; ++i) add(ruined, trainer->step(batch.view(), 1.0 / 6, 0.1));
  if (ruined.finite) add(ruined, trainer->settle());
  EXPECT_FALSE(ruined.finite);
  for (const char* name : {"0.weight", "0.bias", "2.weight"}) {
    EXPECT_EQ(trainer->state().at(name), state.at(name)) << name;
  }
  // With other weights all is well again.
  trainer->load_state(network::initial_state(network, 1));
  EXPECT_EQ(train(*trainer, batch, 3, {6}).steps, 3);
}

TEST_P(NativeDeviceTest, ItsCheckpointsAreGoneOnWithOnTheCpu) {
  const data::ImageShape shape{1, 12, 10};
  const network::Network network = mlp("mlp:120-40-5", shape);
  const OwnedBatch batch = random_batch(11, shape, 5);
  TrainerOptions options;
  options.optimizer.momentum = 0.9;
  options.optimizer.average_decay = 0.9;
  const auto whole = native(network, options), first = native(network, on_device(options));
  train(*whole, batch, 6, {11});
  train(*first, batch, 3, {11});
  for (const TrainerOptions& then : {options, on_device(options)}) {
    const auto second = native(network, then, first->state());
    second->load_optimizer_state(first->optimizer_state());
    train(*second, batch, 3, {11});
    EXPECT_LT(relative_distance(second->state(), whole->state()), 5 * kRounding);
    EXPECT_LT(relative_distance(second->optimizer_state(), whole->optimizer_state()), 10 * kRounding);
    const TensorMap weights = second->state();
    second->capabilities().average->swap_average();
    EXPECT_NE(second->state().at("0.weight"), weights.at("0.weight"));
    second->capabilities().average->swap_average();
    EXPECT_EQ(second->state(), weights);
  }
}

// What is the same on the CPU, whose other tests are native_test.cpp.
class NativeOnEachDevice : public NativeDeviceTest {};

TEST_P(NativeOnEachDevice, MixedLabelsAndSquaredErrorsAreThoseOfPlainLoops) {
  const double rounding = GetParam().kind == DeviceKind::kCpu ? kCpuRounding : kRounding;
  const data::ImageShape shape{1, 4, 4};
  const network::Network network = mlp("mlp:16-20-5", shape);
  const OwnedBatch owned = random_batch(6, shape, 5);
  const std::vector<std::int32_t> second{4, 3, 2, 1, 0, 4};
  const std::vector<float> shares{0.75F, 0.5F, 1, 0, 0.25F, 0.9F};
  data::Batch batch = owned.view();
  batch.targets = data::MixedClassTargets{owned.labels, second, shares};
  for (const auto& criterion : {network::cross_entropy(), network::mean_squared_error()}) {
    TrainerOptions options;
    options.criterion = criterion;
    const auto reference = native(network, naive(options)), trainer = native(network, on_device(options));
    const auto expected = reference->forward_backward(batch, 0.5), found = trainer->forward_backward(batch, 0.5);
    EXPECT_NEAR(found.total("loss"), expected.total("loss"), rounding * expected.total("loss"));
    EXPECT_LT(relative_distance(exchange_of(*trainer).gradients(), exchange_of(*reference).gradients()), rounding);
  }
}

TEST_P(NativeDeviceTest, ReportsItsMemoryAndItsPhases) {
  const data::ImageShape shape{1, 28, 28};
  const network::Network network = mlp("mlp:784-64-10", shape);
  const auto trainer = native(network, on_device());
  train(*trainer, random_batch(16, shape, 10), 12, {16});
  const engine::DeviceReport report = trainer->capabilities().device->report();
  EXPECT_GT(report.peak_memory_bytes.value_or(0), 2 * 784 * 64 * sizeof(float));
  std::vector<std::string> phases;
  for (const auto& [name, seconds] : report.step_phases_s) {
    phases.push_back(name);
    EXPECT_GT(seconds, 0) << name;
  }
  EXPECT_THAT(phases, ElementsAre("backward", "d2h", "forward", "h2d"));
  EXPECT_THAT(report.notes,
              ElementsAre(HasSubstr(GetParam().kind == DeviceKind::kCuda ? "graph" : "kernel by kernel")));
}

TEST_P(NativeDeviceTest, SaysWhatItCannotDo) {
  const data::ImageShape shape{1, 4, 4};
  const network::Network network = mlp("mlp:16-20-3", shape);
  const auto engine = engine::open_engine("native");
  TrainerOptions options = on_device();
  options.precision = Precision::kBf16;
  EXPECT_THAT(engine->trainer_refusal(network, options), AllOf(HasSubstr("bf16"), HasSubstr("--precision fp32")));
  options = on_device();
  options.native.kernels = KernelChoice::kNaive;
  EXPECT_THAT(engine->trainer_refusal(network, options), AllOf(HasSubstr("naive"), HasSubstr("--on cpu")));
  EXPECT_EQ(engine->shared_bytes(network, on_device(), 2), 0u);
  options = on_device();
  options.device.index = 99;
  EXPECT_THAT([&] { native(network, options); },
              testing::ThrowsMessage<Error>(HasSubstr("there is no " + device_text(options.device))));
}

TEST_P(NativeDeviceTest, SaysWhatDoesNotFit) {
  const data::ImageShape shape{1, 4, 4};
  OwnedBatch batch = random_batch(1, shape, 3);
  TrainerOptions options = on_device();
  options.resident = std::make_shared<BatchData>(batch, std::size_t{1} << 40);
  EXPECT_THAT([&] { native(mlp("mlp:16-3", shape), options); },
              testing::ThrowsMessage<engine::OutOfMemory>(AllOf(HasSubstr("17.6 TB"), HasSubstr("--data-on host"))));
  options.resident = std::make_shared<BatchData>(batch);
  constexpr std::int64_t kMany = 1 << 20;
  const std::vector<std::int32_t> labels(kMany, 0);
  const std::vector<std::uint32_t> samples(kMany, 0);
  const data::Batch large{kMany, shape, {}, data::ClassTargets{labels}, samples, 1};
  const auto trainer = native(mlp("mlp:16-300000-3", shape), options);
  EXPECT_THAT([&] { trainer->step(large, 1, 0.1); },
              testing::ThrowsMessage<engine::OutOfMemory>(
                  AllOf(HasSubstr("1048576 images"), HasSubstr("largest that fits"), HasSubstr("--batch"))));
  const data::Batch small = data::part_of(large, 0, 2);
  engine::StepReport smaller = trainer->step(small, 1, 0.1);
  add(smaller, trainer->settle());
  EXPECT_TRUE(smaller.finite);
  EXPECT_EQ(smaller.steps, 1);
}

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

std::string name_of_kind(const testing::TestParamInfo<Device>& info) {
  return std::string(device_kind_name(info.param.kind));
}

const Device kOpencl{DeviceKind::kOpencl, 0}, kCuda{DeviceKind::kCuda, 0};
INSTANTIATE_TEST_SUITE_P(Devices, NativeDeviceTest, testing::Values(kOpencl, kCuda), name_of_kind);
INSTANTIATE_TEST_SUITE_P(Devices, NativeOnEachDevice, testing::Values(Device{}, kOpencl, kCuda), name_of_kind);

}  // namespace

}  // namespace evener
