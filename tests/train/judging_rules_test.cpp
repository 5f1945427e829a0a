// Bounds and proportions of small judgements: blank images, maps of where a network looked, near faces, time that is
// left, and what is told of a training's place.
// A detector in training: its boxes are judged where they lie on the images that it was shown, and one that doesn't
// look at its images is told from one that does.
#include <gmock/gmock.h>

#include <cmath>

#include "base/clock.h"
#include "data/batch.h"
#include "detect/decoders/anchors.h"
#include "detect/judge/average_precision.h"
#include "engine/trainer.h"
#include "faces/persons/compare.h"
#include "infer/run/activation_map.h"
#include "network/zoo.h"
#include "train/steps/blank_images.h"
#include "train/steps/evaluation.h"
#include "train/steps/step_times.h"

namespace evener::training {
namespace {

using testing::DoubleNear;
using testing::Optional;

using AllFound = std::vector<std::vector<detection::Detection>>;

TEST(BlankImageRules, BoundsBelongToTheSame) {
  const detection::Detection box{0, 0, 10, 10, 2, 0.8F};
  const auto share = [&](const detection::Detection& other) {
    return share_found_in_blank(AllFound{{box}}, AllFound(3, {other}));
  };
  EXPECT_THAT(share({0, 0, 10, 10, 2, 0.4F}), Optional(1.0)) << "half as likely";
  EXPECT_THAT(share({0, 0, 10, 10, 2, 0.39F}), Optional(0.0));
  EXPECT_THAT(share({0, 0, 10, 6.1F, 2, 0.8F}), Optional(1.0)) << "61 % of the union";
  EXPECT_THAT(share({0, 0, 10, 5.9F, 2, 0.8F}), Optional(0.0));
  EXPECT_THAT(share({0, 0, 10, 10, 1, 0.8F}), Optional(0.0)) << "another class";
}

TEST(BlankImageRules, MostBlankImagesAreMoreThanHalfAndTheLikeliestBoxCounts) {
  const detection::Detection box{0, 0, 10, 10, 2, 0.8F}, other{50, 50, 60, 60, 1, 0.5F};
  const auto blanks = [&](int with, int without) {
    AllFound found(static_cast<std::size_t>(with), {other, box});
    found.resize(found.size() + static_cast<std::size_t>(without));
    return found;
  };
  EXPECT_THAT(share_found_in_blank(AllFound{{box}}, blanks(2, 2)), Optional(0.0)) << "half of them";
  EXPECT_THAT(share_found_in_blank(AllFound{{box}}, blanks(3, 2)), Optional(1.0));
  const detection::Detection elsewhere{80, 80, 90, 90, 2, 0.9F};
  EXPECT_THAT(share_found_in_blank(AllFound{{elsewhere, box}, {box, elsewhere}, {box}, {}}, blanks(3, 2)),
              Optional(2.0 / 3));
  EXPECT_EQ(share_found_in_blank(AllFound{{}}, blanks(3, 2)), std::nullopt) << "nothing was found";
}

TEST(ActivationMapRules, RowsAndColumnsAreToldApart) {
  const inference::ActivationMap map{2, 3, {0, 1, 2, 4, 5, 8}};
  // Of 4 x 6 pixels the middles of places lie between pixels 0 and 1, 2 and 3, 4 and 5.
  EXPECT_FLOAT_EQ(map.at(0, 0, 4, 6), 0);
  EXPECT_FLOAT_EQ(map.at(3, 0, 4, 6), 4);
  EXPECT_FLOAT_EQ(map.at(0, 5, 4, 6), 2);
  EXPECT_FLOAT_EQ(map.at(3, 5, 4, 6), 8);
  EXPECT_FLOAT_EQ(map.at(0, 1, 4, 6), 0.25F);
  EXPECT_FLOAT_EQ(map.at(1, 0, 4, 6), 1);
  EXPECT_FLOAT_EQ(map.at(1, 4, 4, 6), 0.75F * 1.75F + 0.25F * 7.25F);
  EXPECT_FLOAT_EQ(map.at(0, 0, 1, 1), 3) << "the middle of the middle column";
}

TEST(ActivationMapRules, ChannelsAreAddedAndTheMostIsOne) {
  const std::vector<float> channels = {1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1, 7};
  const inference::ActivationMap map = inference::class_map(channels, std::vector<float>{2, 3}, 2, 3);
  EXPECT_EQ(map.height, 2);
  EXPECT_EQ(map.width, 3);
  EXPECT_THAT(map.values, testing::Pointwise(testing::FloatNear(1e-6F),
                                             {5 / 33.0F, 7 / 33.0F, 9 / 33.0F, 11 / 33.0F, 13 / 33.0F, 1.0F}));
}

TEST(NearFaces, DistancesKeepTheirDigitsWhereProductsLoseThem) {
  for (const double angle : {1e-4, 1e-3, 0.1, 0.31, 0.33, 1.5, 3.0}) {
    const std::vector<float> a = {1, 0, 0},
                             b = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)), 0};
    const float product = b[0];
    EXPECT_NEAR(faces::distance_of_rows(a, b, product), 2 * std::sin(angle / 2), 2e-6 * std::max(angle, 0.05)) << angle;
  }
}

