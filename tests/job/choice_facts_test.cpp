// What the choice of a network goes by, and the time that its trials take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/choose/automatic.h"

namespace evener::job {
namespace {

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

}  // namespace
}  // namespace evener::job
