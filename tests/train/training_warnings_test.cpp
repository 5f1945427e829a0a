// What a training's figures warn of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "base/test_folder.h"
#include "network/zoo.h"
#include "record/statistics.h"
#include "train/steps/blank_images.h"
#include "train/training.h"

namespace evener::training {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A training of four classes, of which nothing but what a test sets is worth a word.
struct Classes {
  Classes() : setup(network::build("mlp:4-4", {})) {
    setup.classes = {"ants", "bees", "cats", "dogs"};
    setup.train_images = 2000;
    setup.val_images = 400;
    setup.train_counts = {500, 500, 500, 500};
    setup.val_counts = {100, 100, 100, 100};
    for (int epoch = 1; epoch <= 3; ++epoch) add(epoch, 0.6 / epoch, 0.9, 0.9);
    result.best_epoch = 2;
  }
  void add(int number, double loss, double train_accuracy, double val_accuracy) {
    record::EpochRecord epoch;
    epoch.epoch = number;
    epoch.train_loss = loss;
    epoch.lr = 0.2 / number;
    epoch.train_accuracy = train_accuracy;
    epoch.val_accuracy = val_accuracy;
    result.epochs.push_back(epoch);
  }
  /// Epochs with these losses and training accuracies.
  void losses(const std::vector<std::pair<double, double>>& all) {
    result.epochs.clear();
    for (const auto& [loss, accuracy] : all) add(static_cast<int>(result.epochs.size()) + 1, loss, accuracy, 0.9);
  }
  std::vector<std::string> warnings() const { return training_warnings(setup, result); }

  TrainSetup setup;
  TrainResult result;
};

TEST(TrainingWarnings, QuantisationThatLostAccuracyTellsBothFigures) {
  const test::TestFolder folder;
  record::Record before;
  before.data.val = 120;
  before.training.accuracy.val = 0.95;
  std::filesystem::create_directories(folder / "float");
  record::write_record(folder / "float", before);
  TrainFlags flags;
  flags.options().give("--weights", {(folder / "float" / "best.safetensors").string()});
  record::Record after = before;
  after.data.val = 60;
  after.training.accuracy.val = 0.4;
  EXPECT_EQ(quantization_loss(flags, after), "") << "nothing was quantised";
  flags.options().give("--quantize", {"int8"});
  EXPECT_THAT(quantization_loss(flags, after), AllOf(HasSubstr("is 40 % of 60 images"), HasSubstr("was 95 % of 120"),
                                                     HasSubstr("float/best.safetensors")));
  after.training.accuracy.val = 0.92;
  EXPECT_EQ(quantization_loss(flags, after), "") << "chance";
  after.training.accuracy.val = 0.4;
  flags.model.weights.read({(folder / "best.safetensors").string()});
  EXPECT_EQ(quantization_loss(flags, after), "") << "no record beside them";
}

// What MobileNetV2 told of 112 images, in batches of 8, at a rate of 3e-7.
TEST(TrainingWarnings, ALossThatWaversWithItsBatchesIsNone) {
  Classes training;
  training.setup.train_images = 112;
  const std::vector<std::pair<double, double>> epochs = {{0.479, 0.848}, {0.354, 0.866}, {0.576, 0.812}};
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    record::EpochRecord& epoch = training.result.epochs[i];
    std::tie(epoch.train_loss, epoch.train_accuracy) = epochs[i];
    epoch.lr = 3e-7;
  }
  EXPECT_THAT(training.warnings(), IsEmpty());
  training.result.epochs[2].train_accuracy = 0.75;
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("rose from 0.354"))) << "2.2 standard errors fewer are right";
  for (auto& epoch : training.result.epochs) epoch.train_accuracy.reset();
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("rose from 0.354"))) << "no accuracy tells that it is chance";
}

