// How fast a replica is found to be before the first shares are dealt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <set>
#include <thread>

#include "parallel/replica.h"

namespace evener::parallel {
namespace {

using testing::ElementsAre;

constexpr std::chrono::milliseconds kSearch{300}, kCall{3};

class ProbedImages : public data::ClassDataset {
 public:
  std::size_t size() const override { return 100; }
  data::ImageShape shape() const override { return {1, 1, 1}; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::size_t) const override { return 0; }
  void read(std::size_t, std::span<std::uint8_t> chw) const override { chw[0] = 0; }
  std::string source(std::size_t) const override { return ""; }

 private:
  std::vector<std::string> classes_{"a", "b"};
};

/// The first call of a size takes far longer than later ones, as that of a library that looks for its best algorithm.
class SearchingTrainer : public engine::Trainer {
 public:
  explicit SearchingTrainer(std::vector<std::int64_t>& calls) : calls_(calls) {}

  engine::Sums add_gradients(const data::Batch& batch, double) override {
    const bool is_new = known_.insert(batch.count).second;
    calls_.push_back(batch.count);
    std::this_thread::sleep_for(is_new ? kSearch : kCall);
    return engine::classification_sums(1, 0, batch.count);
  }
  void clear_gradients() override {}
  void apply(double) override {}
  engine::Sums evaluate(const data::Batch& batch, std::vector<std::int32_t>*) override {
    return engine::classification_sums(0, 0, batch.count);
  }
  TensorMap state() const override { return {}; }
  void load_state(const TensorMap&) override {}
  TensorMap optimizer_state() const override { return {}; }
  void load_optimizer_state(const TensorMap&) override {}
  engine::Capabilities capabilities() override { return {}; }

 private:
  std::vector<std::int64_t>& calls_;
  std::set<std::int64_t> known_;
};

class SearchingEngine : public engine::Engine {
 public:
  const char* name() const override { return "searching"; }
  std::string trainer_refusal(const network::Network&, const engine::TrainerOptions&) const override { return ""; }
  std::unique_ptr<engine::Trainer> make_trainer(const network::Network&, const engine::TrainerOptions&) override {
    return std::make_unique<SearchingTrainer>(calls);
  }

  std::vector<std::int64_t> calls;  // sizes of the batches
};

double probed_on(DeviceKind kind, SearchingEngine& engine) {
  network::Network network("tiny", {1, 1, 1});
  network.add("flatten", network::Flatten{});
  network.add("fc", network::Linear{1, true});
  ReplicaOptions options;
  options.trainer.device.kind = kind;
  options.batch = 48;
  options.accumulate = 2;
  options.loader = {48, 0};
  options.train_samples.resize(100);
  std::iota(options.train_samples.begin(), options.train_samples.end(), 0U);
  Replica replica(engine, network, std::make_shared<ProbedImages>(), options, make_self_channels());
  return replica.probe();
}

TEST(Probe, OfAGpuIsASecondCallOfItsShare) {
  SearchingEngine engine;
  const double speed = probed_on(DeviceKind::kCuda, engine);
  EXPECT_THAT(engine.calls, ElementsAre(24, 24));
  const std::chrono::duration<double> search = kSearch, call = kCall;
  EXPECT_LE(speed, 24 / call.count());
  EXPECT_GT(speed, 24 / search.count()) << "the search was timed";
}

TEST(Probe, OfACpuBeginsWithFewImages) {
  SearchingEngine engine;
  probed_on(DeviceKind::kCpu, engine);
  ASSERT_GE(engine.calls.size(), 2U);
  EXPECT_EQ(engine.calls[0], 2);
  EXPECT_EQ(engine.calls[1], 2);
}

}  // namespace
}  // namespace evener::parallel
