#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/precision.h"
#include "network/zoo.h"
#include "placement/plan.h"
#include "task/training/limits.h"
#include "task/training/trial.h"

namespace evener::task {
namespace {

using testing::HasSubstr;

struct Search {
  std::int64_t found = 0;
  std::vector<std::int64_t> tried;
};

/// A device that has room for `room` images.
Search search(std::int64_t most, std::int64_t room) {
  Search search;
  search.found = largest_that_fits(most, [&](std::int64_t images) {
    search.tried.push_back(images);
    return images <= room;
  });
  return search;
}

TEST(LargestThatFits, IsFoundToA32ndAndNeverTooLarge) {
  for (const std::int64_t room : {1, 2, 15, 16, 17, 31, 100, 777, 12345, 500000}) {
    const Search result = search(1'000'000, room);
    EXPECT_LE(result.found, room);
    EXPECT_LE(room - result.found, std::max<std::int64_t>(0, room / 32)) << room;
    EXPECT_LE(result.tried.size(), 25U) << room;
  }
}

TEST(LargestThatFits, TriesNoMoreThanThereIs) {
  const Search all = search(50, 1000);
  EXPECT_EQ(all.found, 50);
  EXPECT_EQ(all.tried, (std::vector<std::int64_t>{16, 32, 50}));
  EXPECT_EQ(search(1, 1000).found, 1);
  EXPECT_EQ(search(5, 3).found, 3);
}

TEST(LargestThatFits, IsNoneWhereNotEvenOneFits) {
  EXPECT_EQ(search(1000, 0).found, 0);
}

/// Has memory for 40 images.
class FullTrainer : public engine::Trainer {
 public:
  void clear_gradients() override {}
  engine::Sums add_gradients(const data::Batch& batch, double) override {
    if (batch.count > 40) throw engine::OutOfMemory("full");
    if (batch.count == 7) throw Error("another fault");
    steps_ += 1;
    return engine::classification_sums(1, 0, batch.count);
  }
  void apply(double learning_rate) override { EXPECT_EQ(learning_rate, 0); }
  engine::Sums evaluate(const data::Batch& batch, std::vector<std::int32_t>*) override {
    EXPECT_GT(steps_, 8) << "as many as an engine needs to settle";
    return engine::classification_sums(0, 0, batch.count);
  }
  TensorMap state() const override { return {}; }
  void load_state(const TensorMap&) override {}
  TensorMap optimizer_state() const override { return {}; }
  void load_optimizer_state(const TensorMap&) override {}
  engine::Capabilities capabilities() override { return {}; }

 private:
  int steps_ = 0;
};

class FullEngine : public engine::Engine {
 public:
  const char* name() const override { return "full"; }
  std::string trainer_refusal(const network::Network&, const engine::TrainerOptions&) const override { return ""; }
  std::unique_ptr<engine::Trainer> make_trainer(const network::Network&, const engine::TrainerOptions&) override {
    return std::make_unique<FullTrainer>();
  }
};

TEST(CanTrain, SaysNoOnlyWhereMemoryIsShort) {
  FullEngine engine;
  const auto network = network::build("mlp:4-3-2", {.input = network::Shape{1, 2, 2}});
  EXPECT_TRUE(can_train(engine, network, {}, {}, 40, 40));
  EXPECT_FALSE(can_train(engine, network, {}, {}, 41, 41));
  EXPECT_THROW(can_train(engine, network, {}, {}, 7, 7), Error);
}

/// Has memory for 40 images, and keeps what batches of a size take once there were eight of them.
class KeepingTrainer : public FullTrainer {
 public:
  engine::Sums add_gradients(const data::Batch& batch, double weight) override {
    if (batch.count != kept_ && batch.count + kept_ > 40) throw engine::OutOfMemory("full");
    if (batch.count == 1) throw Error("there is no variance of one");
    if (++steps_of_[batch.count] == 8) kept_ = batch.count;
    return FullTrainer::add_gradients(batch, weight);
  }

