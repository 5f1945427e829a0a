// Replicas whose devices exchange gradients, losses and statistics themselves, against one trainer that has the whole
// batch. The devices are the CPU driven as a GPU is, each on a thread; their sums are taken by the threads.
#include "engine/gradient_exchange.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "engine/device_helpers.h"
#include "engine/replicas_helpers.h"

namespace evener::engine {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::Pair;

class SumsOfThreads : public DeviceSums {
 public:
  explicit SumsOfThreads(std::function<void(std::span<double>)> sum) : sum_(std::move(sum)) {}

  void join() override { joined_ = true; }
  void add_up(std::span<const DeviceValues> values, void* stream) override {
    EXPECT_TRUE(joined_);
    EXPECT_EQ(stream, nullptr);
    for (const DeviceValues& each : values) {
      const auto count = static_cast<std::size_t>(each.count);
      if (each.type == DeviceValues::Type::kFloat64) {
        sum_({static_cast<double*>(each.data), count});
        continue;
      }
      auto* const data = static_cast<float*>(each.data);
      std::vector<double> wide(data, data + count);
      sum_(wide);
      std::transform(wide.begin(), wide.end(), data, [](double value) { return static_cast<float>(value); });
    }
  }
  void require_whole() override {}

 private:
  std::function<void(std::span<double>)> sum_;
  bool joined_ = false;
};

struct SharedTraining {
  std::vector<StepReport> reports;  // of each replica, over all steps
  std::vector<TensorMap> states, optimizer_states;
  std::vector<std::string> errors, notes;
};

/// Trains replicas on batches of `sizes` images, over and over; of each batch, replica i has parts[i] eighths, and the
/// last one what is left.
class DeviceSumsTest : public EngineTest<kTorch> {
 protected:
  static std::int64_t begin_of(const std::vector<std::int64_t>& parts, std::size_t replica, std::int64_t size) {
    const auto eighths = std::accumulate(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(replica), 0L);
    return replica == parts.size() ? size : std::min(size, eighths);
  }

  SharedTraining train(const network::Network& network, const OwnedBatch& batch, const std::vector<std::int64_t>& parts,
                       const std::vector<std::int64_t>& sizes) const {
    const std::size_t replicas = parts.size();
    SharedTraining result;
    result.reports.resize(replicas);
    result.states.resize(replicas);
    result.optimizer_states.resize(replicas);
    result.notes.resize(replicas);
    ThreadSums sums(replicas);
    result.errors = on_threads(sums, replicas, [&](std::size_t i, const auto& sum) {
      TrainerOptions own = options_;
      own.torch.like_accelerator = true;
      own.sum_over_replicas = [](std::span<double>) { FAIL() << "the host was asked to add up"; };
      own.device_sums = std::make_shared<SumsOfThreads>(sum);
      const auto trainer = make_trainer(network, own);
      StepsOnDevices& steps = *trainer->capabilities().on_devices;
      StepReport& all = result.reports[i];
      const auto add = [&all](const StepReport& report) {
        all.sums += report.sums;
        all.steps += report.steps;
        all.finite = all.finite && report.finite;
        if (report.culprit) all.culprit = report.culprit;
      };
      for (int step = 0; step < kManySteps && all.finite; ++step) {
        const std::int64_t size = sizes[static_cast<std::size_t>(step) % sizes.size()];
        data::Batch share = batch.view(begin_of(parts, i, size), begin_of(parts, i + 1, size));
        share.epoch = static_cast<std::uint64_t>(step + 1);
        add(steps.step_on_devices(share, {size, size}, step % 3 == 2 ? 0.025 : 0.05));
      }
      add(trainer->settle());
      result.states[i] = trainer->state();
      result.optimizer_states[i] = trainer->optimizer_state();
      result.notes[i] = testing::PrintToString(trainer->capabilities().device->report().notes);
    });
    return result;
  }

  /// The same by one trainer.
  SharedTraining train_alone(const network::Network& network, const OwnedBatch& batch,
                             const std::vector<std::int64_t>& sizes) const {
    SharedTraining result;
    TrainerOptions own = options_;
    own.torch.like_accelerator = true;
    const auto trainer = make_trainer(network, own);
    StepReport all;
    for (int step = 0; step <= kManySteps; ++step) {
      StepReport report;
      if (step == kManySteps) {
        report = trainer->settle();
      } else {
        const std::int64_t size = sizes[static_cast<std::size_t>(step) % sizes.size()];
        data::Batch whole = batch.view(0, size);
        whole.epoch = static_cast<std::uint64_t>(step + 1);
        report = trainer->step(whole, 1.0 / static_cast<double>(size), step % 3 == 2 ? 0.025 : 0.05);
      }
      all.sums += report.sums;
      all.steps += report.steps;
    }
    result.reports.push_back(all);
    result.states.push_back(trainer->state());
    result.optimizer_states.push_back(trainer->optimizer_state());
    return result;
  }

  void expect_as_alone(const network::Network& network, const std::vector<std::int64_t>& parts,
                       const std::vector<std::int64_t>& sizes = {8}) {
    const OwnedBatch batch = random_batch(8, kColour, 5);
    const SharedTraining alone = train_alone(network, batch, sizes), shared = train(network, batch, parts, sizes);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EXPECT_EQ(shared.errors[i], "");
      EXPECT_EQ(shared.reports[i].steps, kManySteps);
      EXPECT_EQ(shared.reports[i].sums.count("loss"), alone.reports[0].sums.count("loss"));
      const double loss = alone.reports[0].sums.total("loss");
      EXPECT_NEAR(shared.reports[i].sums.total("loss"), loss, kClose * loss);
      EXPECT_LT(relative_distance(shared.states[i], alone.states[0]), kClose);
      if (alone.optimizer_states[0].empty()) continue;
      EXPECT_LT(relative_distance(shared.optimizer_states[i], alone.optimizer_states[0]), 50 * kClose);
    }
  }

