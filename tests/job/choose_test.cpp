// The choice of a network from facts and trials, without training any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "job/choose/automatic.h"
#include "job/choose/choice.h"
#include "job/train/decide.h"
#include "task/detect/blank_images.h"

namespace evener::job {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
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

std::vector<std::string> texts(const std::vector<Candidate>& candidates) {
  std::vector<std::string> texts;
  for (const Candidate& each : candidates) texts.push_back(each.text());
  return texts;
}

CandidateTrial trial(double quality, double epoch_s, double epochs = 5) {
  return {quality, 10, epochs, epoch_s, ""};
}

TEST(Candidates, FromScratchPhotosAreBroughtToSizesThatKeepTheirShape) {
  const auto candidates = candidates_for(photos());
  EXPECT_THAT(texts(candidates), ElementsAre("resnet20 at 64x48", "resnet18 at 128x96", "resnet18 at 224x168"));
  EXPECT_THAT(candidates, Each(Field(&Candidate::refusal, IsEmpty())));
  EXPECT_LT(candidates[0].macs, candidates[1].macs);
  EXPECT_THAT(candidates[1].options, testing::Contains(Pair("--augment", "flip,crop:4")));
}

TEST(Candidates, SmallGreyImagesGetAPerceptronToo) {
  ChoiceFacts facts = photos();
  facts.image = {1, 28, 28};
  facts.train_images = 50'000;
  const auto candidates = candidates_for(facts);
  EXPECT_THAT(texts(candidates), ElementsAre("mlp:784-256-3 at 28x28", "resnet20 at 28x28", "resnet32 at 28x28"));
  EXPECT_EQ(candidates[1].batch, 64);
  EXPECT_THAT(candidates[1].options, testing::Not(testing::Contains(Pair("--augment", testing::_))));
}

TEST(Candidates, WeightsFixTheNetworkAndLeaveTheSize) {
  const auto candidates = candidates_for(with_weights());
  EXPECT_THAT(texts(candidates),
              ElementsAre("mobilenet_v2 at 128x128", "mobilenet_v2 at 160x160", "mobilenet_v2 at 224x224"));
  EXPECT_THAT(candidates, Each(Field(&Candidate::batch, 12)));
  EXPECT_THAT(candidates, Each(Field(&Candidate::options, IsEmpty()))) << "what tunes weights has its own defaults";
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

TEST(ChoiceOfNetwork, ATrialOfLessThanTwoEpochsFromScratchJudgesNobody) {
  const ChoiceFacts facts = photos();
  const auto candidates = candidates_for(facts);
  const std::vector<CandidateTrial> trials = {trial(0.9, 1, 10), trial(0.3, 10, 1), trial(0.3, 10, 3)};
  const NetworkChoice choice = choose_network(facts, candidates, trials, 500);
  EXPECT_EQ(choice.candidate, 1u);
  EXPECT_THAT(choice.reason, HasSubstr("too short to judge it by"));
  const std::vector<CandidateTrial> close = {trial(0.9, 1, 10), trial(0.85, 10, 1)};
  EXPECT_EQ(choose_network(facts, candidates, close, 500).candidate, 1u) << "it has only begun";
}

TEST(ChoiceOfNetwork, WithoutValidationOrTrialsCostsDecide) {
  const ChoiceFacts facts = photos();
  const auto candidates = candidates_for(facts);
  const NetworkChoice choice = choose_network(facts, candidates, {}, 3600);
  EXPECT_EQ(choice.candidate, 2u);
  EXPECT_THAT(choice.reason, HasSubstr("costs alone decide"));
  EXPECT_EQ(choose_network(facts, candidates, {}, 1).candidate, 0u);
}

TEST(ChoiceOfNetwork, FewImagesAreNeverSure) {
  EXPECT_FALSE(is_surely_worse(0, 1, 1));
  EXPECT_FALSE(is_surely_worse(0.87, 0.95, 62));
  EXPECT_TRUE(is_surely_worse(0.87, 0.95, 1000));
  EXPECT_FALSE(is_surely_worse(0.95, 0.95, 100'000));
}

TEST(ChoiceOfNetwork, TheTableTellsWhatWasTriedAndWhyNot) {
  const auto candidates = candidates_for(with_weights());
  std::vector<CandidateTrial> trials = {trial(0.92, 1), {}, trial(0.9, 4)};
  trials[1].failure = "no time was left";
  const auto lines = trials_table(with_weights(), candidates, trials);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_THAT(lines[1], AllOf(HasSubstr("mobilenet_v2 at 128x128"), HasSubstr("92.0 %"), HasSubstr("1.0 s")));
  EXPECT_THAT(lines[2], HasSubstr("not tried: no time was left"));
}

TEST(EpochsInTime, StepsOfAWholeBatchAreCountedUp) {
  task::TrialResult measured;
  measured.sizes = {{4, {0.1}}, {16, {0.5, 0.7, 0.6}}};
  measured.evaluate_images_per_s = 100;
  const EpochCost cost = epoch_cost(measured, {.train_images = 100, .val_images = 50, .test_images = 200, .batch = 16});
  EXPECT_DOUBLE_EQ(cost.train_s, 7 * 0.6);
  EXPECT_DOUBLE_EQ(cost.validate_s, 0.5);
  EXPECT_DOUBLE_EQ(cost.test_s, 2);
}

TEST(EpochsInTime, SmallerStepsTellTheTimeOfAnImage) {
  task::TrialResult measured;
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

TEST(EpochsInTime, ATenthIsKeptBackAndOneIsTheLeast) {
  const EpochCost cost{.train_s = 9, .validate_s = 1, .test_s = 10};
  EXPECT_EQ(epochs_within(100, cost, 50), 8);
  EXPECT_EQ(epochs_within(100, cost, 5), 5);
  EXPECT_EQ(epochs_within(1, cost, 50), 1);
  EXPECT_THAT(epochs_text(2, 5, 5, cost), HasSubstr("unless --epochs says more"));
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