TEST(TimeLimitRules, JudgingTakesWhatItsImagesTake) {
  TrainSetup setup(network::build("mlp:4-2", {}));
  setup.val_images = 100;
  setup.test_images = 50;
  const auto limit = [&] { return TimeLimit(now_s() + 1000, setup, 10); };
  TimeLimit judged = limit();
  judged.judged_in(600);  // and 300 for the test
  EXPECT_FALSE(judged.is_over());
  judged.judged_in(700);
  EXPECT_TRUE(judged.is_over()) << "1050 s";
  TimeLimit stepped = limit();
  stepped.stepped_in(150, 1);  // of 10 images; 150 images at a third: 750 s
  EXPECT_FALSE(stepped.is_over());
  stepped.stepped_in(300, 1);  // 225 s a step: 1125 s
  EXPECT_TRUE(stepped.is_over());
  stepped.stepped_in(30, 1);  // 160 s a step: 800 s
  EXPECT_FALSE(stepped.is_over());
  setup.val_images = 0;
  TimeLimit without = limit();
  without.stepped_in(500, 1);  // 50 images at a third: 833 s
  EXPECT_FALSE(without.is_over());
  without.stepped_in(900, 1);  // 700 s a step: 1167 s
  EXPECT_TRUE(without.is_over());
}

TEST(TimeLimitRules, AnEpochThatWouldEndTooLateIsNotBegun) {
  TrainSetup setup(network::build("mlp:4-2", {}));
  setup.val_images = 100;
  setup.test_images = 0;
  TimeLimit limit(now_s() + 1000, setup, 10);
  limit.judged_in(300);
  Progress progress;
  progress.epoch = 2;
  progress.epochs.resize(2);
  progress.epochs[0].seconds = 5000;  // the first one, which tells nothing any more
  progress.epochs[1].seconds = 650;
  EXPECT_FALSE(limit.leaves_none_for_more(progress, 3));
  progress.epochs[1].seconds = 750;
  EXPECT_TRUE(limit.leaves_none_for_more(progress, 3));
  EXPECT_FALSE(limit.leaves_none_for_more(progress, 2)) << "it was the last one";
}

TEST(TrainTexts, TellWhereATrainingStands) {
  Progress progress;
  progress.epoch = 3;
  EXPECT_EQ(place_text(progress), "after epoch 3");
  EXPECT_EQ(time_is_up_text(progress), "ended after epoch 3: the time that was given is over (--minutes)");
  progress.step = 7;
  EXPECT_EQ(place_text(progress), "in epoch 4 after step 7");
  EXPECT_EQ(interrupted_text(progress, 20, "runs/a"),
            "interrupted in epoch 4 after step 7 of 20; evener train --resume runs/a goes on");
  EXPECT_THAT(interrupted_text(progress, 20, "John's runs/a"),
              testing::HasSubstr("evener train --resume 'John'\\''s runs/a' goes on"));
  progress.epochs.resize(3);
  progress.epochs[0].share = 0.5;
  EXPECT_EQ(time_is_up_text(progress), "ended after epoch 3: the time that was given is over (--minutes)");
  progress.epochs[2].share = 0.25;
  EXPECT_EQ(time_is_up_text(progress),
            "ended within epoch 3, after 25 % of its steps: the time that was given is over (--minutes)");
  progress.best_accuracy = 0.912;
  EXPECT_EQ(accuracy_reached_text(progress, "accuracy", 75),
            "ended after epoch 3: the validation accuracy reached 91.2 % (--until-accuracy) after 1 min 15 s of "
            "training and validation");
}