TEST(TrainingWarnings, OfNothingLearntIsToldOnlyWhereTheImagesDecide) {
  Classes training;
  const auto is_told = [&](std::vector<std::int64_t> counts, std::int64_t right) {
    training.setup.val_counts = std::move(counts);
    training.setup.val_images = 0;
    for (const std::int64_t count : training.setup.val_counts) training.setup.val_images += std::size_t(count);
    for (auto& epoch : training.result.epochs) {
      epoch.val_accuracy = static_cast<double>(right) / static_cast<double>(training.setup.val_images);
      epoch.train_accuracy = *epoch.val_accuracy;
    }
    return !training.warnings().empty();
  };
  EXPECT_FALSE(is_told({5, 5}, 8)) << "5.5 % of those who guess have 8, and 76 % of those who know three quarters";
  EXPECT_FALSE(is_told({5, 5}, 5)) << "7.8 % of those who know three quarters have 5";
  EXPECT_TRUE(is_told({5, 5}, 4));
  EXPECT_FALSE(is_told({8, 2}, 8)) << "as many as the largest class";
  EXPECT_TRUE(is_told({500, 500}, 520));
  EXPECT_FALSE(is_told({500, 500}, 540)) << "0.6 % of those who guess have 540";
  EXPECT_TRUE(is_told({10, 10, 10, 10}, 13));
  EXPECT_FALSE(is_told({10, 10, 10, 10}, 16)) << "2.6 % of those who guess have 16";
}

TEST(TrainingWarnings, OfDataLeakage) {
  Classes training;
  CopySearch& copies = training.result.copies;
  copies.pairs = {{"val/a.jpg", "validation", "train/a.jpg", {.is_exact = true}, 0},
                  {"val/a.jpg", "validation", "train/b.jpg", {.is_exact = true}, 0},
                  {"test/b.jpg", "test", "train/c.jpg", {.turned = 1}, 0.02},
                  {"test/c.jpg", "test", "train/c.jpg", {.turned = 1}, 0.02}};
  copies.judged = 3;
  copies.exact = 1;
  EXPECT_THAT(training.warnings(),
              ElementsAre(AllOf(HasSubstr("3 of the 400 images to validate or test on are also among those to train "
                                          "on (1 in every pixel, 2 nearly; such as"),
                                HasSubstr("'val/a.jpg' of 'train/a.jpg', the same"))));
  copies.near_reason = "they are small";
  EXPECT_THAT(training.warnings(), ElementsAre(AllOf(HasSubstr("(1 in every pixel, near ones were not looked for: they "
                                                               "are small; such as"),
                                                     Not(HasSubstr("nearly")))));
}

// Where each sentence that warns about a training begins: figures on both sides of every bound.

TEST(TrainingWarningsBounds, ALossRoseByHalfOfItsLeastAndToWhereItBeganOrAbove) {
  Classes training;
  EXPECT_THAT(training.warnings(), IsEmpty());
  training.losses({{3, 0.9}, {2, 0.9}, {3, 0.9}});
  EXPECT_THAT(training.warnings(), ElementsAre(AllOf(HasSubstr("rose from 2 in epoch 2 to 3 in epoch 3"),
                                                     HasSubstr("(it was 0.0667), such as 0.007"))));
  training.losses({{2.5, 0.9}, {2, 0.9}, {2.99, 0.9}});
  EXPECT_THAT(training.warnings(), IsEmpty());
  training.losses({{3.01, 0.9}, {2, 0.9}, {3, 0.9}});
  EXPECT_THAT(training.warnings(), IsEmpty());
  training.losses({{3, 0.9}, {9, 0.9}, {2, 0.9}});
  EXPECT_THAT(training.warnings(), IsEmpty()) << "it came down again";
  training.losses({{2, 0.9}, {3, 0.9}, {2.5, 0.9}, {4, 0.9}});
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("rose from 2 in epoch 1 to 4 in epoch 4")));
}

TEST(TrainingWarningsBounds, EpochsOfTheHeadAloneAreNoPlaceToRiseFrom) {
  Classes training;
  training.losses({{0.1, 0.9}, {0.6, 0.5}, {0.5, 0.5}});
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("rose from 0.1 in epoch 1"))) << "far fewer are right";
  training.result.epochs.front().head_only = true;
  EXPECT_THAT(training.warnings(), IsEmpty());
}