 private:
  std::map<std::int64_t, int> steps_of_;
  std::int64_t kept_ = 0;
};

class KeepingEngine : public FullEngine {
 public:
  std::unique_ptr<engine::Trainer> make_trainer(const network::Network&, const engine::TrainerOptions&) override {
    return std::make_unique<KeepingTrainer>();
  }
};

TEST(CanTrain, TriesTheLastBatchOfAnEpochBesideWhatWholeOnesKeep) {
  KeepingEngine engine;
  const auto network = network::build("mlp:4-3-2", {.input = network::Shape{1, 2, 2}});
  EXPECT_TRUE(can_train(engine, network, {}, {}, 25, 50)) << "there is none";
  EXPECT_TRUE(can_train(engine, network, {}, {}, 25, 60));
  EXPECT_FALSE(can_train(engine, network, {}, {}, 25, 70));
  EXPECT_TRUE(can_train(engine, network, {}, {}, 25, 26)) << "one image is no matter of memory";
}

placement::Plan plan_on(DeviceKind kind) {
  placement::Plan plan;
  plan.text = device_kind_name(kind);
  plan.replicas.resize(1);
  plan.replicas[0].stages.resize(1);
  plan.replicas[0].stages[0].device.kind = kind;
  return plan;
}

TEST(DataOnDevice, NeedsAGpuAndChangesThatItCanMake) {
  const auto refusal = [](DeviceKind kind, const char* augment, const char* engine = "torch") {
    try {
      require_data_on_device(plan_on(kind), data::parse_augment(augment), engine);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal(DeviceKind::kCpu, ""), HasSubstr("placement 'cpu' has no GPU"));
  EXPECT_EQ(refusal(DeviceKind::kCuda, ""), "");
  EXPECT_EQ(refusal(DeviceKind::kCuda, "", "native"), "");
  EXPECT_EQ(refusal(DeviceKind::kCuda, "flip,crop:4,colour:0.2,mixup:0.2"), "");
  EXPECT_THAT(refusal(DeviceKind::kCuda, "flip,resized-crop,mosaic"), HasSubstr("but for resized-crop, mosaic"));
  EXPECT_THAT(refusal(DeviceKind::kCuda, "flip", "native"), HasSubstr("the native engine has them changed on the CPU"));
}

placement::Plan plan_of_cores(int cores, const std::vector<std::vector<placement::PlanStage>>& replicas,
                              int hosts = 1) {
  placement::Plan plan;
  plan.cores = cores;
  plan.processes.emplace_back();
  for (const auto& stages : replicas) {
    plan.replicas.push_back({static_cast<int>(plan.replicas.size()), stages, std::nullopt});
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      plan.processes[0].ranks.push_back(static_cast<int>(plan.processes[0].ranks.size()));
    }
  }
  return placement::on_hosts(plan, hosts);
}

TEST(LoaderThreads, AreHalfOfTheCoresThatNobodyComputesOnBesideAGpu) {
  placement::PlanStage cpu, gpu;
  cpu.threads = 6;
  gpu.device.kind = DeviceKind::kCuda;
  EXPECT_EQ(usual_loader_threads({}, 0), 1);
  EXPECT_EQ(usual_loader_threads(plan_of_cores(16, {{cpu}}), 0), 1);
  EXPECT_EQ(usual_loader_threads(plan_of_cores(16, {{gpu}}), 0), 8);
  EXPECT_EQ(usual_loader_threads(plan_of_cores(96, {{gpu}}), 0), 16);
  EXPECT_EQ(usual_loader_threads(plan_of_cores(1, {{gpu}}), 0), 1);
  const placement::Plan hybrid = plan_of_cores(16, {{gpu}, {cpu}});
  EXPECT_EQ(usual_loader_threads(hybrid, 0), 5);
  EXPECT_EQ(usual_loader_threads(hybrid, 1), 1);
  EXPECT_EQ(usual_loader_threads(plan_of_cores(32, {{gpu}, {gpu}}), 1), 8);
  EXPECT_EQ(usual_loader_threads(plan_of_cores(16, {{gpu}}, 3), 2), 8) << "each host has its own cores";
  EXPECT_EQ(usual_loader_threads(plan_of_cores(16, {{cpu, gpu}}), 1), 5);
  EXPECT_EQ(usual_loader_threads(plan_of_cores(4, {{cpu, gpu}}), 1), 1);
}

}  // namespace
}  // namespace evener::task
