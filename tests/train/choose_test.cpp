// The choice of a network from facts and trials, without training any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "train/automatic.h"
#include "train/steps/blank_images.h"
#include "train/training.h"

namespace evener::training {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

ChoiceFacts photos() {
  ChoiceFacts facts;
  facts.images = 400;
  facts.train_images = 280;
  facts.val_images = 60;
  facts.classes = 3;
  facts.image = {3, 480, 640};
  facts.seconds = 600;
  facts.free_bytes = 16'000'000'000;
  facts.cores = 2;
  return facts;
}

ChoiceFacts with_weights() {
  ChoiceFacts facts = photos();
  facts.network = "mobilenet_v2";
  facts.trained_size = {224, 224};
  facts.batch = 12;
  return facts;
}

std::vector<std::string> texts(const std::vector<NetworkCandidate>& candidates) {
  std::vector<std::string> texts;
  for (const NetworkCandidate& each : candidates) texts.push_back(each.text());
  return texts;
}

CandidateTrial trial(double quality, double epoch_s, double epochs = 5) {
  return {quality, 10, epochs, epoch_s, ""};
}

TEST(Candidates, FromScratchPhotosAreBroughtToSizesThatKeepTheirShape) {
  const auto candidates = candidates_for(photos());
  EXPECT_THAT(texts(candidates), ElementsAre("resnet20 at 64x48", "resnet18 at 128x96", "resnet18 at 224x168"));
  EXPECT_THAT(candidates, Each(Field(&NetworkCandidate::refusal, IsEmpty())));
  EXPECT_LT(candidates[0].macs, candidates[1].macs);
  EXPECT_THAT(candidates[1].options, Contains(Pair("--augment", "flip,crop:4")));
}

TEST(Candidates, SmallGreyImagesGetAPerceptronToo) {
  ChoiceFacts facts = photos();
  facts.image = {1, 28, 28};
  facts.train_images = 50'000;
  const auto candidates = candidates_for(facts);
  EXPECT_THAT(texts(candidates), ElementsAre("mlp:784-256-3 at 28x28", "resnet20 at 28x28", "resnet32 at 28x28"));
  EXPECT_EQ(candidates[1].batch, 64);
  EXPECT_THAT(candidates[1].options, Not(Contains(Pair("--augment", testing::_))));
}

TEST(Candidates, WeightsFixTheNetworkAndLeaveTheSize) {
  const auto candidates = candidates_for(with_weights());
  EXPECT_THAT(texts(candidates),
              ElementsAre("mobilenet_v2 at 128x128", "mobilenet_v2 at 160x160", "mobilenet_v2 at 224x224"));
  EXPECT_THAT(candidates, Each(Field(&NetworkCandidate::batch, 12)));
  EXPECT_THAT(candidates, Each(Field(&NetworkCandidate::options, IsEmpty())))
      << "what tunes weights has its own defaults";
}

TEST(Candidates, ASizeThatWasGivenIsTheOnlyOne) {
  ChoiceFacts facts = with_weights();
  facts.size = ImageSize{96, 96};
  EXPECT_THAT(texts(candidates_for(facts)), ElementsAre("mobilenet_v2 at 96x96"));
}

TEST(Candidates, DetectorsNeedBoxesOfSomePixels) {
  ChoiceFacts facts = photos();
  facts.has_boxes = true;
  facts.box_side = 0.03;
  const auto candidates = candidates_for(facts);
  EXPECT_THAT(texts(candidates), ElementsAre("ssdlite_mobilenet_v2 at 224x168", "ssdlite_mobilenet_v2 at 320x240",
                                             "ssdlite_mobilenet_v2 at 448x336"));
  EXPECT_THAT(candidates[0].refusal, HasSubstr("7 pixels small"));
  EXPECT_THAT(candidates[1].refusal, IsEmpty());
}

TEST(Candidates, LittleMemoryMakesSmallerBatchesAndThenRefuses) {
  ChoiceFacts facts = photos();
  facts.train_images = 5000;
  facts.free_bytes = 1'800'000'000;
  const auto candidates = candidates_for(facts);
  EXPECT_EQ(candidates[0].batch, 64);
  EXPECT_LT(candidates[2].batch, 64);
  facts.free_bytes = 300'000'000;
  EXPECT_NO_THROW(candidates_for(facts)) << "a smallest batch of the smallest network";
  facts.free_bytes = 100'000'000;
  EXPECT_THROW(candidates_for(facts), UsageError);
}

TEST(ChoiceOfNetwork, TheBestAlsoWhereChanceCantTellThemApart) {
  const auto candidates = candidates_for(with_weights());
  const std::vector<CandidateTrial> trials = {trial(0.92, 1), trial(0.60, 2), trial(0.90, 4)};
  const NetworkChoice choice = choose_network(with_weights(), candidates, trials, 500);
  EXPECT_EQ(choice.candidate, 0u);
  EXPECT_THAT(choice.reason, AllOf(HasSubstr("(92.0 %) is the best"), HasSubstr("epochs enough for it (500 of about"),
                                   HasSubstr("others were surely worse")));
  const std::vector<CandidateTrial> unsure = {trial(0.8, 1), trial(0.85, 2), trial(0.75, 4)};
  EXPECT_EQ(choose_network(with_weights(), candidates, unsure, 500).candidate, 1u);
  const std::vector<CandidateTrial> equal = {trial(0.9, 1), trial(0.9, 2), trial(0.9, 4)};
  EXPECT_EQ(choose_network(with_weights(), candidates, equal, 500).candidate, 2u) << "the largest of the best";
}

ChoiceFacts boxes() {
  ChoiceFacts facts = photos();
  facts.has_boxes = true;
  return facts;
}

TEST(ChoiceOfNetwork, ADetectorThatFindsTheSameBoxInBlankImagesIsNoneToPrefer) {
  const auto candidates = candidates_for(boxes());
  std::vector<CandidateTrial> trials = {trial(0.93, 1), trial(0.6, 2), trial(0.95, 4, 1)};
  trials[0].is_blind = trials[2].is_blind = true;
  const NetworkChoice choice = choose_network(boxes(), candidates, trials, 5000);
  EXPECT_EQ(choice.candidate, 1u);
  EXPECT_THAT(choice.reason, HasSubstr("(0.600) is the best"));
  EXPECT_THAT(trials_table(boxes(), candidates, trials)[1], HasSubstr("0.930, the same box in blank images"));
  trials[1].is_blind = true;
  const NetworkChoice blind = choose_network(boxes(), candidates, trials, 5000);
  EXPECT_EQ(blind.candidate, 2u);
  EXPECT_THAT(blind.reason, HasSubstr("no trial came far enough to go by its validation"));
  const std::vector<CandidateTrial> nothing = {trial(0.011, 1), trial(0.003, 2), trial(0.002, 4)};
  EXPECT_EQ(choose_network(boxes(), candidates, nothing, 5000).candidate, 2u) << "next to nothing was found by any";
}

TEST(ChoiceOfNetwork, TheTimeHasToHaveEpochsEnough) {
  const auto candidates = candidates_for(with_weights());
  const std::vector<CandidateTrial> trials = {trial(0.92, 1), trial(0.93, 2), trial(0.94, 40)};
  const NetworkChoice choice = choose_network(with_weights(), candidates, trials, 100);
  EXPECT_EQ(choice.candidate, 1u);
  EXPECT_THAT(choice.reason, HasSubstr("larger ones would need more --minutes"));
  const NetworkChoice hurried = choose_network(with_weights(), candidates, trials, 2);
  EXPECT_EQ(hurried.candidate, 0u);
  EXPECT_THAT(hurried.reason, HasSubstr("the time is short: give --minutes more"));
}

TEST(EpochsInTime, StepsOfAWholeBatchAreCountedUp) {
  TrialResult measured;
  measured.sizes = {{4, {0.1}}, {16, {0.5, 0.7, 0.6}}};
  measured.evaluate_images_per_s = 100;
  const EpochCost cost = epoch_cost(measured, {.train_images = 100, .val_images = 50, .test_images = 200, .batch = 16});
  EXPECT_DOUBLE_EQ(cost.train_s, 7 * 0.6);
  EXPECT_DOUBLE_EQ(cost.validate_s, 0.5);
  EXPECT_DOUBLE_EQ(cost.test_s, 2);
}

TEST(EpochsInTime, SmallerStepsTellTheTimeOfAnImage) {
  TrialResult measured;
  measured.sizes = {{4, {0.4}}};
  const EpochCost cost = epoch_cost(measured, {.train_images = 100, .val_images = 30, .test_images = 0, .batch = 16});
  EXPECT_DOUBLE_EQ(cost.train_s, 10);
  EXPECT_DOUBLE_EQ(cost.validate_s, 1) << "a third of training";
}

TEST(EpochsInTime, WhatATrialSawOfAnEpochLimitsWhatStepsSay) {
  const EpochCost cost{.train_s = 3, .validate_s = 1, .test_s = 2};
  EXPECT_DOUBLE_EQ(no_longer_than(cost, 2).epoch_s(), 2);
  EXPECT_DOUBLE_EQ(no_longer_than(cost, 2).test_s, 1);
  EXPECT_DOUBLE_EQ(no_longer_than(cost, 5).epoch_s(), 4) << "a trial may have been kept from its work, too";
  EXPECT_DOUBLE_EQ(no_longer_than(cost, 0).epoch_s(), 4);
}

TEST(EpochsInTime, TimeThatWasAskedForMayTakeMoreEpochs) {
  EXPECT_EQ(most_epochs({.given = true, .epochs = 7, .has_weights = true, .wants_time = true}), 7);
  EXPECT_EQ(most_epochs({.epochs = 6, .has_weights = true}), 6);
  EXPECT_EQ(most_epochs({.epochs = 6, .has_weights = true, .wants_time = true}), 30);
  EXPECT_EQ(most_epochs({.epochs = 10}), 100);
  EXPECT_EQ(most_epochs({.epochs = 10, .wants_time = true}), 1000);
}

// What the choice of a network goes by, and the time that its trials take.

void give_choice(TrainFlags& flags, const std::vector<std::pair<std::string, std::string>>& words) {
  const OptionSet options = flags.options();
  for (const auto& [name, word] : words) options.give(name, {word});
}

TEST(ChoiceFactsOf, ImagesOfClassesAreCountedByPart) {
  TrainFlags flags;
  give_choice(flags, {{"MODEL", "auto"}, {"--data", "synth:digits:300"}, {"--split", "60/15/25"}, {"--minutes", "5"}});
  const ChoiceFacts facts = facts_of(flags);
  EXPECT_EQ(facts.images, 300U);
  EXPECT_EQ(facts.train_images, 180U);
  EXPECT_EQ(facts.val_images, 50U);
  EXPECT_EQ(facts.classes, 10);
  EXPECT_EQ(facts.image, (data::ImageShape{1, 28, 28}));
  EXPECT_FALSE(facts.has_boxes);
  EXPECT_FALSE(facts.box_side);
  EXPECT_EQ(facts.network, "");
  EXPECT_EQ(facts.batch, 0) << "to be chosen";
  EXPECT_FALSE(facts.size);
  EXPECT_LE(facts.seconds, 300);
  EXPECT_GE(facts.seconds, 300 - (now_s() - flags.begin_s));
  EXPECT_GT(facts.free_bytes, 1'000'000);
}

TEST(ChoiceFactsOf, BoxesAreMeasuredAndWhatIsGivenIsTaken) {
  TrainFlags flags;
  give_choice(
      flags,
      {{"MODEL", "ssdlite_mobilenet_v2"}, {"--data", "synth:shapes:40"}, {"--size", "96x64"}, {"--batch", "12"}});
  const ChoiceFacts facts = facts_of(flags);
  EXPECT_TRUE(facts.has_boxes);
  EXPECT_EQ(facts.classes, 3);
  ASSERT_TRUE(facts.box_side);
  EXPECT_GT(*facts.box_side, 0.02);
  EXPECT_LT(*facts.box_side, 0.9);
  EXPECT_EQ(facts.network, "ssdlite_mobilenet_v2");
  EXPECT_EQ(facts.batch, 12);
  ASSERT_TRUE(facts.size);
  EXPECT_EQ(facts.size->width, 96);
  EXPECT_EQ(facts.size->height, 64);
  EXPECT_EQ(facts.trained_size.width, 96);
}

TEST(ChoiceFactsOf, AClassifierThatIsNamedHasItsUsualBatchAndADetectorNone) {
  TrainFlags classifier, detector;
  give_choice(classifier, {{"MODEL", "mobilenet_v2"}, {"--data", "synth:masks:90"}});
  give_choice(detector, {{"MODEL", "ssdlite_mobilenet_v2"}, {"--data", "synth:shapes:40"}});
  EXPECT_EQ(facts_of(classifier).batch, 64);
  EXPECT_EQ(facts_of(detector).batch, 0);
}

TEST(SecondsForTrials, AreAFifthOfTheTimeAndThreeMinutesAtMost) {
  EXPECT_DOUBLE_EQ(seconds_for_trials(60), 12);
  EXPECT_DOUBLE_EQ(seconds_for_trials(600), 120);
  EXPECT_DOUBLE_EQ(seconds_for_trials(900), 180);
  EXPECT_DOUBLE_EQ(seconds_for_trials(36'000), 180);
}

// What is taken from the short training that tries a network out, and how that training is set up.

record::EpochRecord epoch(double seconds, double validate_s, double share, std::optional<double> accuracy) {
  record::EpochRecord result;
  result.seconds = seconds;
  result.validate_seconds = validate_s;
  result.share = share;
  result.val_accuracy = accuracy;
  return result;
}

TrainResult training(std::vector<record::EpochRecord> epochs) {
  TrainResult result;
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
  blind.figures = {{"val_map_50", 0.6}, {kFoundInBlank, 1.0}};
  seeing.figures = {{"val_map_50", 0.3}, {kFoundInBlank, 0.0}};
  const CandidateTrial at_first = trial_of(training({blind, seeing}));
  EXPECT_EQ(at_first.quality, 0.6);
  EXPECT_TRUE(at_first.is_blind);
  blind.figures["val_map_50"] = 0.2;
  const CandidateTrial at_last = trial_of(training({blind, seeing}));
  EXPECT_EQ(at_last.quality, 0.3);
  EXPECT_FALSE(at_last.is_blind);
}

TEST(Trial, WhatDivergedOrWasInterruptedTellsNothing) {
  TrainResult result = training({epoch(1, 1, 1, 0.9)});
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
  const TrainOptions trial = options_of_trial(flags, "somewhere");
  EXPECT_GT(trial.epochs, 10'000);
  EXPECT_EQ(trial.patience, 0);
  EXPECT_EQ(trial.schedule.kind, Schedule::Kind::kConstant);
  EXPECT_EQ(trial.schedule.warmup_epochs, 0);
  EXPECT_EQ(trial.learning_rate, 0.25);
  EXPECT_EQ(trial.trainer.seed, 9U);
  EXPECT_EQ(trial.out, "somewhere");
}

// Where candidates, choices and epochs change: figures on both sides of every bound, and costs that are told apart.

ChoiceFacts large_photos() {
  ChoiceFacts facts;
  facts.images = 3000;
  facts.train_images = 2000;
  facts.val_images = 500;
  facts.classes = 3;
  facts.image = {3, 480, 640};
  facts.seconds = 600;
  facts.free_bytes = 64'000'000'000;
  facts.cores = 4;
  return facts;
}

TEST(CandidateBounds, SizesKeepTheImagesShapeInSteps) {
  const auto scaled = [](std::int64_t width, std::int64_t height, std::int64_t side, std::int64_t step) {
    const ImageSize size = scaled_size({3, height, width}, side, step);
    return std::pair(size.width, size.height);
  };
  EXPECT_EQ(scaled(640, 480, 128, 4), std::pair(std::int64_t{128}, std::int64_t{96}));
  EXPECT_EQ(scaled(480, 640, 128, 4), std::pair(std::int64_t{96}, std::int64_t{128}));
  EXPECT_EQ(scaled(100, 50, 128, 4), std::pair(std::int64_t{100}, std::int64_t{52})) << "no larger, but for the step";
  EXPECT_EQ(scaled(1000, 10, 64, 8), std::pair(std::int64_t{64}, std::int64_t{8})) << "a step at least";
  EXPECT_EQ(scaled(300, 200, 100, 8), std::pair(std::int64_t{104}, std::int64_t{64})) << "to the nearest";
}

TEST(CandidateBounds, SmallImagesAreThoseUpTo48Pixels) {
  ChoiceFacts facts = large_photos();
  facts.image = {3, 40, 48};
  EXPECT_THAT(texts(candidates_for(facts)), Contains("resnet32 at 48x40"));
  EXPECT_THAT(texts(candidates_for(facts)), Contains("mlp:5760-256-3 at 48x40"));
  facts.image = {3, 40, 52};
  EXPECT_THAT(texts(candidates_for(facts)), ElementsAre("resnet20 at 52x40", "resnet18 at 52x40"));
  facts.image = {3, 40, 48};
  facts.size = ImageSize{64, 32};
  EXPECT_THAT(texts(candidates_for(facts)), testing::UnorderedElementsAre("resnet20 at 64x32", "resnet18 at 64x32"))
      << "whoever asks for a size gets networks for photos, each once";
}

TEST(CandidateBounds, WeightsOfSmallImagesKnowOnlyThese) {
  ChoiceFacts facts = large_photos();
  facts.network = "mobilenet_v2";
  facts.trained_size = {96, 127};
  EXPECT_THAT(texts(candidates_for(facts)), ElementsAre("mobilenet_v2 at 96x127"));
  facts.trained_size = {128, 96};
  EXPECT_THAT(texts(candidates_for(facts)),
              ElementsAre("mobilenet_v2 at 64x32", "mobilenet_v2 at 64x64", "mobilenet_v2 at 128x96"));
}

TEST(CandidateBounds, BatchesAreSmallWhereAnEpochHasFewSteps) {
  ChoiceFacts facts = large_photos();
  facts.train_images = 20 * 64;
  EXPECT_EQ(candidates_for(facts)[0].batch, 64);
  facts.train_images = 20 * 64 - 1;
  EXPECT_EQ(candidates_for(facts)[0].batch, 16);
  facts.batch = 10;
  EXPECT_EQ(candidates_for(facts)[0].batch, 10);
  facts.batch = 0;
  facts.train_images = 5000;
  facts.has_boxes = true;
  EXPECT_EQ(candidates_for(facts)[0].batch, 16);
}

TEST(CandidateBounds, OptionsAreThoseOfTheKindOfWork) {
  ChoiceFacts facts = large_photos();
  EXPECT_THAT(candidates_for(facts)[0].options,
              ElementsAre(Pair("--optimizer", "adamw"), Pair("--lr", "0.001"), Pair("--schedule", "cosine"),
                          Pair("--augment", "flip,crop:4")));
  facts.image = {3, 32, 32};
  EXPECT_THAT(candidates_for(facts)[0].options, Not(Contains(Pair("--augment", testing::_)))) << "of a perceptron";
  facts.has_fast_bf16 = true;
  EXPECT_THAT(candidates_for(facts)[0].options, Contains(Pair("--precision", "bf16")));
  facts.image = {3, 480, 640};
  facts.has_boxes = true;
  EXPECT_THAT(candidates_for(facts)[0].options,
              ElementsAre(Pair("--augment", "flip,iou-crop"), Pair("--precision", "bf16")));
  facts.network = "ssdlite320_mobilenet_v3_large";
  EXPECT_THAT(texts(candidates_for(facts)), ElementsAre("ssdlite320_mobilenet_v3_large at 320x320"));
}

TEST(CandidateBounds, BoxesHaveEightPixelsAtLeastOfTheLongerSide) {
  ChoiceFacts facts = large_photos();
  facts.has_boxes = true;
  facts.box_side = 8.0 / 320;
  auto candidates = candidates_for(facts);
  EXPECT_THAT(candidates[0].refusal, HasSubstr("6 pixels small"));
  EXPECT_EQ(candidates[1].refusal, "");
  facts.box_side = 8.0 / 320 - 1e-6;
  candidates = candidates_for(facts);
  EXPECT_THAT(candidates[1].refusal, HasSubstr("8 pixels small"));
  facts.box_side = 0.001;
  EXPECT_EQ(candidates_for(facts)[2].refusal, "") << "the largest is better than none";
  facts.image = {3, 640, 480};  // standing
  facts.box_side = 8.0 / 320;
  EXPECT_EQ(candidates_for(facts)[1].refusal, "");
}

TEST(CandidateBounds, ABatchThatWasAskedForIsNotMadeSmaller) {
  ChoiceFacts facts = large_photos();
  facts.train_images = 5000;
  facts.free_bytes = 8'000'000'000;
  while (candidates_for(facts)[2].batch == 64) facts.free_bytes -= 200'000'000;
  const auto smaller = candidates_for(facts);
  EXPECT_EQ(smaller[2].batch, 32);
  EXPECT_EQ(smaller[2].refusal, "");
  facts.batch = 64;
  const auto asked = candidates_for(facts);
  EXPECT_EQ(asked[2].batch, 64);
  EXPECT_THAT(asked[2].refusal, HasSubstr("takes about "));
  EXPECT_EQ(asked[0].refusal, "");
}

/// Candidates with these multiply-adds of one image.
std::vector<NetworkCandidate> costing(const std::vector<double>& macs) {
  std::vector<NetworkCandidate> candidates;
  for (const double each : macs) {
    NetworkCandidate candidate;
    candidate.model = "n" + std::to_string(candidates.size());
    candidate.size = {32, 24};
    candidate.batch = 20;
    candidate.macs = each;
    candidates.push_back(candidate);
  }
  return candidates;
}

TEST(ChoiceBounds, AnEpochTakesWhatItTookOrWhatItsCostsSay) {
  const ChoiceFacts facts = large_photos();
  const auto candidates = costing({1e8, 2e8, 6e8});
  const std::vector<CandidateTrial> trials = {trial(0.5, 3), trial(0.5, 8), {}};
  EXPECT_DOUBLE_EQ(epoch_seconds(facts, candidates, trials, 0), 3);
  EXPECT_DOUBLE_EQ(epoch_seconds(facts, candidates, trials, 2), 24) << "by the dearest that was tried";
  // Three times the forward pass of 2000 images and one of 500, on four cores that do 5e9 a second.
  EXPECT_DOUBLE_EQ(epoch_seconds(facts, candidates, {}, 1), 2e8 * (3 * 2000 + 500) / (5e9 * 4));
}

TEST(ChoiceBounds, SurelyWorseIsBeyondTheIntervalOfTheDifference) {
  // Of 98 images with two added: 40 and 50 of 100 differ by 0.1, and 1.96 standard errors are 0.1372.
  EXPECT_FALSE(is_surely_worse(39.0 / 98, 49.0 / 98, 98));
  EXPECT_TRUE(is_surely_worse(35.0 / 98, 49.0 / 98, 98)) << "0.14 against 0.1358";
  EXPECT_FALSE(is_surely_worse(36.0 / 98, 49.0 / 98, 98));
  EXPECT_FALSE(is_surely_worse(0.9, 0.1, 1000)) << "it is better";
  EXPECT_FALSE(is_surely_worse(0, 1, 1)) << "of one image nothing is sure";
}

TEST(ChoiceBounds, FromScratchItTakesTwoThousandStepsAndOneToTenEpochs) {
  const auto chosen = [](std::size_t train_images, double left_s) {
    ChoiceFacts facts = large_photos();
    facts.train_images = train_images;
    const auto candidates = costing({1e8, 2e8});
    const std::vector<CandidateTrial> trials = {trial(0.89, 0.001), trial(0.9, 1)};
    return choose_network(facts, candidates, trials, left_s).candidate;
  };
  EXPECT_EQ(chosen(8000, 5), 1u) << "400 steps: five epochs";
  EXPECT_EQ(chosen(8000, 4.99), 0u);
  EXPECT_EQ(chosen(8001, 4.99), 1u) << "401 steps, the last one smaller";
  EXPECT_EQ(chosen(100, 10), 1u) << "5 steps: ten epochs";
  EXPECT_EQ(chosen(100, 9.99), 0u);
  EXPECT_EQ(chosen(1'000'000, 1), 1u) << "one at least";
  EXPECT_EQ(chosen(1'000'000, 0.99), 0u);
}

TEST(ChoiceBounds, WithWeightsItTakesThreeEpochsButForDetectors) {
  ChoiceFacts facts = large_photos();
  facts.network = "mobilenet_v2";
  const auto candidates = costing({1e8, 2e8});
  const std::vector<CandidateTrial> trials = {trial(0.89, 0.001), trial(0.9, 1)};
  EXPECT_EQ(choose_network(facts, candidates, trials, 3).candidate, 1u);
  EXPECT_EQ(choose_network(facts, candidates, trials, 2.99).candidate, 0u);
  facts.has_boxes = true;
  EXPECT_EQ(choose_network(facts, candidates, trials, 3).candidate, 0u);
  EXPECT_EQ(choose_network(facts, candidates, trials, 10).candidate, 1u);
}

TEST(ChoiceBounds, ATrialTellsFromTwoEpochsOn) {
  const ChoiceFacts facts = large_photos();
  const auto candidates = costing({1e8, 2e8});
  EXPECT_EQ(choose_network(facts, candidates, std::vector{trial(0.9, 1, 9), trial(0.3, 1, 1.99)}, 500).candidate, 1u);
  EXPECT_EQ(choose_network(facts, candidates, std::vector{trial(0.9, 1, 9), trial(0.3, 1, 2)}, 500).candidate, 0u);
}

TEST(ChoiceBounds, AShortTrialIsBlamedOnlyWhereItIsSurelyWorse) {
  const ChoiceFacts facts = large_photos();
  const auto candidates = costing({1e8, 2e8});
  const auto reason = [&](double quality) {
    return choose_network(facts, candidates, std::vector{trial(0.9, 1, 9), trial(quality, 1, 1.5)}, 500).reason;
  };
  EXPECT_THAT(reason(0.89), HasSubstr("(89.0 %) is not surely worse"));
  EXPECT_THAT(reason(0.3), HasSubstr("too short to judge it by (30.0 % after 1.5 epochs)"));
}

TEST(ChoiceBounds, ADetectorThatFindsLessThanATenthSaysNothing) {
  ChoiceFacts facts = large_photos();
  facts.has_boxes = true;
  const auto candidates = costing({1e8, 2e8});
  EXPECT_EQ(choose_network(facts, candidates, std::vector{trial(0.1, 1), trial(0.099, 1)}, 500).candidate, 0u);
  EXPECT_EQ(choose_network(facts, candidates, std::vector{trial(0.09, 1), trial(0.08, 1)}, 500).candidate, 1u);
  EXPECT_THAT(choose_network(facts, candidates, std::vector{trial(0.1, 1), trial(0.099, 1)}, 500).reason,
              HasSubstr("(0.100) is the best"));
}

TEST(ChoiceBounds, WhatIsRefusedOrFailedIsNotChosen) {
  const ChoiceFacts facts = large_photos();
  auto candidates = costing({1e8, 2e8, 3e8});
  candidates[2].refusal = "takes too much";
  EXPECT_EQ(choose_network(facts, candidates, {}, 1e6).candidate, 1u);
  std::vector<CandidateTrial> trials = {trial(0.5, 1), {}, {}};
  trials[1].failure = "no time was left";
  EXPECT_EQ(choose_network(facts, candidates, trials, 1e6).candidate, 0u);
  const auto lines = trials_table(facts, candidates, trials);
  EXPECT_THAT(lines[0], HasSubstr("validation"));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("n0 at 32x24"), HasSubstr("50.0 %"), HasSubstr("10.0 s"), HasSubstr("1.0 s")));
  EXPECT_THAT(lines[2], HasSubstr("not tried: no time was left"));
  EXPECT_THAT(lines[3], HasSubstr("not tried: takes too much"));
  trials[0].quality.reset();
  EXPECT_THAT(trials_table(facts, candidates, trials)[1], HasSubstr("nothing to validate on"));
}

TEST(ChoiceBounds, TheReasonTellsWhatTheTimeAllows) {
  ChoiceFacts facts = large_photos();
  facts.network = "mobilenet_v2";
  const auto candidates = costing({1e8, 2e8, 3e8});
  const std::vector<CandidateTrial> trials = {trial(0.9, 2), trial(0.2, 3), trial(0.88, 400)};
  const NetworkChoice best = choose_network(facts, candidates, trials, 25);
  EXPECT_EQ(best.candidate, 0u);
  EXPECT_THAT(
      best.reason,
      AllOf(HasSubstr("n0 at 32x24 was chosen"), HasSubstr("the time has epochs enough for it (12 of about 2.0 s)"),
            HasSubstr("; larger ones would need more --minutes"), HasSubstr("; others were surely worse")));
  const NetworkChoice second = choose_network(facts, candidates, std::vector{trial(0.9, 20), trial(0.91, 40)}, 70);
  EXPECT_EQ(second.candidate, 0u);
  EXPECT_THAT(second.reason, HasSubstr("(90.0 %) is not surely worse than the best one's"));
  const NetworkChoice unjudged = choose_network(facts, candidates, {}, 1e6);
  EXPECT_THAT(unjudged.reason, AllOf(HasSubstr("nothing was validated, so that its costs alone decide"),
                                     HasSubstr("it is the largest such that"), Not(HasSubstr("larger ones")),
                                     Not(HasSubstr("surely worse"))));
}

TEST(TakingACandidate, GivesWhatWasNotGiven) {
  NetworkCandidate candidate;
  candidate.model = "resnet18";
  candidate.size = {64, 48};
  candidate.batch = 24;
  candidate.options = {{"--optimizer", "adamw"}, {"--lr", "0.001"}};
  TrainFlags flags;
  flags.optimisation.learning_rate.read({"0.3"});
  take_candidate(candidate, flags);
  EXPECT_EQ(*flags.model.model, "resnet18");
  EXPECT_EQ(*flags.data.size, "64x48");
  EXPECT_EQ(*flags.optimisation.batch, "24");
  EXPECT_EQ(*flags.optimisation.optimizer, "adamw");
  EXPECT_EQ(flags.optimisation.rate(), 0.3);
  candidate.model = "ssdlite_mobilenet_v2";
  TrainFlags detector;
  take_candidate(candidate, detector);
  EXPECT_EQ(*detector.optimisation.clip_norm, 10) << "a detector's own defaults";
}

TrialResult steps_of(std::vector<TrialSteps> sizes) {
  TrialResult trial;
  trial.sizes = std::move(sizes);
  return trial;
}

TEST(EpochBounds, StepsOfTheWidestTrialTellTheTime) {
  const EpochWork work{.train_images = 100, .val_images = 30, .test_images = 60, .batch = 10};
  const EpochCost exact = epoch_cost(steps_of({{5, {9}}, {10, {0.3, 0.2, 0.7}}}), work);
  EXPECT_DOUBLE_EQ(exact.train_s, 10 * 0.3) << "no part of a step is left";
  EXPECT_DOUBLE_EQ(exact.validate_s, 30 * 0.03 / 3);
  EXPECT_DOUBLE_EQ(exact.test_s, 60 * 0.03 / 3);
  EXPECT_DOUBLE_EQ(exact.epoch_s(), 3.3);
  const EpochCost wider = epoch_cost(steps_of({{20, {0.4}}}), work);
  EXPECT_DOUBLE_EQ(wider.train_s, 10 * 0.4);
  EXPECT_DOUBLE_EQ(wider.validate_s, 30 * 0.02 / 3);
  EXPECT_EQ(epoch_cost(steps_of({}), work).epoch_s(), 0);
}

TEST(EpochBounds, TheEpochsFitWithTheirTestIntoNineTenths) {
  const EpochCost cost{.train_s = 3, .validate_s = 1, .test_s = 10};
  EXPECT_EQ(epochs_within(100, cost, 50), 20) << "(90 - 10) / 4";
  EXPECT_EQ(epochs_within(99.9, cost, 50), 19);
  EXPECT_EQ(epochs_within(100, {.train_s = 0, .validate_s = 0, .test_s = 10}, 50), 50) << "nothing is known";
  EXPECT_EQ(epochs_within(1e9, cost, 50), 50);
  EXPECT_EQ(epochs_within(1, cost, 50), 1);
  EXPECT_THAT(epochs_text(2, 5, 5, cost), HasSubstr("unless --epochs says more"));
  EXPECT_THAT(epochs_text(2, 1, 5, cost), AllOf(HasSubstr("1 epoch, of about 4"), Not(HasSubstr("the most"))));
  EXPECT_THAT(epochs_text(2.5, 3, 5, cost), HasSubstr("--minutes 2.5: 3 epochs, each of about 4"));
}

}  // namespace
}  // namespace evener::training
