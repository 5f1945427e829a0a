// Where candidates, choices and epochs change: figures on both sides of every bound, and costs that are told apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "job/choose/automatic.h"
#include "job/choose/choice.h"
#include "job/train/decide.h"

namespace evener::job {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

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

std::vector<std::string> names_of(const std::vector<Candidate>& candidates) {
  std::vector<std::string> names;
  for (const Candidate& each : candidates) names.push_back(each.text());
  return names;
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
  EXPECT_THAT(names_of(candidates_for(facts)), Contains("resnet32 at 48x40"));
  EXPECT_THAT(names_of(candidates_for(facts)), Contains("mlp:5760-256-3 at 48x40"));
  facts.image = {3, 40, 52};
  EXPECT_THAT(names_of(candidates_for(facts)), ElementsAre("resnet20 at 52x40", "resnet18 at 52x40"));
  facts.image = {3, 40, 48};
  facts.size = ImageSize{64, 32};
  EXPECT_THAT(names_of(candidates_for(facts)), testing::UnorderedElementsAre("resnet20 at 64x32", "resnet18 at 64x32"))
      << "whoever asks for a size gets networks for photos, each once";
}

TEST(CandidateBounds, WeightsOfSmallImagesKnowOnlyThese) {
  ChoiceFacts facts = large_photos();
  facts.network = "mobilenet_v2";
  facts.trained_size = {96, 127};
  EXPECT_THAT(names_of(candidates_for(facts)), ElementsAre("mobilenet_v2 at 96x127"));
  facts.trained_size = {128, 96};
  EXPECT_THAT(names_of(candidates_for(facts)),
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
  EXPECT_THAT(names_of(candidates_for(facts)), ElementsAre("ssdlite320_mobilenet_v3_large at 320x320"));
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
std::vector<Candidate> costing(const std::vector<double>& macs) {
  std::vector<Candidate> candidates;
  for (const double each : macs) {
    Candidate candidate;
    candidate.model = "n" + std::to_string(candidates.size());
    candidate.size = {32, 24};
    candidate.batch = 20;
    candidate.macs = each;
    candidates.push_back(candidate);
  }
  return candidates;
}

CandidateTrial tried(double quality, double epoch_s, double epochs = 5) {
  CandidateTrial trial;
  trial.quality = quality;
  trial.seconds = 10;
  trial.epochs = epochs;
  trial.epoch_s = epoch_s;
  return trial;
}

TEST(ChoiceBounds, AnEpochTakesWhatItTookOrWhatItsCostsSay) {
  const ChoiceFacts facts = large_photos();
  const auto candidates = costing({1e8, 2e8, 6e8});
  const std::vector<CandidateTrial> trials = {tried(0.5, 3), tried(0.5, 8), {}};
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
}

TEST(ChoiceBounds, FromScratchItTakesTwoThousandStepsAndOneToTenEpochs) {
  const auto chosen = [](std::size_t train_images, double left_s) {
    ChoiceFacts facts = large_photos();
    facts.train_images = train_images;
    const auto candidates = costing({1e8, 2e8});
    const std::vector<CandidateTrial> trials = {tried(0.89, 0.001), tried(0.9, 1)};
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
  const std::vector<CandidateTrial> trials = {tried(0.89, 0.001), tried(0.9, 1)};
  EXPECT_EQ(choose_network(facts, candidates, trials, 3).candidate, 1u);
  EXPECT_EQ(choose_network(facts, candidates, trials, 2.99).candidate, 0u);
  facts.has_boxes = true;
  EXPECT_EQ(choose_network(facts, candidates, trials, 3).candidate, 0u);
  EXPECT_EQ(choose_network(facts, candidates, trials, 10).candidate, 1u);
}

TEST(ChoiceBounds, ATrialTellsFromTwoEpochsOn) {
  const ChoiceFacts facts = large_photos();
  const auto candidates = costing({1e8, 2e8});
  EXPECT_EQ(choose_network(facts, candidates, std::vector{tried(0.9, 1, 9), tried(0.3, 1, 1.99)}, 500).candidate, 1u);
  EXPECT_EQ(choose_network(facts, candidates, std::vector{tried(0.9, 1, 9), tried(0.3, 1, 2)}, 500).candidate, 0u);
}

TEST(ChoiceBounds, AShortTrialIsBlamedOnlyWhereItIsSurelyWorse) {
  const ChoiceFacts facts = large_photos();
  const auto candidates = costing({1e8, 2e8});
  const auto reason = [&](double quality) {
    return choose_network(facts, candidates, std::vector{tried(0.9, 1, 9), tried(quality, 1, 1.5)}, 500).reason;
  };
  EXPECT_THAT(reason(0.89), HasSubstr("(89.0 %) is not surely worse"));
  EXPECT_THAT(reason(0.3), HasSubstr("too short to judge it by (30.0 % after 1.5 epochs)"));
}

TEST(ChoiceBounds, ADetectorThatFindsLessThanATenthSaysNothing) {
  ChoiceFacts facts = large_photos();
  facts.has_boxes = true;
  const auto candidates = costing({1e8, 2e8});
  EXPECT_EQ(choose_network(facts, candidates, std::vector{tried(0.1, 1), tried(0.099, 1)}, 500).candidate, 0u);
  EXPECT_EQ(choose_network(facts, candidates, std::vector{tried(0.09, 1), tried(0.08, 1)}, 500).candidate, 1u);
  EXPECT_THAT(choose_network(facts, candidates, std::vector{tried(0.1, 1), tried(0.099, 1)}, 500).reason,
              HasSubstr("(0.100) is the best"));
}

TEST(ChoiceBounds, WhatIsRefusedOrFailedIsNotChosen) {
  const ChoiceFacts facts = large_photos();
  auto candidates = costing({1e8, 2e8, 3e8});
  candidates[2].refusal = "takes too much";
  EXPECT_EQ(choose_network(facts, candidates, {}, 1e6).candidate, 1u);
  std::vector<CandidateTrial> trials = {tried(0.5, 1), {}, {}};
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
  const std::vector<CandidateTrial> trials = {tried(0.9, 2), tried(0.2, 3), tried(0.88, 400)};
  const NetworkChoice best = choose_network(facts, candidates, trials, 25);
  EXPECT_EQ(best.candidate, 0u);
  EXPECT_THAT(
      best.reason,
      AllOf(HasSubstr("n0 at 32x24 was chosen"), HasSubstr("the time has epochs enough for it (12 of about 2.0 s)"),
            HasSubstr("; larger ones would need more --minutes"), HasSubstr("; others were surely worse")));
  const NetworkChoice second = choose_network(facts, candidates, std::vector{tried(0.9, 20), tried(0.91, 40)}, 70);
  EXPECT_EQ(second.candidate, 0u);
  EXPECT_THAT(second.reason, HasSubstr("(90.0 %) is not surely worse than the best one's"));
  const NetworkChoice unjudged = choose_network(facts, candidates, {}, 1e6);
  EXPECT_THAT(unjudged.reason, AllOf(HasSubstr("nothing was validated"), HasSubstr("it is the largest such that"),
                                     Not(HasSubstr("larger ones")), Not(HasSubstr("surely worse"))));
}

TEST(TakingACandidate, GivesWhatWasNotGiven) {
  Candidate candidate;
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

task::TrialResult steps_of(std::vector<task::TrialSteps> sizes) {
  task::TrialResult trial;
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
  EXPECT_THAT(epochs_text(2, 1, 5, cost), AllOf(HasSubstr("1 epoch, of about 4"), Not(HasSubstr("the most"))));
  EXPECT_THAT(epochs_text(2.5, 3, 5, cost), HasSubstr("--minutes 2.5: 3 epochs, each of about 4"));
}

}  // namespace
}  // namespace evener::job
