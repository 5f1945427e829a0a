// What an evaluation comes to, by which the best weights are chosen; and which data a network is refused.
#include "train/steps/evaluation.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/message.h"
#include "base/thrown.h"
#include "detect/judge/average_precision.h"
#include "network/zoo.h"
#include "train/steps/limits.h"
#include "train/steps/train.h"

namespace evener::training {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

TEST(Evaluations, OfAClassifierAreMeansAndCountsOfTrueByFoundClasses) {
  parallel::EvaluationResult result;
  result.sums = engine::Sums({{"loss", 6, 4}, {"correct", 3, 4}});
  result.confusion = parallel::ConfusionCounts(3);
  result.confusion.add(std::vector<std::int32_t>{0, 0, 1, 2}, std::vector<std::int32_t>{0, 2, 2, 2});
  const Evaluation test = evaluation_of(result, EvaluationPart::kTest);
  EXPECT_EQ(test.loss, 1.5);
  EXPECT_THAT(test.accuracy, Optional(0.75));
  EXPECT_EQ(test.quality(), 0.75);
  EXPECT_THAT(test.figures, IsEmpty());
  EXPECT_EQ(test.confusion.part, "test");
  EXPECT_THAT(test.confusion.counts, ElementsAre(ElementsAre(1, 0, 1), ElementsAre(0, 0, 1), ElementsAre(0, 0, 1)));
  EXPECT_EQ(evaluation_of(result, EvaluationPart::kValidation).confusion.part, "validation");
  EXPECT_EQ(record::confusion_classes(200), 200U);
  EXPECT_EQ(record::confusion_classes(201), 0U) << "nobody reads so many numbers";
}

// Of two ranks: one found 62 % of its object, which is enough for three of ten limits, the other all of its.
TEST(Evaluations, OfADetectorAreThePrecisionsOfAllRanksAndItsLosses) {
  parallel::EvaluationResult result;
  result.sums = engine::Sums({{"loss", 12, 4}, {"box_loss", 10, 5}, {"class_loss", 21, 3}});
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    detection::DetectionTally tally(2);
    detection::TrueBox truth;
    truth.x2 = truth.y2 = 50, truth.label = rank;
    tally.add(rank, std::vector<detection::Detection>{{0, 0, 50, rank == 0 ? 31.0F : 50.0F, rank, 0.9F}},
              std::vector{truth});
    result.verdicts.push_back(pack_message(tally));
  }
  const Evaluation found = evaluation_of(result, EvaluationPart::kValidation);
  EXPECT_EQ(found.loss, 3);
  EXPECT_FALSE(found.accuracy);
  EXPECT_THAT(found.figures, ElementsAre(Pair("box_loss", 2), Pair("class_loss", 7),
                                         Pair("map", DoubleNear(0.65, 1e-9)), Pair("map_50", DoubleNear(1, 1e-9))));
  EXPECT_NEAR(found.quality(), 1, 1e-9) << "the precision at an overlap of a half";
  std::map<std::string, double> figures = {{"train_loss", 4}};
  add_figures(figures, "val", {{"map", 0.5}, {"box_loss", 2}});
  EXPECT_THAT(figures, ElementsAre(Pair("train_loss", 4), Pair("val_box_loss", 2), Pair("val_map", 0.5)));
  result.verdicts = {pack_message(detection::DetectionTally(2))};
  result.sums = engine::Sums({{"loss", 12, 4}, {"box_loss", 0, 0}});
  const Evaluation nothing = evaluation_of(result, EvaluationPart::kTest);
  EXPECT_THAT(nothing.figures, IsEmpty()) << "there is no box";
  EXPECT_EQ(nothing.quality(), 0);
}

