// Whether there is time for more of a training.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "network/zoo.h"
#include "task/training/step_times.h"

namespace evener::task {
namespace {

/// A limit that lies so far ahead, of data of which as many images are tested as validated.
TimeLimit limit_in(double seconds) {
  TrainSetup setup(network::build("mlp:4-2", {}));
  setup.val_images = setup.test_images = 100;
  return {now_s() + seconds, setup, 10};
}

/// After one epoch that took so long.
Progress after_an_epoch(double seconds) {
  Progress progress;
  progress.epoch = 1;
  progress.epochs.resize(1);
  progress.epochs.front().seconds = seconds;
  return progress;
}

TEST(TimeLimit, JudgingHasToFitInAsWell) {
  TimeLimit limit = limit_in(1000);
  EXPECT_FALSE(limit.is_over()) << "nothing is known of how long it takes";
  limit.stepped_in(100, 1);  // for 10 images; the forward pass of 200 takes a third of twenty such steps
  EXPECT_FALSE(limit.is_over());
  limit.stepped_in(300, 1);  // 200 s a step
  EXPECT_TRUE(limit.is_over());
  limit.judged_in(400);  // and as long for the images to test on
  EXPECT_FALSE(limit.is_over());
  limit.judged_in(600);
  EXPECT_TRUE(limit.is_over());
}

TEST(TimeLimit, AnotherEpochHasToFitInWithJudging) {
  TimeLimit limit = limit_in(1000);
  limit.judged_in(300);
  EXPECT_FALSE(limit.leaves_none_for_more(after_an_epoch(300), 5));
  EXPECT_TRUE(limit.leaves_none_for_more(after_an_epoch(500), 5));
  EXPECT_FALSE(limit.leaves_none_for_more(after_an_epoch(500), 1)) << "there are to be no more";
  EXPECT_FALSE(limit.leaves_none_for_more(Progress(), 5)) << "there was none yet";
}

TEST(TimeLimit, FittingTheHeadTellsNothingOfAnEpoch) {
  TimeLimit limit = limit_in(1000);
  Progress progress = after_an_epoch(5000);
  progress.epochs.front().head_only = true;
  EXPECT_FALSE(limit.leaves_none_for_more(progress, 5));
  limit.judged_in(600);
  EXPECT_TRUE(limit.leaves_none_for_more(progress, 5));
}

TEST(TimeLimit, AnEpochThatWasEndedEarlyIsTheLast) {
  TimeLimit limit = limit_in(1000);
  Progress progress = after_an_epoch(1);
  progress.epochs.front().share = 0.5;
  EXPECT_FALSE(limit.leaves_none_for_more(progress, 5)) << "that was in an earlier run";
  limit.stepped_in(0.1, 1);
  EXPECT_TRUE(limit.leaves_none_for_more(progress, 5));
}

TEST(TimeLimit, WithoutOneThereIsTimeForAll) {
  TimeLimit limit(0, TrainSetup(network::build("mlp:4-2", {})), 10);
  limit.judged_in(1e9);
  EXPECT_FALSE(limit.is_over());
  EXPECT_FALSE(limit.leaves_none_for_more(after_an_epoch(1e9), 5));
}

}  // namespace
}  // namespace evener::task
