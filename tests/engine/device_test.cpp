// Trainers that drive a device ahead of its results, against one on the CPU that does each thing when it is told. The
// device is the CPU driven in the same way, and a GPU where there is one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/module.h"
#include "base/precision.h"
#include "engine/device_helpers.h"
#include "engine/replicas_helpers.h"
#include "network/init.h"

namespace evener {
namespace {

using engine::StepReport;
using engine::TrainerOptions;
using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

network::Network with_dropout(data::ImageShape shape, int classes) {
  network::Network network("with_dropout", {shape.channels, shape.height, shape.width});
  network.add("conv", network::Conv2d{6, 3, 2, 1});
  network.add("relu", network::Activation{});
  network.add("drop1", network::Dropout{0.25});
  network.add("flatten", network::Flatten{});
  network.add("drop2", network::Dropout{0.5});
  network.add("fc", network::Linear{classes, true});
  return network;
}

TEST_P(DeviceTest, TrainsEveryKindOfNetworkAsTheCpuDoes) {
  expect_equal_training(small_mlp(kColour, 5));
  expect_equal_training(small_resnet(kColour, 5));
  expect_equal_training(small_mobilenet(kColour, 5));
}

TEST_P(DeviceTest, DropsTheSameValuesInReplayedSteps) {
  expect_equal_training(with_dropout(kColour, 5));
}

TEST_P(DeviceTest, TakesBatchesOfSeveralSizes) {
  expect_equal_training(small_resnet(kColour, 5), {8, 8, 8, 5});
  expect_equal_training(small_resnet(kColour, 5), {8, 8, 8, 8, 8, 8, 8, 8, 8, 3, 8});
}

TEST_P(DeviceTest, NormalisesAndSmoothsAsTheCpuDoes) {
  options_.mean = {0.4F, 0.5F, 0.6F};
  options_.standard_deviation = {0.2F, 0.25F, 0.3F};
  options_.criterion = network::cross_entropy(0.1);
  expect_equal_training(small_resnet(kColour, 5));
  options_.criterion = network::mean_squared_error();
  expect_equal_training(small_mlp(kColour, 5));
}

TEST_P(DeviceTest, EveryOptimiserStepsAsOnTheCpu) {
  options_.optimizer.momentum = 0.9;
  options_.optimizer.nesterov = true;
  options_.optimizer.weight_decay = 0.01;
  options_.optimizer.clip_norm = 0.5;
  options_.optimizer.average_decay = 0.9;
  expect_equal_training(small_mlp(kColour, 5));
  options_.optimizer = {};
  options_.optimizer.kind = engine::OptimizerKind::kAdamW;
  // Where a gradient is next to nothing, the step's direction is rounding: epsilon is made large enough to cover it.
  options_.optimizer.epsilon = 1e-3;
  options_.optimizer.weight_decay = 0.1;
  expect_equal_training(small_mlp(kColour, 5));
}

TEST_P(DeviceTest, LearnsFromMixedImages) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  std::vector<std::int32_t> second(batch.labels.rbegin(), batch.labels.rend());
  const std::vector<float> weights = {1, 0.9F, 0.75F, 0.5F, 0.5F, 0.25F, 0.1F, 0};
  data::Batch mixed = batch.view();
  mixed.targets = data::MixedClassTargets{batch.labels, second, weights};
  const auto here = make_trainer(small_mlp(kColour, 5)), there = make_trainer(small_mlp(kColour, 5), on_device());
  for (int step = 0; step < kManySteps; ++step) {
    here->step(mixed, 1.0 / 8, kRate);
    there->step(mixed, 1.0 / 8, kRate);
  }
  there->settle();
  EXPECT_LT(relative_distance(there->state(), here->state()), close());
}

TEST_P(DeviceTest, ReportsComeTwoStepsLate) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto trainer = make_trainer(small_mlp(kColour, 5), on_device());
  EXPECT_EQ(trainer->step(batch.view(), 1.0 / 8, kRate).steps, 0);
  EXPECT_EQ(trainer->step(batch.view(0, 5), 1.0 / 5, kRate).steps, 0);
  const StepReport first = trainer->step(batch.view(), 1.0 / 8, kRate);
  EXPECT_EQ(first.steps, 1);
  EXPECT_EQ(first.sums.count("loss"), 8);
  EXPECT_NEAR(first.sums.total("loss"), 8 * std::log(5), 8);
  const StepReport rest = trainer->settle();
  EXPECT_EQ(rest.steps, 2);
  EXPECT_EQ(rest.sums.count("loss"), 13);
  EXPECT_EQ(trainer->settle().steps, 0);
}

