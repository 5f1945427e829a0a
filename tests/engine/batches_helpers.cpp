#include "engine/batches_helpers.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "base/random.h"
#include "network/init.h"

namespace evener::test {

using network::Activation;
using network::Add;
using network::BatchNorm;
using network::Conv2d;
using network::Flatten;
using network::Linear;

data::Batch OwnedBatch::view(std::int64_t begin, std::int64_t end) const {
  const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
  return {end - begin,
          shape,
          std::span(images).subspan(first * shape.bytes(), count * shape.bytes()),
          data::ClassTargets{std::span(labels).subspan(first, count)},
          std::span(samples).subspan(first, count),
          epoch};
}

OwnedBatch random_batch(std::int64_t count, data::ImageShape shape, int classes, std::uint64_t seed) {
  Random random(seed, Purpose::kSynthetic);
  OwnedBatch batch{shape, {}, {}, {}};
  batch.images.resize(static_cast<std::size_t>(count) * shape.bytes());
  for (auto& value : batch.images) value = static_cast<std::uint8_t>(random.below(256));
  for (std::int64_t i = 0; i < count; ++i) {
    batch.labels.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(classes))));
    batch.samples.push_back(static_cast<std::uint32_t>(i));
  }
  return batch;
}

network::Network small_mlp(data::ImageShape shape, int classes) {
  network::Network network("small_mlp", {shape.channels, shape.height, shape.width});
  network.add("flatten", Flatten{});
  network.add("0", Linear{16, true});
  network.add("1", Activation{});
  network.add("2", Linear{classes, true});
  return network;
}

network::Network small_resnet(data::ImageShape shape, int classes) {
  network::Network network("small_resnet", {shape.channels, shape.height, shape.width});
  network.add("conv1", Conv2d{8, 3, 2, 1});
  network.add("bn1", BatchNorm{});
  const int trunk = network.add("relu", Activation{});
  network.add("conv2", Conv2d{8, 3, 1, 1});
  const int branch = network.add("bn2", BatchNorm{});
  network.add("add", Add{}, {branch, trunk});
  network.add("relu2", Activation{});
  network.add("maxpool", network::MaxPool{3, 2, 1});
  network.add("avgpool", network::GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("fc", Linear{classes, true});
  return network;
}

network::Network small_downsampling_resnet(data::ImageShape shape, int classes) {
  network::Network network("small_downsampling_resnet", {shape.channels, shape.height, shape.width});
  const int input = network.add("conv1", Conv2d{8, 3, 1, 1});
  network.add("conv2", Conv2d{8, 3, 2, 1});
  const int branch = network.add("bn2", BatchNorm{});
  network.add("downsample.0", Conv2d{8, 1, 2, 0}, {input});
  const int shortcut = network.add("downsample.1", BatchNorm{});
  network.add("add", Add{}, {branch, shortcut});
  network.add("relu2", Activation{});
  network.add("avgpool", network::GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("fc", Linear{classes, true});
  return network;
}

network::Network small_mobilenet(data::ImageShape shape, int classes) {
  const Activation relu6{network::ActivationKind::kRelu6};
  network::Network network("small_mobilenet", {shape.channels, shape.height, shape.width});
  network.add("conv1", Conv2d{8, 3, 2, 1});
  network.add("bn1", BatchNorm{});
  const int trunk = network.add("relu1", relu6);
  network.add("expand", Conv2d{24, 1, 1, 0});
  network.add("bn2", BatchNorm{});
  network.add("relu2", relu6);
  network.add("depthwise", Conv2d{24, 3, 1, 1, 24});
  network.add("bn3", BatchNorm{});
  network.add("relu3", relu6);
  network.add("project", Conv2d{8, 1, 1, 0});
  const int branch = network.add("bn4", BatchNorm{});
  network.add("add", Add{}, {branch, trunk});
  network.add("strided", Conv2d{8, 5, 2, 2, 8});
  network.add("bn5", BatchNorm{});
  network.add("avgpool", network::GlobalAveragePool{});
  network.add("flatten", Flatten{});
  network.add("fc", Linear{classes, true});
  return network;
}

network::Network two_outputs(data::ImageShape shape, int classes) {
  network::Network network("two_outputs", {shape.channels, shape.height, shape.width});
  network.add("flatten", Flatten{});
  network.add("trunk", Linear{12, true});
  const int trunk = network.add("relu", Activation{});
  const int scores = network.add("scores", Linear{classes, true}, {trunk});
  const int votes = network.add("votes", Linear{classes, true}, {trunk});
  network.set_output("scores", scores);
  network.set_output("votes", votes);
  return network;
}

void add(engine::StepReport& all, const engine::StepReport& report) {
  EXPECT_TRUE(all.finite) << "a report after the one that ended the training";
  all.sums += report.sums;
  all.steps += report.steps;
  all.finite = report.finite;
}

std::unique_ptr<engine::Trainer> make_trainer(const network::Network& network, const engine::TrainerOptions& options,
                                              const TensorMap& state, const std::string& engine) {
  static std::map<std::string, std::unique_ptr<engine::Engine>> engines;
  static std::mutex mutex;
  std::unique_lock lock(mutex);
  auto& opened = engines[engine];
  if (!opened) opened = engine::open_engine(engine);
  lock.unlock();
  auto trainer = opened->make_trainer(network, options);
  trainer->load_state(state.empty() ? network::initial_state(network, options.seed) : state);
  return trainer;
}

}  // namespace evener::test
