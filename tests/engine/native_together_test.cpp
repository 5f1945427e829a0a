// Replicas of the native engine that compute a step together: whoever brings which samples, the weights are those of
// one replica, to the last bit.
#include <gmock/gmock.h>

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "base/precision.h"
#include "engine/batches_helpers.h"
#include "network/init.h"
#include "network/zoo.h"

namespace evener {
namespace {

using engine::StepReport;
using engine::TrainerOptions;
using namespace test;

constexpr data::ImageShape kShape{1, 12, 10};
constexpr std::int64_t kSamples = 21;
constexpr int kSteps = 3;

network::Network small_network() {
  return network::build("mlp:120-70-33-5", {.input = network::Shape{1, 12, 10}});
}

/// How many samples each replica brings to a step.
using Counts = std::vector<std::int64_t>;

class NativeTogether : public EngineTest<kNative> {
 protected:
  /// Samples begin..end-1, with pixels or, where the engine has the data, without.
  data::Batch share(std::int64_t begin, std::int64_t end) const {
    data::Batch share = mixed_ ? data::part_of(mixed_batch(), begin, end) : batch_.view(begin, end);
    if (options_.resident) share.images = {};
    return share;
  }

  /// The states of all replicas after some steps, each with its members and their counts, and the losses that each saw.
  struct Outcome {
    std::vector<TensorMap> states;
    TensorMap optimizer_state;
    std::vector<std::vector<double>> losses;
  };
  Outcome train_together(const std::vector<Counts>& steps, int threads = 1) const;
  Outcome train_alone() const;
  void expect_as_alone(const std::vector<Counts>& steps, int threads = 1) const {
    const Outcome alone = train_alone(), together = train_together(steps, threads);
    for (const TensorMap& state : together.states) EXPECT_EQ(state, alone.states.front());
    EXPECT_EQ(together.optimizer_state, alone.optimizer_state);
    // Sums over samples that are grouped otherwise.
    for (int i = 0; i < kSteps; ++i) {
      for (const auto& seen : together.losses) EXPECT_NEAR(seen[i], alone.losses[0][i], 1e-5 * alone.losses[0][i]);
    }
  }

  data::Batch mixed_batch() const {
    data::Batch batch = batch_.view();
    batch.targets = data::MixedClassTargets{batch_.labels, second_labels_, label_weights_};
    return batch;
  }

