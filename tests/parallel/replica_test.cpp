// What a replica counts, reports and measures.
#include "parallel/replica.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "parallel/data_parallel.h"
#include "parallel/launcher.h"

namespace evener::parallel {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(ConfusionCounts, CountTrueClassesByFoundOnes) {
  ConfusionCounts counts(3);
  counts.add(std::vector<std::int32_t>{0, 0, 1, 2}, std::vector<std::int32_t>{0, 2, 1, 1});
  EXPECT_EQ(counts.count(0, 0), 1);
  EXPECT_EQ(counts.count(0, 2), 1);
  EXPECT_EQ(counts.count(2, 0), 0) << "rows are true classes";
  EXPECT_EQ(counts.count(2, 1), 1);
}

TEST(ConfusionCounts, PassOverOtherClasses) {
  ConfusionCounts counts(2), none(0);
  counts.add(std::vector<std::int32_t>{0, -1, 2, 1}, std::vector<std::int32_t>{5, 0, 0, 1});
  none.add(std::vector<std::int32_t>{0}, std::vector<std::int32_t>{0});
  std::vector<double> values(counts.packed_size());
  counts.pack(values);
  EXPECT_EQ(values, (std::vector<double>{0, 0, 0, 1}));
  EXPECT_EQ(none.packed_size(), 0u);
}

TEST(ConfusionCounts, AddUpAsPlainNumbers) {
  ConfusionCounts own(2), all(2);
  own.add(std::vector<std::int32_t>{0, 1}, std::vector<std::int32_t>{1, 1});
  std::vector<double> values(own.packed_size());
  own.pack(values);
  for (double& value : values) value *= 3;
  all.unpack(values);
  EXPECT_EQ(all.count(0, 1), 3);
  EXPECT_EQ(all.count(1, 1), 3);
  EXPECT_EQ(all.count(1, 0), 0);
}

constexpr std::uint32_t kSamples = 50;
/// For which class each of three is taken once a step has been trained; before that all are taken for class 0.
constexpr std::array<std::int32_t, 3> kTakenFor = {1, 2, 2};

/// Images of one pixel, which is their class.
class Digits : public data::ClassDataset {
 public:
  std::size_t size() const override { return kSamples; }
  data::ImageShape shape() const override { return {1, 1, 1}; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::size_t index) const override { return class_of(index); }
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    chw[0] = static_cast<std::uint8_t>(class_of(index));
  }
  std::string source(std::size_t index) const override { return "#" + std::to_string(index); }

 private:
  static std::int32_t class_of(std::size_t index) { return index % 10 < 5 ? 0 : index % 10 < 8 ? 1 : 2; }
  std::vector<std::string> classes_{"a", "b", "c"};
};

/// Learns in one step to take classes for others. `late`: what it finds in evaluations is told at their end.
class TakingTrainer : public engine::Trainer, public engine::ExchangesGradients {
 public:
  explicit TakingTrainer(bool late) : late_(late) {}
  void clear_gradients() override {}
  engine::Sums add_gradients(const data::Batch& batch, double) override {
    if (ready_) ready_(0), ready_(1);
    return engine::classification_sums(0, 0, batch.count);
  }
  void apply(double) override { trained_ = true; }
  engine::Sums evaluate(const data::Batch& batch, std::vector<std::int32_t>* predicted) override {
    std::vector<std::int32_t>& found = late_ ? found_ : *predicted;
    for (const std::uint8_t pixel : batch.images) found.push_back(trained_ ? kTakenFor.at(pixel) : 0);
    return late_ ? engine::Sums() : engine::classification_sums(0, 0, batch.count);
  }
  engine::Sums end_evaluation(std::vector<std::int32_t>* predicted) override {
    const std::vector<std::int32_t> found = std::exchange(found_, {});
    if (predicted != nullptr) predicted->insert(predicted->end(), found.begin(), found.end());
    return late_ ? engine::classification_sums(0, 0, std::ssize(found)) : engine::Sums();
  }
  TensorMap state() const override { return {}; }
  void load_state(const TensorMap&) override {}
  TensorMap optimizer_state() const override { return {}; }
  void load_optimizer_state(const TensorMap&) override {}
  engine::Capabilities capabilities() override {
    engine::Capabilities capabilities;
    capabilities.exchange = this;
    return capabilities;
  }
  const std::vector<std::string>& trained_parameters() const override { return names_; }
  void on_gradient_ready(std::function<void(std::size_t)> callback) override { ready_ = std::move(callback); }
  std::span<float> gradient(std::size_t index) override { return std::span(gradient_).subspan(index, 1); }
  TensorMap gradients() const override { return {}; }

