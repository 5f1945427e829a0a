// Replicas of one network that share batches learn what one trainer learns from the whole batches.
#include <gmock/gmock.h>
#include <sched.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>
#include <variant>

#include "base/cpu.h"
#include "base/error.h"
#include "base/precision.h"
#include "engine/replicas_helpers.h"
#include "network/init.h"
#include "network/zoo.h"

namespace evener {
namespace {

using network::ActivationKind;
using namespace test;

const data::ImageShape kReplicasShape{3, 40, 40};
constexpr int kReplicasClasses = 5;
constexpr std::int64_t kReplicasBatch = 8;
const std::vector<std::vector<std::int64_t>> kDivisions = {{5, 3}, {7, 1}, {8, 0}, {3, 0, 5}};

network::Network built(const char* model) {
  return network::build(
      model, {network::Shape{kReplicasShape.channels, kReplicasShape.height, kReplicasShape.width}, kReplicasClasses});
}

/// The model with SiLU for each ReLU and ReLU6. Those have corners: of the 10^6 values before them one or two lie so
/// near to zero that they fall on its other side when sums come in another order, which moves the gradients of
/// MobileNetV2 by 0.02, and how many do is decided by a processor's instructions.
network::Network smooth(const char* model) {
  const network::Network original = built(model);
  network::Network network(original.model(), original.input_shape());
  for (const network::Layer& layer : original.layers()) {
    if (std::holds_alternative<network::Input>(layer.op)) continue;
    network::Op op = layer.op;
    if (auto* activation = std::get_if<network::Activation>(&op))
      if (activation->kind == ActivationKind::kRelu || activation->kind == ActivationKind::kRelu6)
        activation->kind = ActivationKind::kSilu;
    network.add(layer.name, std::move(op), layer.inputs);
  }
  return network;
}

/// Batch-norm on an image and on a vector, without a convolution.
network::Network normalised_mlp() {
  network::Network network("normalised_mlp", {kReplicasShape.channels, kReplicasShape.height, kReplicasShape.width});
  network.add("bn0", network::BatchNorm{});
  network.add("flatten", network::Flatten{});
  network.add("fc1", network::Linear{16, true});
  network.add("bn1", network::BatchNorm{});
  network.add("relu", network::Activation{});
  network.add("fc2", network::Linear{kReplicasClasses, true});
  return network;
}

class ReplicasTest : public EngineTest<kTorch> {};

struct Tolerance {
  double gradients, states, loss;
};
// float32 sums in another order give 10^-6. Statistics of one replica's samples alone move gradients by more than 0.1.
constexpr Tolerance kDeep = {1e-4, 2e-6, 1e-5};
// Weight gradients are rounded to 8 bits in each replica: 2^-9 each. Deep networks multiply that up to their own size.
constexpr Tolerance kBf16 = {1e-2, 1e-4, 1e-3};
constexpr Tolerance kShallow = {1e-5, 1e-6, 1e-5};

void expect_same(const SharedStep& shared, const SharedStep& whole, const Tolerance& tolerance) {
  EXPECT_LT(relative_distance(shared.gradients, whole.gradients), tolerance.gradients);
  EXPECT_NEAR(shared.result.total("loss"), whole.result.total("loss"), tolerance.loss * whole.result.total("loss"));
  EXPECT_EQ(shared.result.count("loss"), whole.result.count("loss"));
  for (const TensorMap& state : shared.states) EXPECT_EQ(state, shared.states.front()) << "replicas drift apart";
  EXPECT_LT(relative_distance(shared.states.front(), whole.states.front()), tolerance.states);
  for (const auto& [name, tensor] : whole.states.front()) {
    if (tensor.dtype != DType::kI64) continue;
    EXPECT_EQ(shared.states.front().at(name), tensor) << name;
  }
  for (const auto& sizes : shared.sizes) EXPECT_EQ(sizes, shared.sizes.front()) << "sums in another order";
  for (const auto& ready : shared.ready) EXPECT_EQ(ready, shared.ready.front()) << "gradients in another order";
}

Start started(network::Network network, Precision precision = Precision::kFp32) {
  engine::TrainerOptions options;
  options.precision = precision;
  TensorMap state = network::initial_state(network, 1);
  return {std::move(network), options, std::move(state)};
}

void expect_parts_give_the_whole(const network::Network& network, const Tolerance& tolerance,
                                 const std::vector<std::vector<std::int64_t>>& divisions = kDivisions) {
  const auto start = started(network);
  const auto batch = random_batch(kReplicasBatch, kReplicasShape, kReplicasClasses);
  const auto whole = lone_step(start, batch);
  for (const auto& parts : divisions) {
    SCOPED_TRACE(testing::PrintToString(parts));
    expect_same(shared_step(start, batch, parts), whole, tolerance);
  }
}

TEST_F(ReplicasTest, PartsOfResNet18) {
  expect_parts_give_the_whole(smooth("resnet18"), kDeep, {{5, 3}, {3, 0, 5}});
}

TEST_F(ReplicasTest, PartsOfResNet20) {
  expect_parts_give_the_whole(smooth("resnet20"), kDeep);
}

TEST_F(ReplicasTest, PartsOfMobileNetWithItsDropout) {
  expect_parts_give_the_whole(smooth("mobilenet_v2"), kDeep);
}

// Each sample drops the same branches wherever it is.
TEST_F(ReplicasTest, PartsOfEfficientNetWithItsStochasticDepth) {
  expect_parts_give_the_whole(built("efficientnet_b0"), kDeep, {{5, 3}});
}

// The whole batch is on LibTorch's batch-norm here.
TEST_F(ReplicasTest, PartsOfANetworkWithBatchNormButNoConvolution) {
  expect_parts_give_the_whole(normalised_mlp(), kShallow);
}

TEST_F(ReplicasTest, PartsInBf16) {
  const auto batch = random_batch(kReplicasBatch, kReplicasShape, kReplicasClasses);
  for (const auto& network :
       {small_resnet(kReplicasShape, kReplicasClasses), small_mobilenet(kReplicasShape, kReplicasClasses)}) {
    const auto start = started(network, Precision::kBf16);
    const auto whole = lone_step(start, batch);
    for (const auto& parts : kDivisions) {
      SCOPED_TRACE(network.model() + testing::PrintToString(parts));
      expect_same(shared_step(start, batch, parts), whole, kBf16);
    }
  }
}

// As in a run whose last batch is short, or that adds up small batches: nothing is added, and nothing is lost.
TEST_F(ReplicasTest, AnAbsentReplicaKeepsTheGradientsItHas) {
  const auto network = small_mobilenet(kReplicasShape, kReplicasClasses);
  const auto batch = random_batch(7, kReplicasShape, kReplicasClasses);
  ThreadSums sums(2);
  const auto errors = on_threads(sums, 2, [&](std::size_t i, const auto& sum) {
    engine::TrainerOptions options;
    options.sum_over_replicas = sum;
    const auto trainer = make_trainer(network, options);
    trainer->forward_backward(i == 0 ? batch.view(0, 3) : batch.view(3, 5), 1.0 / 7);
    const TensorMap before = exchange_of(*trainer).gradients();
    std::size_t ready = 0;
    exchange_of(*trainer).on_gradient_ready([&](std::size_t) { ++ready; });
    const auto result = trainer->add_gradients(i == 0 ? batch.view(5, 7) : batch.view(7, 7), 1.0 / 7);
    EXPECT_EQ(ready, exchange_of(*trainer).trained_parameters().size());
    EXPECT_EQ(result.count("loss"), i == 0 ? 2 : 0);
    if (i == 0) {
      EXPECT_GT(relative_distance(exchange_of(*trainer).gradients(), before), 0.1);
    } else {
      EXPECT_EQ(exchange_of(*trainer).gradients(), before);
    }
    EXPECT_EQ(trainer->state().at("bn1.num_batches_tracked"), HostTensor::scalar_i64(2));
  });
  EXPECT_THAT(errors, testing::Each(""));
}

// One value over all replicas has no variance; one value in each of two has.
TEST_F(ReplicasTest, OneValuePerChannelInAllIsAnError) {
  const auto network = normalised_mlp();
  const auto batch = random_batch(2, kReplicasShape, kReplicasClasses);
  for (const std::int64_t second : {0, 1}) {
    ThreadSums sums(2);
    const auto errors = on_threads(sums, 2, [&](std::size_t i, const auto& sum) {
      engine::TrainerOptions options;
      options.sum_over_replicas = sum;
      const auto trainer = make_trainer(network, options);
      trainer->forward_backward(i == 0 ? batch.view(0, 1) : batch.view(1, 1 + second), 1.0);
      const TensorMap state = trainer->state();
      const HostTensor& variance = state.at("bn1.running_var");
      for (int c = 0; c < 16; ++c) EXPECT_TRUE(std::isfinite(variance.floats()[c]));
    });
    if (second == 1) {
      EXPECT_THAT(errors, testing::Each(""));
    } else {
      EXPECT_THAT(errors, testing::Each(testing::AllOf(testing::HasSubstr("bn1"), testing::HasSubstr("1 value"))));
    }
  }
}

TEST_F(ReplicasTest, AnErrorOfTheExchangeComesThrough) {
  const auto batch = random_batch(4, kReplicasShape, kReplicasClasses);
  for (const int last : {3, 7}) {  // five layers: in the forward pass, in the backward pass
    engine::TrainerOptions options;
    int calls = 0;
    options.sum_over_replicas = [&](std::span<double>) {
      if (++calls == last) throw Error("replica 3 is gone");
    };
    const auto trainer = make_trainer(small_mobilenet(kReplicasShape, kReplicasClasses), options);
    EXPECT_THAT([&] { trainer->forward_backward(batch.view(), 0.25); },
                testing::ThrowsMessage<Error>(testing::StrEq("replica 3 is gone")));
  }
}

TEST_F(ReplicasTest, SharedBatchNormRefusesChannelsFirst) {
  const auto engine = engine::open_engine("torch");
  engine::TrainerOptions options;
  options.torch.layout = engine::MemoryLayout::kChannelsFirst;
  EXPECT_EQ(engine->trainer_refusal(built("resnet20"), options), "");
  options.sum_over_replicas = [](std::span<double>) {};
  EXPECT_THAT(engine->trainer_refusal(built("resnet20"), options), testing::HasSubstr("nhwc"));
  EXPECT_EQ(engine->trainer_refusal(small_mlp(kReplicasShape, kReplicasClasses), options), "");
  options.torch.layout = engine::MemoryLayout::kAuto;
  EXPECT_EQ(engine->trainer_refusal(built("resnet20"), options), "");
}

std::set<int> tasks() {
  std::set<int> ids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    ids.insert(std::stoi(entry.path().filename()));
  }
  return ids;
}

int only_cpu(int task) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(task, sizeof set, &set) != 0 || CPU_COUNT(&set) != 1) return -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) return cpu;
  }
  return -1;
}