  const network::Network network_ = small_network();
  const OwnedBatch batch_ = random_batch(kSamples, kShape, 5);
  const std::vector<std::int32_t> second_labels_ = std::vector<std::int32_t>(kSamples, 2);
  const std::vector<float> label_weights_ = std::vector<float>(kSamples, 0.7F);
  TrainerOptions options_;
  bool mixed_ = false;
};

NativeTogether::Outcome NativeTogether::train_alone() const {
  const auto trainer = make_trainer(network_, options_, {}, "native");
  Outcome outcome;
  outcome.losses.resize(1);
  for (int i = 0; i < kSteps; ++i) {
    outcome.losses[0].push_back(trainer->step(share(0, kSamples), 1.0 / kSamples, 0.1).sums.total("loss"));
  }
  outcome.states.push_back(trainer->state());
  outcome.optimizer_state = trainer->optimizer_state();
  return outcome;
}

NativeTogether::Outcome NativeTogether::train_together(const std::vector<Counts>& steps, int threads) const {
  const auto engine = engine::open_engine("native");
  const std::size_t replicas = steps.front().size();
  TrainerOptions options = options_;
  options.threads = threads;
  options.shared.replicas = static_cast<int>(replicas);
  options.shared.batch = kSamples;
  const std::size_t bytes = engine->shared_bytes(network_, options, options.shared.replicas);
  EXPECT_GT(bytes, 0u);
  const std::unique_ptr<std::byte[], void (*)(void*)> memory(
      static_cast<std::byte*>(std::aligned_alloc(128, (bytes + 127) / 128 * 128)), std::free);
  std::fill_n(memory.get(), bytes, std::byte{0});
  options.shared.bytes = {memory.get(), bytes};

  Outcome outcome;
  outcome.states.resize(replicas);
  outcome.losses.assign(replicas, std::vector<double>(kSteps, 0));
  std::barrier all(static_cast<std::ptrdiff_t>(replicas));
  std::vector<std::unique_ptr<std::barrier<>>> members;  // of each step
  for (const Counts& counts : steps) {
    members.push_back(
        std::make_unique<std::barrier<>>(std::ranges::count_if(counts, [](std::int64_t count) { return count >= 0; })));
  }
  const auto train = [&](std::size_t replica) {
    int step = 0;
    TrainerOptions own = options;
    own.shared.replica = static_cast<int>(replica);
    own.shared.meet = [&] { members[static_cast<std::size_t>(step)]->arrive_and_wait(); };
    const auto trainer = engine->make_trainer(network_, own);
    ASSERT_TRUE(trainer->capabilities().together != nullptr);
    trainer->load_state(network::initial_state(network_, own.seed));
    for (; step < kSteps; ++step) {
      all.arrive_and_wait();
      const Counts& counts = steps[static_cast<std::size_t>(step) % steps.size()];
      if (counts[replica] < 0) continue;
      std::vector<int> present;
      std::int64_t begin = 0;
      for (std::size_t r = 0; r < counts.size(); ++r) {
        if (counts[r] >= 0) present.push_back(static_cast<int>(r));
        if (r < replica) begin += std::max<std::int64_t>(counts[r], 0);
      }
      const StepReport report = trainer->capabilities().together->step_together(
          share(begin, begin + counts[replica]), {begin, kSamples, present}, 1.0 / kSamples, 0.1);
      EXPECT_TRUE(report.finite);
      EXPECT_EQ(report.sums.count("loss"), kSamples);
      outcome.losses[replica][static_cast<std::size_t>(step)] = report.sums.total("loss");
    }
    all.arrive_and_wait();
    outcome.states[replica] = trainer->state();
    if (replica == 0) outcome.optimizer_state = trainer->optimizer_state();
  };
  {
    std::vector<std::jthread> running;
    for (std::size_t r = 0; r < replicas; ++r) running.emplace_back([&train, r] { train(r); });
  }
  return outcome;
}

TEST_F(NativeTogether, EveryDivisionGivesTheWeightsOfOneReplica) {
  options_.optimizer.momentum = 0.9;
  options_.optimizer.nesterov = true;
  options_.optimizer.weight_decay = 0.01;
  for (const auto precision : {Precision::kFp32, Precision::kBf16}) {
    options_.precision = precision;
    if (!engine::open_engine("native")->trainer_refusal(network_, options_).empty()) continue;
    for (const Counts& counts : {Counts{11, 10}, Counts{16, 5}, Counts{20, 1}, Counts{0, 21}, Counts{7, 7, 7}}) {
      SCOPED_TRACE(testing::PrintToString(counts));
      expect_as_alone({counts, counts, counts});
    }
    expect_as_alone({{10, 11}, {20, 1}, {3, 18}}, 2);
  }
}

TEST_F(NativeTogether, WhoHasLeftIsNotWaitedFor) {
  const Counts all{7, 7, 7}, without{10, -1, 11};
  const Outcome alone = train_alone(), together = train_together({all, without, all});
  for (const TensorMap& state : together.states) EXPECT_EQ(state, alone.states.front());
}

TEST_F(NativeTogether, SamplesComeFromTheDataThatTheEngineHas) {
  const Outcome given = train_alone();
  options_.resident = std::make_shared<BatchData>(batch_);  // made anew each time: none has a place in memory
  EXPECT_EQ(train_alone().states, given.states);
  expect_as_alone({{11, 10}, {0, 21}, {21, 0}});
}

TEST_F(NativeTogether, LabelsMayBeMixed) {
  mixed_ = true;
  expect_as_alone({{11, 10}, {0, 21}, {21, 0}});
}

TEST_F(NativeTogether, OptionsThatNeedAllGradientsAreRefusedSharedMemory) {
  const auto engine = engine::open_engine("native");
  options_.shared.batch = kSamples;
  EXPECT_GT(engine->shared_bytes(network_, options_, 2), 0u);
  const auto bytes_with = [&](const auto& change) {
    TrainerOptions options = options_;
    change(options);
    return engine->shared_bytes(network_, options, 2);
  };
  EXPECT_EQ(bytes_with([](TrainerOptions& o) { o.optimizer.clip_norm = 1; }), 0u);
  EXPECT_EQ(bytes_with([](TrainerOptions& o) { o.optimizer.average_decay = 0.9; }), 0u);
  EXPECT_EQ(bytes_with([](TrainerOptions& o) { o.native.kernels = engine::KernelChoice::kNaive; }), 0u);
  EXPECT_EQ(bytes_with([](TrainerOptions& o) { o.accumulate = 2; }), 0u);
}

// One thread of each replica hears of it; the others have to come out of the step all the same.
TEST_F(NativeTogether, ALostReplicaEndsTheStep) {
  const auto engine = engine::open_engine("native");
  TrainerOptions options;
  options.threads = 2;
  options.shared.batch = kSamples;
  const std::size_t bytes = engine->shared_bytes(network_, options, 1);
  std::vector<std::byte> memory(bytes + 128);
  options.shared.bytes = {memory.data() + 128 - reinterpret_cast<std::uintptr_t>(memory.data()) % 128, bytes};
  for (int meetings = 0; meetings < 4; ++meetings) {
    int left = meetings;
    options.shared.meet = [&left] {
      if (left-- == 0) throw Error("a rank was lost");
    };
    const auto trainer = engine->make_trainer(network_, options);
    const std::vector<int> members{0};
    EXPECT_THROW(trainer->capabilities().together->step_together(share(0, kSamples), {0, kSamples, members}, 1, 0.1),
                 Error)
        << meetings;
  }
}

}  // namespace
}  // namespace evener