  /// Other sums of float32 in twelve steps.
  static constexpr double kClose = 1e-4;
  TrainerOptions options_;
};

TEST_F(DeviceSumsTest, LearnWhatOneLearns) {
  const network::Network resnet = small_resnet(kColour, 5);
  options_.optimizer.momentum = 0.9;
  for (const std::vector<std::int64_t>& parts : {std::vector<std::int64_t>{5, 3}, {3, 2, 2, 1}}) {
    SCOPED_TRACE(testing::PrintToString(parts));
    expect_as_alone(resnet, parts);
  }
}

// Of three images replicas 1 and 2 have none.
TEST_F(DeviceSumsTest, ReplicasMayHaveNothingOfABatch) {
  options_.optimizer.momentum = 0.9;
  expect_as_alone(small_resnet(kColour, 5), {3, 3, 2}, {8, 8, 3});
  expect_as_alone(small_mlp(kColour, 5), {3, 3, 2}, {8, 3});
}

TEST_F(DeviceSumsTest, OptimisersClipAndAverageWhatAllComputed) {
  options_.optimizer.kind = OptimizerKind::kAdamW;
  options_.optimizer.clip_norm = 0.5;
  options_.optimizer.average_decay = 0.9;
  expect_as_alone(small_mlp(kColour, 5), {5, 3}, {8, 7});
}

TEST_F(DeviceSumsTest, StepsAreReplayedWithTheirSums) {
  const SharedTraining shared = train(small_resnet(kColour, 5), random_batch(8, kColour, 5), {4, 4}, {8});
  EXPECT_THAT(shared.notes, testing::Each(testing::HasSubstr("replayed as a graph")));
}

TEST_F(DeviceSumsTest, AreScaledInFloat16) {
  options_.precision = Precision::kFp16;
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const network::Network network = small_mlp(kColour, 5);
  const SharedTraining alone = train_alone(network, batch, {8}), shared = train(network, batch, {5, 3}, {8});
  // Of float16's eleven digits some are lost in each step.
  EXPECT_LT(relative_distance(shared.states[0], alone.states[0]), 1e-3);
  EXPECT_EQ(shared.states[0].begin()->second.bytes, shared.states[1].begin()->second.bytes);
}

// Weights that only one replica's samples make overflow.
TEST_F(DeviceSumsTest, AllStopWhereTheLossOfOneIsNotFinite) {
  network::Network network = small_mlp(kColour, 5);
  options_.mean.assign(3, 0.0F);
  options_.standard_deviation.assign(3, 1e-39F);  // a white pixel is beyond float32, a black one is 0
  OwnedBatch batch = random_batch(8, kColour, 5);
  std::ranges::fill(batch.images, 0);
  std::fill(batch.images.end() - 10, batch.images.end(), 255);
  const SharedTraining shared = train(network, batch, {5, 3}, {8});
  EXPECT_THAT(shared.errors, testing::Each(""));
  for (const StepReport& report : shared.reports) {
    EXPECT_FALSE(report.finite);
    EXPECT_EQ(report.steps, 0);
  }
  const auto untouched = make_trainer(network, options_);
  EXPECT_EQ(relative_distance(shared.states[0], untouched->state()), 0);
}

constexpr std::size_t kMiB = (std::size_t{1} << 20) / sizeof(float);  // values

std::vector<std::pair<std::size_t, std::size_t>> ranges(const std::vector<std::size_t>& sizes) {
  std::vector<std::pair<std::size_t, std::size_t>> result;
  for (const Bucket& bucket : make_buckets(sizes)) result.emplace_back(bucket.first, bucket.last);
  return result;
}

TEST(Buckets, BeginWithTheLastParameters) {
  EXPECT_THAT(ranges({10, 20, 30}), ElementsAre(Pair(0, 2)));
  EXPECT_THAT(ranges({5 * kMiB, kMiB / 2, kMiB / 2}), ElementsAre(Pair(1, 2), Pair(0, 0)));
}

TEST(Buckets, AreSmallFirstAndLargeThen) {
  const std::vector<std::size_t> sizes(60, kMiB);
  EXPECT_THAT(ranges(sizes), ElementsAre(Pair(59, 59), Pair(34, 58), Pair(9, 33), Pair(0, 8)));
}

TEST(Buckets, AParameterLargerThanABucketHasOneOfItsOwn) {
  EXPECT_THAT(ranges({40 * kMiB, 100, 40 * kMiB}), ElementsAre(Pair(2, 2), Pair(1, 1), Pair(0, 0)));
}

TEST(Buckets, AreTakenInTheirOrderWhenTheyAreComplete) {
  BucketProgress progress({kMiB, kMiB, kMiB});  // one, and the other two
  for (int pass = 0; pass < 2; ++pass) {
    progress.begin();
    progress.ready(0);
    progress.ready(1);
    EXPECT_EQ(progress.take_complete(), nullptr);  // the first one is missing
    progress.ready(2);
    EXPECT_EQ(progress.take_complete(), &progress.buckets()[0]);
    EXPECT_EQ(progress.take_complete(), &progress.buckets()[1]);
    EXPECT_EQ(progress.take_complete(), nullptr);
    EXPECT_EQ(progress.take_next(), nullptr);
  }
  progress.begin();
  EXPECT_EQ(progress.take_next(), &progress.buckets()[0]);
}

}  // namespace

}  // namespace evener::engine