TEST(TrainingWarningsBounds, ALossWaversBelowThatOfGuessingWhereAsManyAreRight) {
  Classes training;
  const double of_guessing = std::log(4.0);
  training.losses({{0.5, 0.9}, {of_guessing - 0.01, 0.9}});
  EXPECT_THAT(training.warnings(), IsEmpty());
  training.losses({{0.5, 0.9}, {of_guessing + 0.01, 0.9}});
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("rose from 0.5")));
  training.losses({{0.5, 0.9}, {1, 0.88}});
  training.setup.train_images = 200;
  EXPECT_THAT(training.warnings(), IsEmpty()) << "200 images may differ so by chance";
  training.setup.train_images = 20'000;
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("rose from 0.5")));
  training.losses({{0.5, 0.8}, {1, 0.9}});
  EXPECT_THAT(training.warnings(), IsEmpty()) << "more are right";
}

TEST(TrainingWarningsBounds, GuessingIsToldInPlaceOfOverfittingAndNamesTheLargestClass) {
  Classes training;
  training.setup.val_counts = {80, 200, 70, 50};
  training.losses({{0.5, 1}, {0.4, 1}});
  for (auto& epoch : training.result.epochs) epoch.val_accuracy = 0.5;
  EXPECT_THAT(training.warnings(),
              ElementsAre(AllOf(HasSubstr("50 % of 400 images"), HasSubstr("to say 'bees' of every image (50 %)"))));
  training.setup.val_counts.clear();
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("overfitting"))) << "nothing says how large classes are";
}

TEST(TrainingWarningsBounds, OverfittingIsATenthAboveTheValidationsInterval) {
  Classes training;
  const double most = record::share_interval(0.75, 400).high;
  training.losses({{0.5, 0.5}, {0.4, most + 0.1 + 1e-9}, {0.3, 0.5}});
  for (auto& epoch : training.result.epochs) epoch.val_accuracy = 0.75;
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("were right in epoch 2")));
  training.result.epochs[1].train_accuracy = most + 0.1 - 1e-9;
  EXPECT_THAT(training.warnings(), IsEmpty());
  training.result.epochs[1].train_accuracy = 1;
  training.result.best_epoch = 3;
  EXPECT_THAT(training.warnings(), IsEmpty()) << "the best epoch's is meant";
  training.result.best_epoch = 2;
  training.setup.val_counts.clear();
  for (auto& epoch : training.result.epochs) epoch.val_accuracy = 0.3;
  training.setup.val_images = 9;
  EXPECT_THAT(training.warnings(), IsEmpty());
  training.setup.val_images = 10;
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("overfitting")));
}

TEST(TrainingWarningsBounds, FewImagesOfAClassAreFewerThanTen) {
  Classes training;
  training.setup.train_counts = {60, 10, 60, 60};
  EXPECT_THAT(training.warnings(), IsEmpty());
  training.setup.train_counts = {60, 9, 8, 60};
  EXPECT_THAT(training.warnings(), ElementsAre(AllOf(HasSubstr("2 of 4 classes"), HasSubstr("('cats' has 8)"),
                                                     Not(HasSubstr("none are left")))));
  training.setup.val_images = 0;
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("none are left to validate on")));
}

TEST(TrainingWarningsBounds, OutOfBalanceIsTenTimesAsManyAndTenAtLeast) {
  const auto told = [](std::vector<std::int64_t> counts) {
    Classes training;
    training.setup.train_counts = std::move(counts);
    for (const std::string& sentence : training.warnings()) {
      if (sentence.find("is preferred") != std::string::npos) return sentence;
    }
    return std::string();
  };
  EXPECT_THAT(told({50, 100, 10, 30}),
              AllOf(HasSubstr("'bees' has 100 images"), HasSubstr("'cats' has 10"), HasSubstr("add images of 'cats'")));
  EXPECT_EQ(told({50, 99, 10, 30}), "");
  EXPECT_THAT(told({0, 10, 3, 4}), HasSubstr("'ants' has 0"));
  EXPECT_EQ(told({0, 9, 3, 4}), "");
  EXPECT_EQ(told({}), "");
}

