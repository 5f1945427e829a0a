#include "task/faces/part_network.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "engine/window_network.h"

namespace evener::task {
namespace {

class PartsInWindows : public PartNetwork {
 public:
  explicit PartsInWindows(const network::NetworkWithState& network)
      : side_(network.network.input_shape()[1]), windows_(network.network, network.state) {}

  /// Calls of few parts cost as much as those of a vector's lanes: all calls are about as large.
  std::size_t room(std::size_t left) const override {
    const std::size_t calls = (left + kTogether - 1) / kTogether;
    return (left + calls - 1) / calls;
  }

  void run(std::span<const float> parts) override {
    const std::int64_t plane = side_ * side_;
    count_ = static_cast<std::int64_t>(parts.size()) / (3 * plane);
    outputs_ = windows_.run({side_, side_, count_}, [&](std::int64_t y, std::span<float* const> planes) {
      for (std::int64_t part = 0; part < count_; ++part) {
        const float* from = parts.data() + 3 * part * plane + y * side_;
        for (float* const to : planes) {
          for (std::int64_t x = 0; x < side_; ++x) to[x * count_ + part] = normalized_value(from[x]);
          from += plane;
        }
      }
    });
  }

  PartValues output(const char* name) const override {
    const auto found = std::ranges::find(outputs_, std::string_view(name), &engine::WindowOutput::name);
    if (found == outputs_.end()) throw Error(std::string("the network has no output ") + name);
    return {found->values.data(), count_, 1};
  }

 private:
  static constexpr std::size_t kTogether = 32;  // so that their rows stay in the second-level cache

  std::int64_t side_, count_ = 0;
  engine::WindowNetwork windows_;
  std::span<const engine::WindowOutput> outputs_;
};

/// A call that isn't full costs as much as a full one.
class PartsInBatches : public PartNetwork {
 public:
  explicit PartsInBatches(std::int64_t side) : values_(static_cast<std::size_t>(3 * side * side)) {}

  void add(std::int64_t batch, std::unique_ptr<engine::Runner> runner) {
    batches_.push_back({static_cast<std::size_t>(batch), std::move(runner)});
  }

  /// The smallest that takes all, unless it is the largest and a quarter of it or more would stay empty: the next
  /// smaller ones then take less work.
  std::size_t room(std::size_t left) const override {
    std::size_t which = 0;
    while (which + 1 < batches_.size() && batches_[which].parts < left) ++which;
    if (which > 0 && which + 1 == batches_.size() && 4 * left <= 3 * batches_[which].parts) --which;
    return batches_[which].parts;
  }

  void run(std::span<const float> parts) override {
    engine::Runner& runner = *std::ranges::find(batches_, parts.size() / values_, &Batch::parts)->runner;
    runner.start(parts);
    outputs_ = runner.wait();
  }

  PartValues output(const char* name) const override {
    const HostTensor& output = outputs_.at(name);
    return {output.floats(), 1, output.shape.at(1)};
  }

 private:
  struct Batch {
    std::size_t parts;
    std::unique_ptr<engine::Runner> runner;
  };

  std::size_t values_;  // of a part
  std::vector<Batch> batches_;
  TensorMap outputs_;
};

}  // namespace

void set_face_normalization(engine::RunnerOptions& options) {
  options.mean.assign(3, 0.5F);
  options.standard_deviation.assign(3, 128.0F / 255);
}

std::vector<std::unique_ptr<PartNetwork>> part_networks_in_windows(const network::NetworkWithState& network,
                                                                   int count) {
  std::vector<std::unique_ptr<PartNetwork>> networks;
  for (int i = 0; i < count; ++i) networks.push_back(std::make_unique<PartsInWindows>(network));
  return networks;
}

std::vector<std::unique_ptr<PartNetwork>> part_networks_in_batches(engine::Engine& engine,
                                                                   const network::NetworkWithState& network,
                                                                   engine::RunnerOptions runner,
                                                                   std::span<const std::int64_t> batches, int count) {
  std::vector<std::unique_ptr<PartsInBatches>> made;
  for (int i = 0; i < count; ++i) {
    made.push_back(std::make_unique<PartsInBatches>(network.network.input_shape()[1]));
  }
  runner.values = engine::ImageValues::kFloats;
  set_face_normalization(runner);
  for (const std::int64_t batch : batches) {
    runner.batch = batch;
    auto runners = engine.make_runners(network.network, network.state, runner, count);
    for (std::size_t i = 0; i < made.size(); ++i) made[i]->add(batch, std::move(runners[i]));
  }
  return {std::make_move_iterator(made.begin()), std::make_move_iterator(made.end())};
}

}  // namespace evener::task
