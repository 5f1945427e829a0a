// What is taken from the short training that tries a network out, and how that training is set up.
#include "job/choose/try_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "task/detect/blank_images.h"

namespace evener::job {
namespace {

record::EpochRecord epoch(double seconds, double validate_s, double share, std::optional<double> accuracy) {
  record::EpochRecord result;
  result.seconds = seconds;
  result.validate_seconds = validate_s;
  result.share = share;
  result.val_accuracy = accuracy;
  return result;
}

task::TrainResult training(std::vector<record::EpochRecord> epochs) {
  task::TrainResult result;
  result.epochs = std::move(epochs);
  return result;
}

TEST(Trial, AnEpochThatTheTimeCutShortStandsForItsShare) {
  const CandidateTrial trial = trial_of(training({epoch(6, 1.5, 1, 0.4), epoch(2, 1, 0.25, 0.7)}));
  EXPECT_EQ(trial.epoch_s, 9) << "2 s for a quarter are 8 s for all of it, and 1 s to validate";
  EXPECT_EQ(trial.epochs, 1.25);
  EXPECT_EQ(trial.seconds, 8);
  EXPECT_EQ(trial.quality, 0.7);
}

TEST(Trial, TheFitOfALastLayerIsAnEpochButNoMeasureOfOne) {
  record::EpochRecord head = epoch(30, 2, 1, 0.8);
  head.head_only = true;
  const CandidateTrial trial = trial_of(training({head, epoch(4, 0.5, 0.5, 0.6)}));
  EXPECT_EQ(trial.epoch_s, 8.5);
  EXPECT_EQ(trial.epochs, 1.5);
  EXPECT_EQ(trial.seconds, 34);
  EXPECT_EQ(trial.quality, 0.8) << "the best, not the last";
  EXPECT_EQ(trial_of(training({head})).epoch_s, 0) << "not known";
}

TEST(Trial, ADetectorIsJudgedByItsPrecisionAndByTheEpochThatHadTheBest) {
  record::EpochRecord blind = epoch(3, 1, 1, std::nullopt), seeing = blind;
  blind.figures = {{"val_map_50", 0.6}, {task::kFoundInBlank, 1.0}};
  seeing.figures = {{"val_map_50", 0.3}, {task::kFoundInBlank, 0.0}};
  const CandidateTrial at_first = trial_of(training({blind, seeing}));
  EXPECT_EQ(at_first.quality, 0.6);
  EXPECT_TRUE(at_first.is_blind);
  blind.figures["val_map_50"] = 0.2;
  const CandidateTrial at_last = trial_of(training({blind, seeing}));
  EXPECT_EQ(at_last.quality, 0.3);
  EXPECT_FALSE(at_last.is_blind);
}

TEST(Trial, WhatDivergedOrWasInterruptedTellsNothing) {
  task::TrainResult result = training({epoch(1, 1, 1, 0.9)});
  result.status = record::Status::kDiverged;
  result.status_reason = "the loss became infinite";
  EXPECT_THROW(trial_of(result), Error);
  result.status = record::Status::kInterrupted;
  EXPECT_THROW(trial_of(result), Interrupted);
}

TEST(Trial, IsSetUpToEndByTimeAloneAtARateThatStays) {
  TrainFlags flags;
  const OptionSet options = flags.options();
  options.give("MODEL", {"mlp:784-10"});
  options.give("--data", {"synth:digits:100"});
  options.give("--epochs", {"7"});
  options.give("--patience", {"2"});
  options.give("--schedule", {"cosine"});
  options.give("--warmup", {"3"});
  options.give("--lr", {"0.25"});
  options.give("--seed", {"9"});
  const task::TrainOptions trial = options_of_trial(flags, "somewhere");
  EXPECT_GT(trial.epochs, 10'000);
  EXPECT_EQ(trial.patience, 0);
  EXPECT_EQ(trial.schedule.kind, task::Schedule::Kind::kConstant);
  EXPECT_EQ(trial.schedule.warmup_epochs, 0);
  EXPECT_EQ(trial.learning_rate, 0.25);
  EXPECT_EQ(trial.trainer.seed, 9U);
  EXPECT_EQ(trial.out, "somewhere");
}

}  // namespace
}  // namespace evener::job