// Each replica keeps the threads and CPUs it was given, though another one is made before it does anything.
TEST_F(ReplicasTest, ReplicasOnThreadsHaveTheirOwnThreadsAndCpus) {
  const std::vector<int> cpus = cpu_topology().allowed;
  const auto network = small_resnet(kReplicasShape, kReplicasClasses);
  const auto batch = random_batch(kReplicasBatch, kReplicasShape, kReplicasClasses);
  const auto state = network::initial_state(network, 1);
  const auto engine = engine::open_engine("torch");
  ThreadSums sums(2);
  const auto errors = on_threads(sums, 2, [&](std::size_t i, const auto& sum) {
    const auto wait = [&] {
      double nothing = 0;
      sum({&nothing, 1});
    };
    engine::TrainerOptions options;
    options.threads = i == 0 ? 2 : 1;
    options.cpus = {i == 0 ? cpus.front() : cpus.back()};
    std::unique_ptr<engine::Trainer> trainer;
    for (std::size_t turn = 0; turn < 2; ++turn) {  // the one with two threads first
      if (turn == i) trainer = engine->make_trainer(network, options);
      wait();
    }
    for (std::size_t turn = 0; turn < 2; ++turn) {
      if (turn == i) {
        const std::set<int> before = tasks();
        trainer->load_state(state);
        trainer->forward_backward(batch.view(), 1.0 / kReplicasBatch);
        std::size_t started = 0;
        for (const int task : tasks()) {
          if (before.contains(task)) continue;
          ++started;
          EXPECT_EQ(only_cpu(task), options.cpus.front());
        }
        EXPECT_EQ(started, i == 0 ? 1u : 0u);
        EXPECT_EQ(only_cpu(0), options.cpus.front());
      }
      wait();
    }
  });
  EXPECT_THAT(errors, testing::Each(""));
}

}  // namespace
}  // namespace evener
