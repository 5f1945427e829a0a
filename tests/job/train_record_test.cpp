// What a training's record says of its results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/test_folder.h"
#include "job/train/training.h"
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

// The timeline of a pipeline's last steps, as a browser opens it.

parallel::StageWork work_from(double begin_s) {
  parallel::StageWork work;
  work.last_steps = {{{parallel::PassKind::kForward, 0, begin_s, begin_s + 0.5},
                      {parallel::PassKind::kBackward, 0, begin_s + 0.5, begin_s + 2}}};
  return work;
}

TEST(StageTrace, OfEachHostBeginsAtZero) {
  const test::TestFolder folder;
  // Two hosts of two stages, whose clocks are a day apart.
  const std::vector<parallel::StageWork> work = {work_from(100), work_from(101), work_from(86500), work_from(86501)};
  write_stage_trace(folder / "trace.json", work, /*stages=*/2, /*hosts=*/2);
  std::ifstream file(folder / "trace.json");
  std::map<std::pair<int, int>, std::vector<double>> begins_us;
  const nlohmann::json trace = nlohmann::json::parse(file);
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") begins_us[{event["pid"], event["tid"]}].push_back(event["ts"]);
  }
  const std::vector<double> first = {0, 5e5}, second = {1e6, 1.5e6};
  for (const int replica : {0, 1}) {
    EXPECT_EQ((begins_us[{replica, 0}]), first) << replica;
    EXPECT_EQ((begins_us[{replica, 1}]), second) << replica;
  }
}

}  // namespace

}  // namespace evener::job