TEST(TrainTexts, TheFitOfAHeadIsTheFirstEpoch) {
  const record::EpochRecord epoch =
      epoch_of({.layer = "fc", .images = 9, .copies = 4, .loss = 0.5, .accuracy = 0.75, .seconds = 3});
  EXPECT_EQ(epoch.epoch, 1);
  EXPECT_TRUE(epoch.head_only);
  EXPECT_EQ(epoch.seconds, 3);
  EXPECT_EQ(epoch.train_loss, 0.5);
  EXPECT_EQ(epoch.train_accuracy, 0.75);
  EXPECT_EQ(epoch.share, 1);
}

TEST(TrainTexts, MeansAreOfTheirOwnSums) {
  const engine::Sums sums({{"loss", 6, 4}, {"correct", 3, 4}, {"box_loss", 10, 5}, {"class_loss", 21, 3}});
  StepProgress told;
  tell_means(sums, told);
  EXPECT_EQ(told.loss, 1.5);
  EXPECT_EQ(told.accuracy, 0.75);
  EXPECT_EQ(told.box_loss, 2);
  EXPECT_EQ(told.class_loss, 7);
  tell_means(engine::Sums({{"loss", 0, 0}}), told);
  EXPECT_EQ(told.loss, 0);
  EXPECT_FALSE(told.accuracy);
}

/// A network with two anchors on images of that size.
network::Network two_anchors(std::int64_t height, std::int64_t width, std::int64_t classes,
                             std::vector<network::Anchor> anchors) {
  network::Network network("two", {1, height, width});
  const int input = network.add("narrow", network::GlobalAveragePool{});
  const int boxes = network.add("box_values", network::Conv2d{.out_channels = 8}, {input});
  const int scores = network.add("score_values", network::Conv2d{.out_channels = 2 * (classes + 1)}, {input});
  network.set_output("boxes", network.add("box_rows", network::Rows{4}, {boxes}));
  network.set_output("scores", network.add("score_rows", network::Rows{classes + 1}, {scores}));
  network.set_anchors(std::move(anchors));
  return network;
}

TEST(TrainingJudge, BoxesLieOnImagesOfAnyShape) {
  // Images that are twice as wide as high: an anchor in the middle, one near the right border.
  const network::Network network = two_anchors(50, 100, 2, {{0.5F, 0.5F, 0.2F, 0.4F}, {0.9F, 0.5F, 0.2F, 0.2F}});
  const auto judge = detection::make_detection_judge(network, 2);
  // Two images: the first one's anchor in the middle is of class 1, the second one's at the border of class 0.
  std::vector<float> logits = {0, -20, 20, 20, 0, 0, 20, 0, 0, 0, 20, -20};
  const std::vector<HostTensor> outputs = {HostTensor::of_floats({2, 2, 4}, std::vector<float>(16)),
                                           HostTensor::of_floats({2, 2, 3}, logits)};
  const std::vector<std::vector<data::LabelledBox>> truth = {{{40, 15, 60, 35, 1}}, {{80, 20, 100, 30, 0}}};
  const std::vector<std::uint32_t> samples = {7, 9};
  const data::Batch batch{
      .count = 2, .shape = {1, 50, 100}, .images = {}, .targets = data::BoxTargets{truth}, .samples = samples};
  judge->begin();
  judge->add(batch, outputs);
  const std::vector<std::string> first = {judge->verdict()};
  const detection::DetectionQuality quality = detection::quality_of_verdicts(first);
  EXPECT_EQ(quality.images, 2);
  EXPECT_EQ(quality.found_boxes, 2);
  EXPECT_THAT(quality.coco.ap, Optional(DoubleNear(1, 1e-9)));
  judge->begin();
  EXPECT_EQ(detection::quality_of_verdicts(std::vector<std::string>{judge->verdict()}).images, 0)
      << "each evaluation is its own";
}

