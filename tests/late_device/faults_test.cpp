// What went wrong on GPUs, or may: memory that ends, streams that are left out, threads that LibTorch keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/precision.h"
#include "engine/runner.h"
#include "late_device/late_helpers.h"

namespace evener {
namespace {

using engine::TrainerOptions;
using namespace test;
using testing::HasSubstr;

class LateFaults : public LateTest {};

TEST_F(LateFaults, GradientsInFloat16AreTheHostsBeforeTheirMemoryGoes) {
  TrainerOptions options;
  options.precision = Precision::kFp16;
  options.torch.like_accelerator = true;
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto here = make_trainer(small_resnet(kColour, 5), options),
             there = make_trainer(small_resnet(kColour, 5), on_gpu(options));
  for (engine::Trainer* trainer : {here.get(), there.get()}) {
    engine::ExchangesGradients& exchange = *trainer->capabilities().exchange;
    exchange.on_gradient_ready([&](std::size_t index) {
      for (float& value : exchange.gradient(index)) value *= 2;
    });
    for (int step = 0; step < 3; ++step) {
      trainer->forward_backward(batch.view(), 1.0 / 8);
      trainer->apply(kRate);
    }
  }
  EXPECT_LT(relative_distance(there->state(), here->state()), 1e-2);  // bfloat16 there, float16 here
}

TEST_F(LateFaults, WhatCantBeginOnACardSaysSoInOneLine) {
  const auto torch = engine::open_engine("torch");
  TrainerOptions options = on_gpu();
  options.device.index = 7;
  const auto message = [](const auto& begin) -> std::string {
    try {
      begin();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message([&] { torch->make_matrix_product({.device = options.device}); }),
            "no product of matrices can be made on cuda:7: there is no card 7: there are 1");
  EXPECT_EQ(message([&] { torch->make_trainer(small_mlp(kColour, 5), options); }),
            "no trainer can be made on cuda:7: there is no card 7: there are 1");
}

TEST_F(LateFaults, AveragesAreSwappedBehindStepsThatAreUnderWay) {
  TrainerOptions options;
  options.optimizer.average_decay = 0.9;
  options.torch.like_accelerator = true;
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto here = make_trainer(small_resnet(kColour, 5), options),
             there = make_trainer(small_resnet(kColour, 5), on_gpu(options));
  for (engine::Trainer* trainer : {here.get(), there.get()}) {
    for (int step = 0; step < kManySteps; ++step) trainer->step(batch.view(), 1.0 / 8, kRate);
    trainer->capabilities().average->swap_average();
  }
  EXPECT_LT(relative_distance(there->state(), here->state()), 1e-4);
}

TEST_F(LateFaults, ASecondTrainerThatWaitsForReplicasIsRefusedOnOneGpu) {
  TrainerOptions waits = on_gpu();
  waits.sum_over_replicas = [](std::span<double>) {};
  const network::Network network = small_resnet(kColour, 5);
  auto first = make_trainer(network, waits);
  EXPECT_THAT([&] { make_trainer(network, waits); },
              testing::ThrowsMessage<Error>(testing::AllOf(HasSubstr("cuda:0"), HasSubstr("--batch-norm local"))));
  EXPECT_NO_THROW(make_trainer(network, on_gpu()));             // waits for nobody
  EXPECT_NO_THROW(make_trainer(small_mlp(kColour, 5), waits));  // has no batch-norm
  first.reset();
  EXPECT_NO_THROW(make_trainer(network, waits));
}

/// A step needs memory for few activations, a graph for gradients of its own besides.
network::Network with_many_weights() {
  network::Network network("with_many_weights", {kColour.channels, kColour.height, kColour.width});
  network.add("flatten", network::Flatten{});
  network.add("0", network::Linear{256, true});
  network.add("1", network::Activation{});
  network.add("2", network::Linear{5, true});
  return network;
}

TEST_F(LateFaults, AGraphThatHasNoMemoryIsDoneWithout) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const network::Network network = with_many_weights();
  const auto full = make_trainer(network, on_gpu()), free = make_trainer(network, on_gpu());
  steps(*full, batch, 8, 8);
  steps(*free, batch, 8, 8);
  {
    const FullCard others(256 << 10);
    steps(*full, batch, 8, 4);
    EXPECT_THAT(notes_of(*full), HasSubstr("no memory for a graph"));
  }
  steps(*free, batch, 8, 4);
  EXPECT_THAT(notes_of(*free), HasSubstr("replayed as a graph"));  // the next graph has its memory
  EXPECT_LT(relative_distance(full->state(), free->state()), 1e-6);
}

TEST_F(LateFaults, AGraphGivesItsMemoryToABatchOfAnotherSize) {
  TrainerOptions options = on_gpu();
  options.optimizer.momentum = 0.9;
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const network::Network network = small_resnet(kColour, 5);
  const auto full = make_trainer(network, options), free = make_trainer(network, options);
  for (engine::Trainer* trainer : {full.get(), free.get()}) {
    steps(*trainer, batch, 8, kManySteps);
    EXPECT_THAT(notes_of(*trainer), HasSubstr("replayed as a graph"));
  }
  engine::StepReport report;
  {
    const FullCard others(8192);  // the batch itself has room
    report = steps(*full, batch, 5, 1);
    EXPECT_THAT(notes_of(*full), HasSubstr("memory"));
    steps(*full, batch, 8, 2);
  }
  EXPECT_EQ(report.steps, 1);
  steps(*free, batch, 5, 1);
  steps(*free, batch, 8, 2);
  EXPECT_LT(relative_distance(full->state(), free->state()), 1e-6);
}

TEST_F(LateFaults, ALargerBatchTakesTheGraphOver) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const network::Network network = small_mlp(kColour, 5);
  const auto trainer = make_trainer(network, on_gpu()), other = make_trainer(network, on_gpu());
  steps(*trainer, batch, 3, kManySteps);
  steps(*trainer, batch, 8, kManySteps);
  const std::size_t before = made_up::counts().replays;
  steps(*trainer, batch, 8, 5);
  EXPECT_EQ(made_up::counts().replays - before, 5U);
  steps(*trainer, batch, 3, 5);  // doesn't take it back
  EXPECT_EQ(made_up::counts().replays - before, 5U);
}

TEST_F(LateFaults, AnUpdateWithoutMemorySaysSo) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto trainer = make_trainer(small_mlp(kColour, 5), on_gpu());
  engine::ExchangesGradients& exchange = *trainer->capabilities().exchange;
  trainer->forward_backward(batch.view(), 1.0 / 8);
  for (std::size_t i = 0; i < exchange.trained_parameters().size(); ++i) exchange.gradient(i);
  const FullCard others(0);
  EXPECT_THROW(trainer->apply(kRate), engine::OutOfMemory);
}