/// A detector whose second of three epochs was the best.
struct Boxes : Classes {
  explicit Boxes(double val_map) {
    result.is_detector = true;
    setup.train_counts.clear();
    setup.val_counts.clear();
    for (auto& epoch : result.epochs) {
      epoch.train_accuracy.reset();
      epoch.val_accuracy.reset();
      epoch.figures = {{"val_map_50", 0.01}, {kFoundInBlank, 1}};
    }
    result.epochs[1].figures = {{"val_map_50", val_map}};
  }
};

TEST(TrainingWarningsBounds, ADetectorOfATenthHasLearntSomething) {
  EXPECT_THAT(Boxes(0.1).warnings(), IsEmpty());
  EXPECT_THAT(Boxes(0.099).warnings(), ElementsAre(HasSubstr("the validation mAP@0.5 is 0.099")));
  Boxes unknown(0.05);
  unknown.result.epochs[1].figures.clear();
  EXPECT_THAT(unknown.warnings(), IsEmpty());
  Boxes classifier(0.05);
  classifier.result.is_detector = false;
  EXPECT_THAT(classifier.warnings(), IsEmpty());
  Boxes evaluated(0.05);
  evaluated.result.best_epoch = 0;
  evaluated.result.figures = {{"val_map_50", 0.05}};
  EXPECT_THAT(evaluated.warnings(), IsEmpty()) << "it trained nothing";
}

TEST(TrainingWarningsBounds, TheSameBoxIsThatOfNineOfTenImages) {
  Boxes training(0.8);
  training.result.epochs[1].figures[kFoundInBlank] = kBlindShare;
  EXPECT_THAT(training.warnings(),
              ElementsAre(AllOf(HasSubstr("the same box in blank images (grey, noise) as in 90 % of the validation"),
                                HasSubstr("where boxes usually are, not what they look like"), HasSubstr("of 0.8 "))));
  training.result.epochs[1].figures[kFoundInBlank] = kBlindShare - 0.001;
  EXPECT_THAT(training.warnings(), IsEmpty());
  training.result.epochs[1].figures.erase(kFoundInBlank);
  EXPECT_THAT(training.warnings(), IsEmpty());
  training.result.figures = {{kFoundInBlank, 0.95}};  // of what was evaluated
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("as in 95 %")));
}

TEST(TrainingWarningsBounds, ATestIsFarWhereTheIntervalsAreApart) {
  Classes training;
  training.setup.test_images = 300;
  const double below = record::share_interval(0.9, 400).low;
  double touching = 0.9;
  while (record::share_interval(touching, 300).high > below) touching -= 0.001;
  training.result.test_accuracy = touching + 0.002;
  EXPECT_THAT(training.warnings(), IsEmpty());
  training.result.test_accuracy = touching - 0.002;
  EXPECT_THAT(training.warnings(), ElementsAre(AllOf(HasSubstr("of 300 images"), HasSubstr("is far below"),
                                                     HasSubstr("(90 % of 400 images"))));
  training.result.test_accuracy = 0.1;
  training.setup.test_images = 0;
  EXPECT_THAT(training.warnings(), IsEmpty());
  training.setup.test_images = 300;
  training.setup.val_images = 0;
  EXPECT_THAT(training.warnings(), IsEmpty());
  Boxes found(0.9);
  found.setup.test_images = 50;
  found.result.figures = {{"test_map_50", 0.4}};
  EXPECT_THAT(found.warnings(), ElementsAre(HasSubstr("the test mAP@0.5 (40 % of 50 images")));
}

TEST(TrainingWarningsBounds, OfWhatWasOnlyEvaluatedTheResultsAccuraciesAreCompared) {
  Classes training;
  training.result.epochs.clear();
  training.result.best_epoch = 0;
  training.result.val_accuracy = 0.4;
  training.result.test_accuracy = 0.8;
  training.setup.test_images = 300;
  EXPECT_THAT(training.warnings(), ElementsAre(AllOf(HasSubstr("80 % of 300 images"), HasSubstr("is far above"),
                                                     HasSubstr("(40 % of 400 images"))));
}

}  // namespace
}  // namespace evener::training