TEST(Evaluations, LostPatienceIsToldWithTheBestEpoch) {
  Progress progress;
  progress.epoch = 9;
  progress.best_epoch = 6;
  progress.best_accuracy = 0.9125;
  progress.best_loss = 0.25;
  EXPECT_EQ(patience_lost_text(progress, "accuracy", 3),
            "early stopping after epoch 9: for 3 epochs neither a higher validation accuracy than that of epoch 6, "
            "0.9125, nor the same with a lower loss than 0.25 (--patience)");
}

TEST(KindsOfData, AClassifierTakesClassesAndADetectorBoxes) {
  const network::Network classifier = network::build("mlp:4-2", {}),
                         detector = network::build("ssdlite_mobilenet_v2", {});
  const auto refusal = [](const network::Network& network, bool has_boxes) {
    return test::thrown_by<UsageError>([&] { require_same_kind(network, has_boxes, "photos"); }, "none");
  };
  EXPECT_EQ(refusal(classifier, false), "none");
  EXPECT_EQ(refusal(detector, true), "none");
  EXPECT_THAT(refusal(classifier, true), AllOf(HasSubstr("'photos' has boxes"), HasSubstr("train a detector")));
  EXPECT_THAT(refusal(detector, false), AllOf(HasSubstr("ssdlite_mobilenet_v2 detects objects, and 'photos'"),
                                              HasSubstr("or train a classifier")));
}

TEST(KindsOfData, ACropIsSmallerThanTheShorterSide) {
  const auto refusal = [](std::int64_t padding, std::int64_t height, std::int64_t width) {
    return test::thrown_by<UsageError>(
        [&] {
          require_visible_crop({.crop_padding = padding}, data::ImageShape{3, height, width});
        },
        "none");
  };
  EXPECT_EQ(refusal(19, 20, 32), "none");
  EXPECT_EQ(refusal(0, 20, 32), "none");
  EXPECT_THAT(refusal(20, 20, 32),
              AllOf(HasSubstr("--augment crop:20"), HasSubstr("they have 32x20"), HasSubstr("Give it less than 20;")));
  EXPECT_THAT(refusal(20, 32, 20), HasSubstr("Give it less than 20;"));
}

/// Three images: without a box, with a crowd of class 1, and with two boxes of class 1 and one of class 0.
class BoxedImages : public data::Dataset {
 public:
  std::size_t size() const override { return 3; }
  data::ImageShape shape() const override { return {1, 20, 30}; }
  const std::vector<std::string>& classes() const override { return classes_; }
  data::TargetKind target_kind() const override { return data::TargetKind::kBoxes; }
  data::SampleTargets targets(std::size_t index) const override {
    std::vector<data::LabelledBox> boxes;
    if (index == 1) boxes = {{1, 2, 9, 8, 1}};
    if (index == 2) boxes = {{1, 2, 9, 8, 1}, {2, 2, 9, 8, 0}, {3, 2, 9, 8, 1}};
    if (index == 1) boxes[0].is_crowd = true;
    return boxes;
  }
  void read(std::size_t, std::span<std::uint8_t>) const override {}
  std::string source(std::size_t index) const override { return "#" + std::to_string(index); }

 private:
  const std::vector<std::string> classes_ = {"dog", "cat", "cow"};
};

TEST(KindsOfData, ADetectorLearnsFromImagesOfWhichOneHasAnObject) {
  data::OpenedData data;
  data.dataset = std::make_shared<BoxedImages>();
  data.split = {{0, 1}, {2}, {2}};
  const auto refusal = [&] { return test::thrown_by<Error>([&] { require_objects(data, "photos"); }, "none"); };
  EXPECT_THAT(refusal(), HasSubstr("none of the 2 images to train on in 'photos' has a box"))
      << "a crowd is none, and what validates trains nothing";
  data.split.train = {0, 2, 1};
  EXPECT_EQ(refusal(), "none");
  EXPECT_THAT(class_counts(*data.dataset, std::vector<std::uint32_t>{2, 1}), ElementsAre(1, 3, 0));
}

}  // namespace
}  // namespace evener::training
