// What a training's record says of its results.
#include <gmock/gmock.h>

#include "job/train/record.h"
#include "network/zoo.h"

namespace evener::job {
namespace {

record::Accuracy accuracy_of(const task::TrainResult& result, const char* epochs) {
  record::Record record;
  record.config["epochs"] = epochs;
  record.sessions.emplace_back();
  fill_results(record, result);
  return record.training.accuracy;
}

TEST(TrainRecord, SaysWhichWeightsWereTested) {
  task::TrainResult result;
  result.test_accuracy = 0.5;
  EXPECT_EQ(accuracy_of(result, "0").test_weights, "given");
  EXPECT_EQ(accuracy_of(result, "2").test_weights, "last");
  result.epochs.resize(2);
  result.epochs[0].epoch = 1;
  result.epochs[0].val_accuracy = 0.75;
  result.epochs[1].epoch = 2;
  result.epochs[1].val_accuracy = 0.5;
  result.best_epoch = 1;
  const record::Accuracy best = accuracy_of(result, "2");
  EXPECT_EQ(best.test_weights, "best");
  EXPECT_EQ(best.val, 0.75);
  EXPECT_EQ(best.val_epoch, 1);
}

/// Two replicas of two stages, of which some are GPUs: by rank cpu, cuda:1, cuda:0, cpu.
TEST(TrainRecord, FiguresOfGpusAreThoseOfTheirStages) {
  const placement::PlanStage cpu;
  placement::PlanStage first, second;
  first.device = {DeviceKind::kCuda, 0};
  first.device_name = "A";
  second.device = {DeviceKind::kCuda, 1};
  second.device_name = "B";
  task::TrainOptions options;
  options.epochs = 0;
  options.plan.replicas.resize(2);
  options.plan.replicas[0].stages = {cpu, second};
  options.plan.replicas[1].stages = {first, cpu};
  record::Record record;
  record.sessions.emplace_back();
  task::TrainSetup setup(network::build("mlp:4-2", {.input = network::Shape{1, 2, 2}}));
  setup.engine = "native";
  fill_setup(record, TrainFlags(), options, setup);
  task::TrainResult result;
  result.devices.resize(4);
  result.devices[0].peak_memory_bytes = 400;  // of a CPU, which is no GPU's
  result.devices[1].peak_memory_bytes = 100;
  result.devices[2].peak_memory_bytes = 200;
  fill_results(record, result);
  ASSERT_EQ(record.gpus.size(), 2U);
  EXPECT_EQ(record.gpus[0].name, "B");
  EXPECT_EQ(record.gpus[0].index, 1);
  EXPECT_EQ(record.gpus[0].peak_memory_bytes, 100U);
  EXPECT_EQ(record.gpus[1].name, "A");
  EXPECT_EQ(record.gpus[1].index, 0);
  EXPECT_EQ(record.gpus[1].peak_memory_bytes, 200U);
}

}  // namespace
}  // namespace evener::job
