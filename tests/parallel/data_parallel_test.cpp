// Whatever replicas come and go, every sample of every batch is trained on once, and with the right weight.
#include "parallel/data_parallel.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "parallel/launcher.h"

namespace evener::parallel {
namespace {

constexpr std::int64_t kSamples = 1603, kBatch = 64;  // the last batch of an epoch has 3

class BlankImages : public data::ClassDataset {
 public:
  std::size_t size() const override { return kSamples; }
  data::ImageShape shape() const override { return {1, 1, 1}; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::size_t) const override { return 0; }
  void read(std::size_t, std::span<std::uint8_t> chw) const override { chw[0] = 0; }
  std::string source(std::size_t index) const override { return "#" + std::to_string(index); }

 private:
  std::vector<std::string> classes_{"a", "b"};
};

/// In memory of all replicas: how many steps replica 0 did, and every replica's gradient.
struct Shared {
  std::int64_t steps;
  float gradients[3];
};

/// Every sample's gradient is 1, so a step's is 1 when no sample was lost or counted twice.
class CountingTrainer : public engine::Trainer, public engine::ExchangesGradients, public engine::SharesArrays {
 public:
  CountingTrainer(int rank, std::span<std::byte> shared)
      : rank_(rank), shared_(shared.empty() ? nullptr : reinterpret_cast<Shared*>(shared.data())) {}

  void clear_gradients() override { gradient_ = {}; }
  engine::Sums add_gradients(const data::Batch& batch, double weight) override {
    // Rank 1 is slow in the first half of the run: it leaves. Then it is fast, and comes back.
    const bool slow = rank_ == 1 && steps_ < 70;
    if (batch.count > 0) std::this_thread::sleep_for(std::chrono::microseconds(slow ? 3000 : 100 * batch.count));
    for (float& value : gradient_) value += static_cast<float>(weight * static_cast<double>(batch.count));
    if (shared_ != nullptr) {
      shared_->gradients[rank_] = gradient_[0];
      if (rank_ == 0) shared_->steps = steps_;
    }
    for (std::size_t i = gradient_.size(); i-- > 0 && ready_;) ready_(i);
    return engine::classification_sums(0.5 * static_cast<double>(batch.count), 0, batch.count);
  }
  void on_gradient_ready(std::function<void(std::size_t)> callback) override { ready_ = std::move(callback); }
  const std::vector<std::string>& trained_parameters() const override { return names_; }
  std::span<float> gradient(std::size_t index) override { return std::span(gradient_).subspan(index, 1); }
  TensorMap gradients() const override { return {}; }
  void apply(double) override {
    for (const float value : gradient_) EXPECT_NEAR(value, 1, 1e-5) << "step " << steps_ << " of rank " << rank_;
    EXPECT_EQ(updates_, steps_) << "rank " << rank_ << " has not the optimiser's state of rank 0";
    ++steps_;
    ++updates_;
  }
  engine::Capabilities capabilities() override {
    engine::Capabilities capabilities;
    capabilities.exchange = this;
    if (shared_ != nullptr) capabilities.sharing = this;
    return capabilities;
  }
  void apply_part(double, std::span<const int> members) override {
    gradient_ = {};
    for (const int member : members) {
      for (float& value : gradient_) value += shared_->gradients[member];
    }
    EXPECT_EQ(steps_, shared_->steps) << "rank " << rank_ << " has not the state of rank 0";
    apply(0);
  }
  engine::Sums evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) override {
    if (predicted != nullptr) predicted->assign(static_cast<std::size_t>(batch.count), 0);
    return engine::classification_sums(static_cast<double>(batch.count), batch.count, batch.count);
  }
  /// The steps stand for the weights: who comes back has to have rank 0's.
  TensorMap state() const override { return {{"steps", HostTensor::scalar_i64(steps_)}}; }
  void load_state(const TensorMap& state) override {
    std::memcpy(&steps_, state.at("steps").bytes.data(), sizeof steps_);
  }
  /// The updates stand for the optimiser's values.
  TensorMap optimizer_state() const override { return {{"updates", HostTensor::scalar_i64(updates_)}}; }
  void load_optimizer_state(const TensorMap& state) override {
    std::memcpy(&updates_, state.at("updates").bytes.data(), sizeof updates_);
  }

 private:
  const int rank_;
  Shared* const shared_;
  std::int64_t steps_ = 0, updates_ = 0;
  std::array<float, 2> gradient_{};
  std::vector<std::string> names_{"weight", "bias"};
  std::function<void(std::size_t)> ready_;
};

class CountingEngine : public engine::Engine {
 public:
  explicit CountingEngine(int rank) : rank_(rank) {}
  const char* name() const override { return "counting"; }
  std::string trainer_refusal(const network::Network&, const engine::TrainerOptions&) const override { return ""; }
  std::unique_ptr<engine::Trainer> make_trainer(const network::Network&,
                                                const engine::TrainerOptions& options) override {
    return std::make_unique<CountingTrainer>(rank_, options.shared.bytes);
  }

 private:
  const int rank_;
};

network::Network tiny_network() {
  network::Network network("tiny", {1, 1, 1});
  network.add("flatten", network::Flatten{});
  network.add("fc", network::Linear{1, true});  // one weight, one bias
  return network;
}

std::string train(const RankContext& context) {
  CountingEngine engine(context.rank);
  ReplicaOptions options;
  options.batch = kBatch;
  options.loader = {kBatch, 1};
  for (std::uint32_t i = 0; i < kSamples; ++i) options.train_samples.push_back(i);
  options.evaluation_parts = {options.train_samples};
  Replica replica(engine, tiny_network(), std::make_shared<BlankImages>(), options, context.channels());
  if (context.rank != 0) {
    replica.serve();
    return "";
  }
  DataParallel replicas(replica, Shares::measured({1, 1, 1}), kBatch, /*may_leave=*/true);
  std::int64_t trained = 0;
  for (int epoch = 1; epoch <= 6; ++epoch) {
    replicas.start_epoch(epoch, kSamples, 0);
    for (std::int64_t begin = 0; begin < kSamples; begin += kBatch) {
      const StepResult& step = replicas.step(0.1);
      EXPECT_TRUE(step.applied);
      EXPECT_EQ(step.sums.count("loss"), std::min(kBatch, kSamples - begin));
      trained += step.sums.count("loss");
    }
    replicas.share_state();
    const auto evaluated = replicas.evaluate(0, kSamples, [] { return false; });
    EXPECT_EQ(evaluated->sums.count("loss"), kSamples);
  }
  replicas.finish();
  EXPECT_EQ(trained, 6 * kSamples);
  return "led";
}

/// Three replicas; with memory that all see, their trainers share arrays.
void expect_every_sample(std::size_t shared_bytes) {
  placement::Plan plan;
  plan.processes.emplace_back();
  for (int rank = 0; rank < 3; ++rank) {
    plan.replicas.push_back({rank, {placement::PlanStage{}}, std::nullopt});
    plan.processes[0].ranks.push_back(rank);
  }
  LaunchOptions launch;
  launch.shared_bytes = shared_bytes;
  EXPECT_EQ(run_ranks(plan, train, launch).front(), "led");
}

TEST(DataParallel, LosesNoSampleWhoeverLeavesOrComesBack) {
  expect_every_sample(0);
}

TEST(DataParallel, LosesNoSampleWhereArraysAreShared) {
  expect_every_sample(sizeof(Shared));
}

}  // namespace
}  // namespace evener::parallel