TEST_F(LateFaults, AGradientWithoutMemorySaysSo) {
  TrainerOptions options = on_gpu();
  options.precision = Precision::kFp16;  // the gradient is divided by the scale on its way
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto trainer = make_trainer(small_mlp(kColour, 5), options);
  trainer->forward_backward(batch.view(), 1.0 / 8);
  const FullCard others(0);
  EXPECT_THROW(exchange_of(*trainer).gradient(0), engine::OutOfMemory);
}

TEST_F(LateFaults, LayersAreTimedByTheDevicesClock) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto trainer = make_trainer(small_resnet(kColour, 5), on_gpu());
  engine::TimesLayers& layers = *trainer->capabilities().layers;
  layers.time_layers(batch.view());
  const std::size_t before = made_up::counts().waits;
  const auto times = layers.time_layers(batch.view());
  EXPECT_LT(made_up::counts().waits - before, times.size()) << "the host waited at each layer";
  double forward_s = 0, backward_s = 0;
  for (const engine::LayerTime& time : times) {
    EXPECT_GE(time.forward_s, 0);
    forward_s += time.forward_s;
    backward_s += time.backward_s.value_or(0);
  }
  EXPECT_GT(forward_s, 0);
  EXPECT_GT(backward_s, 0);
}

/// The CPUs of the thread in which LibTorch does the backward passes of the first GPU.
std::vector<int> cpus_of_backward() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
    if (name != "pt_autograd_0") continue;
    cpu_set_t set;
    if (sched_getaffinity(std::stoi(task.path().filename()), sizeof set, &set) != 0) return {};
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
    return cpus;
  }
  return {};
}

TEST_F(LateFaults, BackwardPassesRunOnTheTrainersCpus) {
  const std::vector<int>& allowed = cpu_topology().allowed;
  if (allowed.size() < 2) GTEST_SKIP() << "there is one CPU";
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto train_on = [&](TrainerOptions options) {
    std::thread([&] { steps(*make_trainer(small_mlp(kColour, 5), options), batch, 8, 2); }).join();
  };
  // LibTorch starts its threads with the first backward pass of the process, whoever does it.
  TrainerOptions cpu;
  cpu.cpus = {allowed.front()};
  train_on(cpu);
  for (const int own : {allowed.back(), allowed.front()}) {
    TrainerOptions gpu = on_gpu();
    gpu.cpus = {own};
    train_on(gpu);
    EXPECT_EQ(cpus_of_backward(), std::vector<int>{own});
  }
  train_on(on_gpu());
  EXPECT_EQ(cpus_of_backward(), allowed);
}

}  // namespace
}  // namespace evener