TEST(AnchorDecoder, TakesTheSidesAndAnchorsOfItsNetwork) {
  const detection::BoxDecoder decoder =
      detection::anchor_decoder(two_anchors(50, 100, 2, {{0.5F, 0.5F, 0.2F, 0.4F}, {0.9F, 0.5F, 0.2F, 0.2F}}));
  EXPECT_EQ(decoder.usual_iou, 0.55F);
  EXPECT_EQ(decoder.usual_candidates, 300U);
  const std::vector<float> offsets = {1, 5, 0, 0, 0, 0, 0, 0}, scores = {0, -20, 20, 20, 0, 0};
  const detection::ImageOutputs outputs = {{"boxes", offsets}, {"scores", scores}};
  const auto found = decoder.found(outputs, {}, 1);
  ASSERT_EQ(found.size(), 1U);
  // A tenth of the width and half of the height off the middle.
  EXPECT_NEAR(found[0].x1, 42, 1e-3);
  EXPECT_NEAR(found[0].x2, 62, 1e-3);
  EXPECT_NEAR(found[0].y1, 25, 1e-3);
  EXPECT_NEAR(found[0].y2, 45, 1e-3);
  EXPECT_EQ(found[0].label, 1);
  EXPECT_TRUE(decoder.found(outputs, {.labels = {0}}, 1).empty());
}

/// A detector that finds its box always, or only where an image's first pixel is 200.
class Detector : public engine::Trainer, public engine::DetectsObjects {
 public:
  explicit Detector(bool looks) : looks_(looks) {}

  engine::Sums evaluate_outputs(const data::Batch& batch, std::vector<HostTensor>& outputs) override {
    std::vector<float> logits;
    for (std::int64_t i = 0; i < batch.count; ++i) {
      const bool finds = !looks_ || batch.images[static_cast<std::size_t>(i) * batch.shape.bytes()] == 200;
      const std::vector<float> of_image = {0, finds ? 3.0F : -9.0F, 0, -9};
      logits.insert(logits.end(), of_image.begin(), of_image.end());
    }
    const auto values = static_cast<std::size_t>(batch.count) * 8;
    outputs = {HostTensor::of_floats({batch.count, 2, 4}, std::vector<float>(values)),
               HostTensor::of_floats({batch.count, 2, 2}, logits)};
    return {};
  }
  engine::Capabilities capabilities() override {
    engine::Capabilities capabilities;
    capabilities.detector = this;
    return capabilities;
  }
  std::int64_t matches(const data::Batch&) const override { return 0; }
  std::optional<std::uint32_t> culprit() const override { return std::nullopt; }
  void clear_gradients() override {}
  engine::Sums add_gradients(const data::Batch&, double) override { return {}; }
  void apply(double) override {}
  engine::Sums evaluate(const data::Batch&, std::vector<std::int32_t>*) override { return {}; }
  TensorMap state() const override { return {}; }
  void load_state(const TensorMap&) override {}
  TensorMap optimizer_state() const override { return {}; }
  void load_optimizer_state(const TensorMap&) override {}

 private:
  const bool looks_;
};

TEST(BlankImages, AreShownToADetectorBesidePhotos) {
  const std::vector<std::uint8_t> pixels(3 * 64, 200);
  const std::vector<std::vector<data::LabelledBox>> truth(3, {{0, 0, 4, 4, 0}});
  const std::vector<std::uint32_t> samples = {0, 1, 2};
  data::Batch photos{
      .count = 3, .shape = {1, 8, 8}, .images = pixels, .targets = data::BoxTargets{truth}, .samples = samples};
  const network::Network network = two_anchors(8, 8, 1, {{0.25F, 0.25F, 0.4F, 0.4F}, {0.75F, 0.75F, 0.4F, 0.4F}});
  Detector blind(false), seeing(true);
  EXPECT_THAT(share_found_in_blank(blind, network, photos), Optional(1.0));
  EXPECT_THAT(share_found_in_blank(seeing, network, photos), Optional(0.0));
  photos.images = {};
  EXPECT_EQ(share_found_in_blank(blind, network, photos), std::nullopt) << "a device has the images";
}

}  // namespace

}  // namespace evener::training
