// Made-up batches and small networks for the tests of engines.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/module.h"
#include "base/relative_distance.h"
#include "engine/engine.h"

namespace evener::test {

inline constexpr char kTorch[] = "torch", kNative[] = "native";

/// A test that is skipped where this engine is not built.
template <const char* kEngine, class Base = testing::Test>
class EngineTest : public Base {
 protected:
  void SetUp() override {
    if (module_status(kEngine).state == ModuleState::kNotBuilt)
      GTEST_SKIP() << "the " << kEngine << " engine is not built";
  }
};

/// A batch that owns its memory.
struct OwnedBatch {
  data::ImageShape shape;
  std::vector<std::uint8_t> images;
  std::vector<std::int32_t> labels;
  std::vector<std::uint32_t> samples;
  std::uint64_t epoch = 1;

  /// Samples begin..end-1.
  data::Batch view(std::int64_t begin, std::int64_t end) const;
  data::Batch view() const { return view(0, static_cast<std::int64_t>(labels.size())); }
};
OwnedBatch random_batch(std::int64_t count, data::ImageShape shape, int classes, std::uint64_t seed = 7);

/// The images of a batch as the data that a device keeps; `count` may claim more than there are.
class BatchData : public data::ClassDataset {
 public:
  explicit BatchData(OwnedBatch batch, std::size_t count = 0)
      : batch_(std::move(batch)), count_(count > 0 ? count : batch_.labels.size()), classes_(5, "c") {}
  std::size_t size() const override { return count_; }
  data::ImageShape shape() const override { return batch_.shape; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::size_t index) const override { return batch_.labels.at(index); }
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    std::copy_n(batch_.images.begin() + static_cast<std::ptrdiff_t>(index * chw.size()), chw.size(), chw.begin());
  }
  std::string source(std::size_t index) const override { return "#" + std::to_string(index); }

 private:
  OwnedBatch batch_;
  std::size_t count_;
  std::vector<std::string> classes_;
};

/// Linear, ReLU, Linear over a flattened image.
network::Network small_mlp(data::ImageShape shape, int classes);
/// Two convolutions with batch-norm, a sum past the second, pooling: every kind of layer of a ResNet.
network::Network small_resnet(data::ImageShape shape, int classes);
/// A block whose sum has a batch-norm on either side, as where a ResNet halves its images: both could be joined with
/// it.
network::Network small_downsampling_resnet(data::ImageShape shape, int classes);
/// Depthwise convolutions at both strides, ReLU6, a sum without an activation: what MobileNetV2 adds to those.
network::Network small_mobilenet(data::ImageShape shape, int classes);

/// A trunk with a Linear and a ReLU, and two Linears on it that give the outputs "scores" and "votes".
network::Network two_outputs(data::ImageShape shape, int classes);

inline engine::ExchangesGradients& exchange_of(engine::Trainer& trainer) {
  return *trainer.capabilities().exchange;
}

/// Adds `report` to `all`, which has not ended.
void add(engine::StepReport& all, const engine::StepReport& report);

/// A trainer of an engine with the values of `state`, by default first values from `options.seed`.
std::unique_ptr<engine::Trainer> make_trainer(const network::Network& network,
                                              const engine::TrainerOptions& options = {}, const TensorMap& state = {},
                                              const std::string& engine = "torch");

}  // namespace evener::test
