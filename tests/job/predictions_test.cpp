// What a sweep takes from `evener plan`: which words it plans for, and what the plan's speeds mean for a whole run.
#include "job/sweep/predictions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "job/sweep/measured_command.h"

namespace evener::job {
namespace {

using testing::ElementsAre;

const nlohmann::json kPlan = {{"placements",
                               {{{"placement", "cpu/t1"}, {"images_per_s", 40.0}, {"epoch_s", 5.0}},
                                {{"placement", "cpu/t2"}, {"images_per_s", 70.0}, {"epoch_s", 3.0}},
                                {{"placement", "cuda:0"}, {"refused", "there is none"}}}}};

std::optional<record::CellPrediction> predicted(const std::vector<std::string>& words) {
  record::SweepCell cell;
  cell.words = words;
  take_prediction(kPlan, measured_command("train").options, cell);
  return cell.predicted;
}

TEST(Prediction, ARunTakesAsManyEpochsAsItsCellAsksFor) {
  const auto of_seven = predicted({"train", "mlp:4-2", "--on=cpu/t2", "--epochs=7"});
  ASSERT_TRUE(of_seven);
  EXPECT_EQ(of_seven->images_per_s, 70);
  EXPECT_EQ(of_seven->run_s, 21);
  const auto of_two = predicted({"train", "mlp:4-2", "--epochs=2", "--on=cpu/t1"});
  ASSERT_TRUE(of_two);
  EXPECT_EQ(of_two->run_s, 10);
}

TEST(Prediction, WithoutEpochsARunHasThoseOfTheDefault) {
  const auto usual = predicted({"train", "mlp:4-2", "--on=cpu/t2"});
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->run_s, 30) << "10 epochs of 3 s";
}

TEST(Prediction, APlacementThatThePlanRefusedOrDoesntNameHasNone) {
  EXPECT_FALSE(predicted({"train", "mlp:4-2", "--on=cuda:0"}));
  EXPECT_FALSE(predicted({"train", "mlp:4-2", "--on=cpu/t4"}));
}

TEST(Prediction, APlanIsAskedForWithTheWorkAloneAndNotWithItsPlacement) {
  record::SweepCell cell;
  cell.words = {"train",      "mlp:4-2",  "--data=synth:digits", "--on=cpu/t2", "--epochs=7",
                "--batch=32", "--lr=0.3", "--precision=bf16",    "--idle=3",    "--seed=5"};
  EXPECT_THAT(
      plan_words(cell, measured_command("train").options),
      ElementsAre("evener", "plan", "mlp:4-2", "--data=synth:digits", "--batch=32", "--precision=bf16", "--seed=5"));
}

}  // namespace
}  // namespace evener::job
