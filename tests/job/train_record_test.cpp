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

}  // namespace
}  // namespace evener::job