TEST_P(DeviceTest, ALossThatIsNotFiniteIsNamedAndChangesNothing) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  for (const int good : {2, kManySteps}) {  // before and after steps are replayed
    const auto trainer = make_trainer(small_mlp(kColour, 5), on_device());
    StepReport all;
    for (int step = 0; step < good; ++step) add(all, trainer->step(batch.view(), 1.0 / 8, kRate));
    add(all, trainer->step(batch.view(), 1.0 / 8, 1e30));  // finite yet; what it makes of the weights is not
    add(all, trainer->settle());
    const TensorMap ruined = trainer->state();
    EXPECT_EQ(all.steps, good + 1);
    for (int step = 0; step < 4 && all.finite; ++step) add(all, trainer->step(batch.view(), 1.0 / 8, kRate));
    if (all.finite) add(all, trainer->settle());
    EXPECT_FALSE(all.finite);
    EXPECT_EQ(all.steps, good + 1);
    EXPECT_TRUE(std::isfinite(all.sums.total("loss")));
    EXPECT_EQ(trainer->state(), ruined);
    // New weights, new luck.
    trainer->load_state(network::initial_state(small_mlp(kColour, 5), 1));
    trainer->step(batch.view(), 1.0 / 8, kRate);
    EXPECT_EQ(trainer->settle().steps, 1);
  }
}

TEST_P(DeviceTest, ReplaysStepsOnceTheyAreAlike) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto trainer = make_trainer(small_resnet(kColour, 5), on_device());
  EXPECT_THAT(trainer->capabilities().device->report().notes, ElementsAre());
  train(*trainer, batch, {8}, 3);
  EXPECT_THAT(trainer->capabilities().device->report().notes, ElementsAre(HasSubstr("too few of one size")));
  train(*trainer, batch, {8}, kManySteps);
  EXPECT_THAT(trainer->capabilities().device->report().notes, ElementsAre(HasSubstr("replayed as a graph")));

  TrainerOptions off = on_device();
  off.step_graph = false;
  const auto eager = make_trainer(small_resnet(kColour, 5), off);
  train(*eager, batch, {8}, kManySteps);
  EXPECT_THAT(eager->capabilities().device->report().notes,
              ElementsAre(HasSubstr("kernel by kernel: --step-graph off")));
}

TEST_P(DeviceTest, GoesOnFromAStateThatWasSavedInTheMiddle) {
  options_.optimizer.momentum = 0.9;
  options_.optimizer.average_decay = 0.9;
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const network::Network network = small_resnet(kColour, 5);
  const auto whole = make_trainer(network, on_device()), first = make_trainer(network, on_device());
  train(*whole, batch, {8}, kManySteps);
  train(*first, batch, {8}, kManySteps);
  const auto second = make_trainer(network, on_device(), first->state());
  second->load_optimizer_state(first->optimizer_state());
  train(*whole, batch, {8}, 3);
  train(*second, batch, {8}, 3);
  EXPECT_LT(relative_distance(second->state(), whole->state()), close());
}

TEST_P(DeviceTest, KeepsAllDataOnTheDevice) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  TrainerOptions resident = on_device();
  resident.resident = std::make_shared<BatchData>(batch);
  const auto there = make_trainer(small_resnet(kColour, 5), resident);
  const auto here = make_trainer(small_resnet(kColour, 5), on_device());
  OwnedBatch some = random_batch(8, kColour, 5);
  for (int step = 0; step < kManySteps; ++step) {
    // Samples 7, 6, ... of the data, by their numbers alone.
    data::Batch numbers = batch.view();
    const std::vector<std::uint32_t> order = {7, 6, 5, 4, 3, 2, 1, 0};
    const std::vector<std::int32_t> labels(batch.labels.rbegin(), batch.labels.rend());
    numbers.images = {};
    numbers.samples = order;
    numbers.targets = data::ClassTargets{labels};
    there->step(numbers, 1.0 / 8, kRate);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto from = batch.view(order[i], order[i] + 1).images;
      std::ranges::copy(from, some.images.begin() + static_cast<std::ptrdiff_t>(i * from.size()));
    }
    data::Batch pixels = some.view();
    pixels.targets = data::ClassTargets{labels};
    here->step(pixels, 1.0 / 8, kRate);
  }
  there->settle();
  here->settle();
  EXPECT_LT(relative_distance(there->state(), here->state()), close());
  data::Batch all = batch.view();
  all.images = {};
  there->evaluate(all);
  here->evaluate(batch.view());
  EXPECT_NEAR(there->end_evaluation().total("loss"), here->end_evaluation().total("loss"), 1e-3);
}

