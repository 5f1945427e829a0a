// Times of layers: every layer is in one of them, once.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/module.h"
#include "engine/batches_helpers.h"
#include "engine/runner.h"
#include "network/init.h"
#include "network/passes/fold_batch_norm.h"

namespace evener::engine {
namespace {

constexpr data::ImageShape kImage{3, 14, 12};

std::map<std::string, int> names_in(const std::vector<LayerTime>& times) {
  std::map<std::string, int> names;
  for (const LayerTime& time : times) {
    for (const std::string& name : time.layers) ++names[name];
  }
  return names;
}

class LayerTimes : public test::EngineTest<test::kTorch> {};

TEST_F(LayerTimes, OfATrainingStepHaveEveryLayerForwardAndBackward) {
  const test::OwnedBatch batch = test::random_batch(4, kImage, 5);
  for (const network::Network& network : {test::small_resnet(kImage, 5), test::small_mobilenet(kImage, 5)}) {
    for (const bool ahead : {false, true}) {
      TrainerOptions options;
      options.torch.like_accelerator = ahead;
      const auto trainer = test::make_trainer(network, options);
      TimesLayers* layers = trainer->capabilities().layers;
      ASSERT_NE(layers, nullptr);
      const TensorMap before = trainer->state();
      const std::vector<LayerTime> times = layers->time_layers(batch.view());
      const std::map<std::string, int> names = names_in(times);
      for (std::size_t i = 1; i < network.layers().size(); ++i) {
        const auto found = names.find(network.layers()[i].name);
        ASSERT_NE(found, names.end()) << network.layers()[i].name;
        EXPECT_EQ(found->second, 1) << network.layers()[i].name;
      }
      double backward_s = 0;
      for (const LayerTime& time : times) {
        EXPECT_GE(time.forward_s, 0);
        EXPECT_GE(time.backward_s.value_or(0), 0);
        const bool computes = time.what == "conv2d" || time.what == "linear" || time.what == "batch_norm";
        if (computes) {
          EXPECT_GT(time.backward_s.value_or(0), 0) << time.layers.front();
        }
        backward_s += time.backward_s.value_or(0);
      }
      EXPECT_GT(backward_s, 0);
      EXPECT_EQ(times.back().what, "loss");
      for (const auto& parameter : network.parameters()) {
        if (!parameter.trained) continue;
        EXPECT_EQ(trainer->state().at(parameter.name).bytes, before.at(parameter.name).bytes) << "no step was taken";
      }
    }
  }
}

TEST_F(LayerTimes, LeaveATrainingAsItWas) {
  const network::Network network = test::small_mlp(kImage, 5);
  const test::OwnedBatch batch = test::random_batch(4, kImage, 5);
  const auto timed = test::make_trainer(network), other = test::make_trainer(network);
  timed->capabilities().layers->time_layers(batch.view());
  for (auto* trainer : {timed.get(), other.get()}) {
    trainer->clear_gradients();
    trainer->add_gradients(batch.view(), 0.25);
    trainer->apply(0.1);
  }
  for (const auto& [name, values] : other->state()) EXPECT_EQ(timed->state().at(name).bytes, values.bytes) << name;
}

class RunnerLayerTimes : public testing::TestWithParam<const char*> {};

TEST_P(RunnerLayerTimes, NameTheNetworksLayers) {
  if (module_status(GetParam()).state == ModuleState::kNotBuilt)
    GTEST_SKIP() << "the " << GetParam() << " engine is not built";
  const network::Network network = test::small_resnet(kImage, 5);
  RunnerOptions options;
  options.batch = 2;
  options.times_layers = true;
  const auto runner = open_engine(GetParam())->make_runner(network, network::initial_state(network, 1), options);
  const test::OwnedBatch batch = test::random_batch(2, kImage, 5);
  runner->start(std::span<const std::uint8_t>(batch.images));
  runner->wait();
  const std::vector<LayerTime> times = runner->layer_times();
  const std::map<std::string, int> names = names_in(times);
  double all_s = 0;
  for (const LayerTime& time : times) {
    EXPECT_FALSE(time.backward_s) << "nothing is learnt";
    all_s += time.forward_s;
  }
  EXPECT_GT(all_s, 0);
  // Batch normalisations are folded into the convolutions before them, which then have their names.
  const network::Network folded = network::fold_batch_norm(network);
  for (const network::Layer& layer : folded.layers()) {
    if (!std::holds_alternative<network::Conv2d>(layer.op)) continue;
    EXPECT_TRUE(names.contains(layer.name)) << layer.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, RunnerLayerTimes, testing::Values("torch", "openvino"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace evener::engine
