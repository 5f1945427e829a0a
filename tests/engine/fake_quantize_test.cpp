// Engines compute quantised values as network/quantization.h does, and alike.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "base/module.h"
#include "engine/batches_helpers.h"
#include "engine/best_class.h"
#include "network/init.h"
#include "network/passes/fold_batch_norm.h"
#include "network/passes/quantize.h"
#include "network/quantization.h"

namespace evener {
namespace {

using network::QuantizationScheme;

class FakeQuantizeTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"torch", "openvino"}) {
      if (module_status(name).state == ModuleState::kNotBuilt) GTEST_SKIP() << name << " is not built";
    }
  }
};

std::vector<float> run_vectors(const std::string& engine, const network::Network& network, const TensorMap& state,
                               const std::vector<float>& values, std::int64_t batch) {
  engine::RunnerOptions options;
  options.batch = batch;
  options.values = engine::ImageValues::kFloats;
  const auto runner = engine::open_engine(engine)->make_runner(network, state, options);
  runner->start(std::span(values));
  const HostTensor output = runner->wait().begin()->second;
  return {output.floats(), output.floats() + element_count(output.shape)};
}

TEST_F(FakeQuantizeTest, TorchRoundsAsTheReferenceDoesToTheBit) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 2);
  for (const bool is_signed : {true, false}) {
    std::vector<float> values = {0, -0.0F, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 1e9F, -1e9F, 254.5F, 255.5F, -128.5F};
    for (int i = 0; i < 500; ++i) values.push_back(normal(random));
    const auto count = static_cast<std::int64_t>(values.size());
    network::Network network("rounding", {count});
    network.add("rounded", network::FakeQuantize{is_signed});
    for (const float scale : {1.0F, 0.013F, 0.37F}) {
      const TensorMap state = {{"rounded.scale", HostTensor::of_floats({1}, {scale})}};
      const std::vector<float> found = run_vectors("torch", network, state, values, 1);
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(found[i], network::fake_quantized(values[i], scale, network::activation_levels(is_signed)))
            << values[i] << " in steps of " << scale;
      }
    }
  }
}

/// A network of small_resnet's kinds of layers with plausible scales.
network::NetworkWithState quantized(const network::Network& network, int bits) {
  network::NetworkWithState folded = network::fold_batch_norm(network, network::initial_state(network, 5));
  const QuantizationScheme scheme = network::choose_quantization(folded.network, bits, {});
  network::NetworkWithState result{network::with_quantization(folded.network, scheme), folded.state};
  for (const auto& parameter : result.network.parameters()) {
    if (parameter.name.ends_with(".weight_scale")) {
      const HostTensor& weight = result.state.at(parameter.name.substr(0, parameter.name.size() - 6));
      float largest = 0;
      for (std::int64_t i = 0; i < element_count(weight.shape); ++i) {
        largest = std::max(largest, std::abs(weight.floats()[i]));
      }
      const auto channels = static_cast<std::size_t>(parameter.shape.front());
      result.state[parameter.name] = HostTensor::of_floats(
          parameter.shape, std::vector<float>(channels, largest / network::weight_levels(bits).most));
    } else if (parameter.name.ends_with(".quantized.scale")) {
      result.state[parameter.name] = HostTensor::of_floats({1}, {0.03F});
    }
  }
  return result;
}

TEST_F(FakeQuantizeTest, OpenVinoFindsTheClassesThatTorchFinds) {
  constexpr std::int64_t kImages = 64;
  const data::ImageShape shape{3, 16, 16};
  const test::OwnedBatch batch = test::random_batch(kImages, shape, 5);
  for (const auto& network : {test::small_resnet(shape, 5), test::small_mobilenet(shape, 5)}) {
    for (const int bits : {8, 4}) {
      const network::NetworkWithState model = quantized(network, bits);
      engine::RunnerOptions options;
      options.batch = kImages;
      options.mean = {0.5F, 0.5F, 0.5F};
      options.standard_deviation = {0.25F, 0.25F, 0.25F};
      std::map<std::string, HostTensor> scores;
      for (const char* engine : {"torch", "openvino"}) {
        const auto runner = engine::open_engine(engine)->make_runner(model.network, model.state, options);
        runner->start(std::span<const std::uint8_t>(batch.images));
        scores[engine] = runner->wait().begin()->second;
      }
      int same = 0;
      for (std::int64_t i = 0; i < kImages; ++i) {
        const float *ours = scores["torch"].floats() + 5 * i, *other = scores["openvino"].floats() + 5 * i;
        same += engine::best_class(ours, 5) == engine::best_class(other, 5) ? 1 : 0;
      }
      // A value between two levels may become either: one image of 64 may fall elsewhere.
      EXPECT_GE(same, kImages - 1) << network.model() << ", " << bits << " bits";
    }
  }
}

TEST_F(FakeQuantizeTest, OpenVinoComputesInInt8) {
  const data::ImageShape shape{3, 16, 16};
  const network::NetworkWithState model = quantized(test::small_resnet(shape, 5), 8);
  const auto runner = engine::open_engine("openvino")->make_runner(model.network, model.state, {});
  int int8 = 0, other = 0;
  for (const auto& [what, count] : runner->executed()) {
    if (!what.starts_with("Convolution")) continue;
    (what.ends_with(" i8") || what.ends_with(" u8") ? int8 : other) += count;
  }
  EXPECT_GE(int8, 2);
  EXPECT_EQ(other, 0);
}

TEST_F(FakeQuantizeTest, ScalesLearn) {
  const data::ImageShape shape{3, 8, 8};
  const test::OwnedBatch batch = test::random_batch(16, shape, 5);
  network::NetworkWithState model = quantized(test::small_resnet(shape, 5), 4);
  engine::TrainerOptions options;
  options.mean = {0.5F, 0.5F, 0.5F};
  options.standard_deviation = {0.25F, 0.25F, 0.25F};
  const auto trainer = test::make_trainer(model.network, options, model.state);
  const double before = *trainer->evaluate(batch.view(), nullptr).mean("loss");
  for (int step = 0; step < 20; ++step) {
    trainer->forward_backward(batch.view(), 1.0 / 16);
    trainer->apply(0.02);
  }
  EXPECT_LT(*trainer->evaluate(batch.view(), nullptr).mean("loss"), 0.9 * before);
  const TensorMap after = trainer->state();
  for (const auto& parameter : model.network.parameters()) {
    if (!parameter.name.ends_with("scale")) continue;
    EXPECT_NE(after.at(parameter.name), model.state.at(parameter.name)) << parameter.name;
    EXPECT_EQ(network::first_not_finite(after.at(parameter.name)), -1);
  }
}

}  // namespace
}  // namespace evener