TEST_P(DeviceTest, GradientsCanBeReplacedInHostMemory) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const network::Network network = small_resnet(kColour, 5);
  for (const bool told : {false, true}) {
    const auto here = make_trainer(network), there = make_trainer(network, on_device());
    const auto triple = [&](std::size_t index) {
      for (float& value : exchange_of(*there).gradient(index)) value *= 3;
    };
    std::vector<std::size_t> ready;
    if (told) {
      exchange_of(*there).on_gradient_ready([&](std::size_t index) {
        ready.push_back(index);
        triple(index);
      });
    }
    here->forward_backward(batch.view(), 3.0 / 8);
    there->forward_backward(batch.view(), 1.0 / 8);
    const std::size_t parameters = exchange_of(*there).trained_parameters().size();
    for (std::size_t i = 0; i < parameters && !told; ++i) triple(i);
    if (told) {
      EXPECT_EQ(ready.size(), parameters);
    }
    EXPECT_LT(relative_distance(exchange_of(*there).gradients(), exchange_of(*here).gradients()), close());
    here->apply(kRate);
    there->apply(kRate);
    EXPECT_LT(relative_distance(there->state(), here->state()), close());
  }
}

TEST_P(DeviceTest, AddsUpGradientsOfSeveralBatches) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  for (const Precision precision : {Precision::kFp32, Precision::kFp16}) {
    if (precision == Precision::kFp16 && GetParam().kind != DeviceKind::kCpu) continue;  // another type than here
    options_.precision = precision;
    const auto here = make_trainer(small_mlp(kColour, 5), options_),
               there = make_trainer(small_mlp(kColour, 5), on_device());
    for (engine::Trainer* trainer : {here.get(), there.get()}) {
      trainer->clear_gradients();
      trainer->add_gradients(batch.view(0, 3), 1.0 / 8);
      trainer->add_gradients(batch.view(3, 8), 1.0 / 8);
    }
    EXPECT_LT(relative_distance(exchange_of(*there).gradients(), exchange_of(*here).gradients()), close());
    here->apply(kRate);
    there->apply(kRate);
    EXPECT_LT(relative_distance(there->state(), here->state()), close());
  }
}

// Those of earlier parts stay on the device. Where the last part adds nothing to some, they are fetched when asked for.
TEST_P(DeviceTest, TellsOfGradientsThatAreFinal) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  for (const std::int64_t end : {8, 3}) {
    const auto here = make_trainer(small_mlp(kColour, 5), options_),
               there = make_trainer(small_mlp(kColour, 5), on_device());
    for (const std::int64_t first : {3, 2}) {  // another step, so that the first one's gradients are to be seen through
      std::size_t told = 0;
      engine::ExchangesGradients& exchange = *there->capabilities().exchange;
      const std::size_t parameters = exchange.trained_parameters().size();
      exchange.on_gradient_ready([&told](std::size_t) { ++told; });
      for (engine::Trainer* trainer : {here.get(), there.get()}) {
        trainer->clear_gradients();
        exchange.gradients_become_final(false);
        trainer->add_gradients(batch.view(0, first), 1.0 / 8);
        EXPECT_EQ(told, 0U);
        exchange.gradients_become_final(true);
        if (end > first) trainer->add_gradients(batch.view(first, end), 1.0 / 8);
      }
      EXPECT_EQ(told, end > first ? parameters : 0U);
      for (std::size_t i = 0; i < parameters; ++i) exchange.gradient(i);
      EXPECT_LT(relative_distance(exchange.gradients(), exchange_of(*here).gradients()), close());
    }
  }
}

/// All replicas of one kind, and a device beside CPUs.
TEST_P(DeviceTest, SharesABatchWithOtherReplicas) {
  // LibTorch has one autograd thread for each GPU: the backward pass of a second trainer there would wait for the
  // first, which waits for the second's batch-norm statistics. No placement puts two replicas on one GPU.
  if (GetParam().kind == DeviceKind::kCuda) GTEST_SKIP() << "two trainers of one GPU can't wait for each other";
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const network::Network network = small_resnet(kColour, 5);
  const SharedStep alone = lone_step({network, {}, {}}, batch);
  for (const std::vector<std::int64_t>& parts : {std::vector<std::int64_t>{5, 3}, {8, 0}}) {
    const SharedStep shared = shared_step({network, on_device(), {}}, batch, parts);
    EXPECT_LT(relative_distance(shared.gradients, alone.gradients), close());
    EXPECT_NEAR(shared.result.total("loss"), alone.result.total("loss"), 1e-4);
    for (const TensorMap& state : shared.states) {
      EXPECT_LT(relative_distance(state, alone.states.front()), close());
    }
  }
}

