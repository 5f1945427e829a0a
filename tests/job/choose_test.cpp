// The choice of a network from facts and trials, without training any.
#include <gmock/gmock.h>

#include "base/error.h"
#include "job/choose/candidates.h"
#include "job/choose/choice.h"
#include "job/train/decide.h"

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

}  // namespace
}  // namespace evener::job