 private:
  const bool late_;
  bool trained_ = false;
  std::vector<std::int32_t> found_;
  std::array<float, 2> gradient_{};
  std::vector<std::string> names_{"fc.weight", "fc.bias"};
  std::function<void(std::size_t)> ready_;
};

class TakingEngine : public engine::Engine {
 public:
  explicit TakingEngine(bool late) : late_(late) {}
  const char* name() const override { return "taking"; }
  std::unique_ptr<engine::Trainer> make_trainer(const network::Network&, const engine::TrainerOptions&) override {
    return std::make_unique<TakingTrainer>(late_);
  }

 private:
  const bool late_;
};

/// Trains a step on all ranks, evaluates before and after it, and tells all counts of both. Another evaluation is left
/// before its end. `late`: ranks whose trainer tells late.
std::string train_and_evaluate(const RankContext& context, const std::vector<int>& late) {
  network::Network network("tiny", {1, 1, 1});
  network.add("flatten", network::Flatten{});
  network.add("fc", network::Linear{1, true});
  ReplicaOptions options;
  options.batch = 16;
  options.loader = {16, 1};
  for (std::uint32_t i = 0; i < kSamples; ++i) options.train_samples.push_back(i);
  options.evaluation_parts = {options.train_samples};
  options.confusion_classes = 3;
  TakingEngine engine(std::ranges::count(late, context.rank) > 0);
  Replica replica(engine, network, std::make_shared<Digits>(), options, context.channels());
  if (context.rank != 0) {
    replica.serve();
    return "";
  }
  DataParallel replicas(replica, Shares::fixed({1, 2}), 16, /*may_leave=*/false);
  EXPECT_FALSE(replicas.evaluate(0, kSamples, [batches = 0]() mutable { return ++batches > 2; }));
  std::string counts;
  for (int evaluation = 0; evaluation < 2; ++evaluation) {
    const auto result = replicas.evaluate(0, kSamples, [] { return false; });
    EXPECT_EQ(result->sums.count("loss"), kSamples);
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t column = 0; column < 3; ++column) {
        counts += std::to_string(result->confusion.count(row, column)) + (column < 2 ? " " : ", ");
      }
    }
    if (evaluation > 0) continue;
    replicas.start_epoch(1, kSamples, 0);
    replicas.step(0.1);
  }
  replicas.finish();
  return counts;
}

// Half of the images are of the first class, 15 of the second and 10 of the third: the table and its transpose differ.
TEST(ConfusionCounts, OfTwoRanksAreThoseOfAllSamples) {
  placement::Plan plan;
  plan.processes.emplace_back();
  for (int rank = 0; rank < 2; ++rank) {
    plan.replicas.push_back({rank, {placement::PlanStage{}}, std::nullopt});
    plan.processes[0].ranks.push_back(rank);
  }
  for (const std::vector<int>& late : {std::vector<int>{}, {0}, {1}, {0, 1}}) {
    const auto counts_of = [&late](const RankContext& context) { return train_and_evaluate(context, late); };
    EXPECT_EQ(run_ranks(plan, counts_of, LaunchOptions{}).front(), "25 0 0, 15 0 0, 10 0 0, 0 25 0, 0 0 15, 0 0 10, ");
  }
}

TEST(DeviceReports, AreTheSameEverywhereButForTheNotes) {
  placement::Plan plan;
  plan.processes.emplace_back();
  for (int rank = 0; rank < 3; ++rank) {
    plan.replicas.push_back({rank, {placement::PlanStage{}}, 1.0 / 3});
    plan.processes[0].ranks.push_back(rank);
  }
  run_ranks(plan,
            [](const RankContext& context) {
              engine::DeviceReport own;
              own.notes = {"of " + std::to_string(context.rank)};
              own.skipped_steps = 10 * context.rank;
              if (context.rank == 1) {
                own.peak_memory_bytes = (std::uint64_t{1} << 37) + 1;
                own.step_phases_s = {{"forward", 0.25}, {"h2d", 0.0}};
              }
              const Channels channels = context.channels();
              const auto all = exchange_reports(*channels.control, own);
              EXPECT_EQ(all.size(), 3U);
              EXPECT_FALSE(all.at(0).peak_memory_bytes);
              EXPECT_EQ(all.at(1).peak_memory_bytes, (std::uint64_t{1} << 37) + 1);
              EXPECT_THAT(all.at(1).step_phases_s, ElementsAre(Pair("forward", 0.25), Pair("h2d", 0.0)));
              EXPECT_TRUE(all.at(2).step_phases_s.empty());
              EXPECT_EQ(all.at(2).skipped_steps, 20);
              for (int r = 0; r < 3; ++r)
                EXPECT_EQ(all.at(static_cast<std::size_t>(r)).notes.size(), r == context.rank ? 1U : 0U);
              return std::string();
            },
            {});
}

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