TEST_P(DeviceTest, ComputesBesideACpuReplica) {
  for (const network::Network& network : {small_resnet(kColour, 5), small_downsampling_resnet(kColour, 5)}) {
    SCOPED_TRACE(network.model());
    const OwnedBatch batch = random_batch(8, kColour, 5);
    const SharedStep alone = lone_step({network, {}, {}}, batch);
    std::vector<std::vector<float>> values(2);
    std::vector<TensorMap> gradients(2);
    ThreadSums sums(2);
    const auto errors = on_threads(sums, 2, [&](std::size_t i, const auto& sum) {
      TrainerOptions own = i == 0 ? on_device() : options_;
      own.sum_over_replicas = sum;
      const auto trainer = make_trainer(network, own);
      exchange_of(*trainer).on_gradient_ready([](std::size_t) {});
      trainer->forward_backward(i == 0 ? batch.view(0, 5) : batch.view(5, 8), 1.0 / 8);
      for (std::size_t p = 0; p < exchange_of(*trainer).trained_parameters().size(); ++p) {
        const auto gradient = exchange_of(*trainer).gradient(p);
        values[i].insert(values[i].end(), gradient.begin(), gradient.end());
      }
      gradients[i] = exchange_of(*trainer).gradients();
    });
    EXPECT_THAT(errors, ElementsAre("", ""));
    add_to(gradients[0], gradients[1]);
    EXPECT_LT(relative_distance(gradients[0], alone.gradients), close());
    // What an exchange adds up are the spans, value by value: they have to have one order on both.
    const auto reference = make_trainer(network);
    reference->forward_backward(batch.view(), 1.0 / 8);
    double distance = 0, norm = 0;
    std::size_t at = 0;
    for (std::size_t p = 0; p < exchange_of(*reference).trained_parameters().size(); ++p) {
      for (const float value : exchange_of(*reference).gradient(p)) {
        const double difference = value - (values[0].at(at) + static_cast<double>(values[1].at(at)));
        distance += difference * difference;
        norm += static_cast<double>(value) * value;
        ++at;
      }
    }
    EXPECT_LT(std::sqrt(distance / norm), close());
  }
}

TEST_P(DeviceTest, SaysWhatTheDeviceWasPutTo) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto trainer = make_trainer(small_resnet(kColour, 5), on_device());
  train(*trainer, batch, {8}, kManySteps);
  const engine::DeviceReport report = trainer->capabilities().device->report();
  if (GetParam().kind == DeviceKind::kCpu) {
    EXPECT_FALSE(report.peak_memory_bytes);  // the sampler's work
    EXPECT_TRUE(report.step_phases_s.empty());
    return;
  }
  EXPECT_GT(report.peak_memory_bytes.value_or(0), batch.images.size() * sizeof(float));  // the images, normalised
  for (const char* phase : {"h2d", "forward", "backward", "update"}) {
    EXPECT_THAT(report.step_phases_s, Contains(Pair(phase, testing::Gt(0.0))));
  }
}

TEST_P(DeviceTest, ABatchNormLayerWithoutVarianceIsNamed) {
  network::Network network("tiny", {1, 1, 1});
  network.add("conv", network::Conv2d{2, 1, 1, 0});
  network.add("norm", network::BatchNorm{});
  network.add("flatten", network::Flatten{});
  network.add("fc", network::Linear{2, true});
  const auto trainer = make_trainer(network, on_device());
  const OwnedBatch one = random_batch(1, {1, 1, 1}, 2);
  EXPECT_THAT([&] { trainer->forward_backward(one.view(), 1); },
              testing::ThrowsMessage<Error>(HasSubstr("batch-norm layer 'norm' has 1 value(s) per channel")));
}

