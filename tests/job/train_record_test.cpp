// What a training's record says of its results.
#include <gmock/gmock.h>

#include "job/train/record.h"

namespace evener::job {
namespace {

measure::Accuracy accuracy_of(const task::TrainResult& result, const char* epochs) {
  measure::Record record;
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
  const measure::Accuracy best = accuracy_of(result, "2");
  EXPECT_EQ(best.test_weights, "best");
  EXPECT_EQ(best.val, 0.75);
  EXPECT_EQ(best.val_epoch, 1);
}

/// Two replicas of two stages, of which some are GPUs: by rank cpu, cuda:0, cuda:1, cpu.
TEST(TrainRecord, FiguresOfGpusAreThoseOfTheirStages) {
  measure::Record record;
  record.config["epochs"] = "0";
  record.sessions.emplace_back();
  record.placement.replicas.resize(2);
  for (auto& replica : record.placement.replicas) replica.stages.resize(2);
  record.placement.replicas[0].stages[0].device = record.placement.replicas[1].stages[1].device = "cpu";
  record.placement.replicas[0].stages[1].device = "cuda:0";
  record.placement.replicas[1].stages[0].device = "cuda:1";
  record.gpus.resize(2);
  task::TrainResult result;
  result.devices.resize(4);
  result.devices[1].peak_memory_bytes = 100;
  result.devices[2].peak_memory_bytes = 200;
  fill_results(record, result);
  EXPECT_EQ(record.gpus[0].peak_memory_bytes, 100U);
  EXPECT_EQ(record.gpus[1].peak_memory_bytes, 200U);
}

}  // namespace
}  // namespace evener::job
