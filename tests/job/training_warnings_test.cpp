// What a training's figures warn of.
#include "job/train/training_warnings.h"

#include <gmock/gmock.h>

#include <tuple>
#include <utility>
#include <vector>

#include "network/zoo.h"

namespace evener::job {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A training of two classes in which nothing is wrong.
struct Training {
  Training() : setup(network::build("mlp:4-2", {})) {
    setup.classes = {"ants", "bees"};
    setup.train_counts = {100, 90};
    setup.val_counts = {40, 60};
    setup.train_images = 190;
    setup.val_images = 100;
    for (int epoch = 1; epoch <= 3; ++epoch) {
      record::EpochRecord done;
      done.epoch = epoch;
      done.train_loss = 0.6 / epoch;
      done.lr = 0.05;
      done.train_accuracy = 0.95;
      done.val_accuracy = 0.9;
      result.epochs.push_back(done);
    }
    result.best_epoch = 3;
  }
  std::vector<std::string> warnings() const { return training_warnings(setup, result); }

  task::TrainSetup setup;
  task::TrainResult result;
};

TEST(TrainingWarnings, IsNotFoundWhereThereIsNone) {
  EXPECT_THAT(Training().warnings(), IsEmpty());
}

TEST(TrainingWarnings, OfALossThatRises) {
  Training training;
  training.result.epochs[2].train_loss = 9.4;
  EXPECT_THAT(training.warnings(),
              ElementsAre(AllOf(HasSubstr("rose from 0.3 in epoch 2 to 9.4 in epoch 3"), HasSubstr("such as 0.005"))));
  training.result.epochs[2].train_loss = 0.65;
  EXPECT_THAT(training.warnings(), IsEmpty()) << "as many images are right";
  training.result.epochs[2].train_accuracy = 0.7;
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("rose from 0.3 in epoch 2 to 0.65 in epoch 3")));
  training.result.epochs[1].train_loss = training.result.epochs[0].train_loss = 7;
  EXPECT_THAT(training.warnings(), IsEmpty()) << "it wavered";
  training.result.epochs[1].train_loss = 0.1;
  training.result.epochs[2].train_loss = 0.4;
  EXPECT_THAT(training.warnings(), IsEmpty()) << "it is below where it began";
}

// What MobileNetV2 told of 112 images, in batches of 8, at a rate of 3e-7.
TEST(TrainingWarnings, ALossThatWaversWithItsBatchesIsNone) {
  Training training;
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

TEST(TrainingWarnings, ALossOfTheHeadAloneIsNoneToRiseFrom) {
  Training training;
  training.result.epochs[0].head_only = true;
  training.result.epochs[0].train_loss = 0.01;
  EXPECT_THAT(training.warnings(), IsEmpty());
}

TEST(TrainingWarnings, OfNothingLearnt) {
  Training training;
  for (auto& epoch : training.result.epochs) epoch.val_accuracy = 0.66;
  EXPECT_THAT(training.warnings(), ElementsAre(AllOf(HasSubstr("66 % of 100 images"), HasSubstr("say 'bees' of every "
                                                                                                "image (60 %)"))));
  for (auto& epoch : training.result.epochs) epoch.val_accuracy = 0.8;
  EXPECT_THAT(training.warnings(), IsEmpty());
}

TEST(TrainingWarnings, OfNothingLearntIsToldOnlyWhereTheImagesDecide) {
  Training training;
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

/// A detector whose boxes are right, by its validation.
Training detector(double val_map, double found_in_blank) {
  Training training;
  training.result.is_detector = true;
  training.setup.train_counts.clear();
  training.setup.val_counts.clear();
  for (auto& epoch : training.result.epochs) {
    epoch.train_accuracy.reset();
    epoch.val_accuracy.reset();
  }
  training.result.epochs.back().figures = {{"val_map_50", val_map}, {task::kFoundInBlank, found_in_blank}};
  return training;
}

TEST(TrainingWarnings, OfADetectorThatFindsTheSameBoxInBlankImages) {
  EXPECT_THAT(detector(0.929, 1).warnings(),
              ElementsAre(AllOf(HasSubstr("the same box in blank images (grey, noise) as in 100 % of the validation"),
                                HasSubstr("where boxes usually are, not what they look like"), HasSubstr("0.93"))));
  EXPECT_THAT(detector(0.929, 0.5).warnings(), IsEmpty());
}

TEST(TrainingWarnings, OfATestFarFromTheValidation) {
  Training training;
  training.setup.test_images = 100;
  training.result.test_accuracy = 0.8;
  EXPECT_THAT(training.warnings(), IsEmpty()) << "by chance 100 images may be so far from 100 others";
  training.result.test_accuracy = 0.7;
  EXPECT_THAT(training.warnings(),
              ElementsAre(AllOf(HasSubstr("the test accuracy (70 % of 100 images; 95 %: 60 to 79 %) is far below the "
                                          "validation's (90 % of 100 images; 95 %: 82 to 95 %)"))));
  training.setup.test_images = 20;
  EXPECT_THAT(training.warnings(), IsEmpty());
  training.setup.test_images = 100;
  for (auto& epoch : training.result.epochs) epoch.val_accuracy = 0.75, epoch.train_accuracy = 0.8;
  training.result.test_accuracy = 0.98;
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("is far above the validation's")));
  Training found = detector(0.9, 0);
  found.setup.test_images = 50;
  found.result.figures = {{"test_map_50", 0.4}};
  EXPECT_THAT(found.warnings(), ElementsAre(HasSubstr("the test mAP@0.5 (40 % of 50 images")));
}

TEST(TrainingWarnings, OfOverfitting) {
  Training training;
  for (auto& epoch : training.result.epochs) epoch.val_accuracy = 0.75, epoch.train_accuracy = 1;
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("100 % of the images to train on were right in epoch 3, and "
                                                         "75 % of those to validate")));
}

TEST(TrainingWarnings, OfClassesWithFewImagesAndClassImbalance) {
  Training training;
  training.setup.train_counts = {181, 9};
  EXPECT_THAT(training.warnings(), ElementsAre(HasSubstr("1 of 2 classes have fewer than 10 images to train on ('bees' "
                                                         "has 9)"),
                                               HasSubstr("'ants' has 181 images to train on, and 'bees' has 9")));
}

TEST(TrainingWarnings, OfDataLeakage) {
  Training training;
  task::CopySearch& copies = training.result.copies;
  copies.pairs = {{"val/a.jpg", "validation", "train/a.jpg", {.is_exact = true}, 0},
                  {"val/a.jpg", "validation", "train/b.jpg", {.is_exact = true}, 0},
                  {"test/b.jpg", "test", "train/c.jpg", {.turned = 1}, 0.02},
                  {"test/c.jpg", "test", "train/c.jpg", {.turned = 1}, 0.02}};
  copies.judged = 3;
  copies.exact = 1;
  EXPECT_THAT(training.warnings(),
              ElementsAre(AllOf(HasSubstr("3 of the 100 images to validate or test on are also among those to train "
                                          "on (1 in every pixel, 2 nearly; such as"),
                                HasSubstr("'val/a.jpg' of 'train/a.jpg', the same"))));
  copies.near_reason = "they are small";
  EXPECT_THAT(training.warnings(), ElementsAre(AllOf(HasSubstr("(1 in every pixel, near ones were not looked for: they "
                                                               "are small; such as"),
                                                     Not(HasSubstr("nearly")))));
}

}  // namespace
}  // namespace evener::job