TEST(CudaRefusal, SaysWhatIsMissingForAGpu) {
  if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
  const ModuleStatus status = module_status("torch_cuda");
  if (status.state == ModuleState::kUsable) GTEST_SKIP() << "CUDA's libraries are here";
  TrainerOptions options;
  options.device = {DeviceKind::kCuda, 0};
  const network::Network network = small_mlp(kColour, 5);
  const auto torch = engine::open_engine("torch");
  EXPECT_THAT(torch->trainer_refusal(network, options),
              HasSubstr("can't compute on cuda:0: the module 'torch_cuda' can't be used: " + status.reason));
  EXPECT_THROW(torch->make_trainer(network, options), Error);
  options.device = {DeviceKind::kNpu, 0};
  EXPECT_THAT(torch->trainer_refusal(network, options), HasSubstr("not on npu"));
}

TEST_P(DeviceTest, EvaluatesAsTheCpuDoes) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto here = make_trainer(small_mobilenet(kColour, 5)),
             there = make_trainer(small_mobilenet(kColour, 5), on_device());
  std::vector<std::int32_t> expected, found;
  const engine::Sums a = here->evaluate(batch.view(), &expected);
  EXPECT_TRUE(here->end_evaluation(&expected).entries().empty()) << "the CPU has told all";
  for (int pass = 0; pass < 2; ++pass) {
    // No batch is waited for: all is told at the end, and forgotten then.
    found.clear();
    for (const auto& [begin, end] : {std::pair{0, 3}, {3, 4}, {4, 8}}) {
      EXPECT_TRUE(there->evaluate(batch.view(begin, end), &found).entries().empty());
    }
    EXPECT_TRUE(found.empty());
    const engine::Sums b = there->end_evaluation(&found);
    EXPECT_EQ(found, expected);
    EXPECT_NEAR(b.total("loss"), a.total("loss"), 1e-4);
    EXPECT_EQ(b.total("correct"), a.total("correct"));
    EXPECT_EQ(b.count("loss"), 8);
    EXPECT_TRUE(there->end_evaluation(&found).entries().empty());
    EXPECT_EQ(found.size(), 8U);
  }
  // Classes are of the batches for which they were wanted.
  there->evaluate(batch.view(0, 2));
  there->evaluate(batch.view(2, 5), &found);
  found.clear();
  EXPECT_EQ(there->end_evaluation(&found).count("correct"), 5);
  EXPECT_EQ(found, std::vector<std::int32_t>(expected.begin() + 2, expected.begin() + 5));
}

// Sums of these losses in float32 would be multiples of 128.
TEST_P(DeviceTest, AddsUpEvaluationsInDoublePrecision) {
  if (GetParam().kind != DeviceKind::kCpu) GTEST_SKIP() << "the same sums as on the CPU";
  const OwnedBatch batch = random_batch(1, kColour, 5);
  const auto there = make_trainer(small_mlp(kColour, 5), on_device());
  TensorMap state = there->state();
  state.at("2.bias").floats()[(batch.labels[0] + 1) % 5] = 30000006;
  there->load_state(state);
  constexpr int kTimes = 40;
  for (int i = 0; i < kTimes; ++i) there->evaluate(batch.view());
  const double loss = there->end_evaluation().total("loss");
  there->evaluate(batch.view());
  EXPECT_DOUBLE_EQ(loss, kTimes * there->end_evaluation().total("loss"));
}

TEST_P(DeviceTest, DeterministicStepsRepeatTheirBits) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  options_.optimizer.momentum = 0.9;
  engine::TrainerOptions options = on_device();
  options.deterministic = true;
  const auto trained = [&] {
    const auto trainer = make_trainer(small_resnet(kColour, 5), options);
    train(*trainer, batch, {8, 8, 8, 5}, 3 * kManySteps);
    return trainer->state();
  };
  EXPECT_EQ(trained(), trained());
}

TEST_P(DeviceTest, PeakMemoryIsOfOneTrainer) {
  const auto peak_of = [&](std::int64_t images) {
    const OwnedBatch batch = random_batch(images, kColour, 5);
    const auto trainer = make_trainer(small_resnet(kColour, 5), on_device());
    train(*trainer, batch, {images}, 3);
    return trainer->capabilities().device->report().peak_memory_bytes;
  };
  const auto large = peak_of(4096), small = peak_of(8);
  EXPECT_EQ(large.has_value(), GetParam().kind != DeviceKind::kCpu);
  EXPECT_LT(small.value_or(0), large.value_or(2) / 2);
}

INSTANTIATE_TEST_SUITE_P(, DeviceTest, testing::ValuesIn(test_devices()), device_test_name);

}  // namespace

}  // namespace evener
