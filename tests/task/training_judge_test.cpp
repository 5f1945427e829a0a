// What is said of a detector in training: that its boxes are judged where they lie on the images that it was shown.
#include <gmock/gmock.h>

#include "data/batch.h"
#include "task/detect/average_precision.h"

namespace evener::task {
namespace {

using testing::DoubleNear;
using testing::Optional;

/// Two anchors on images that are twice as wide as high: one in the middle, one near the right border.
network::Network detector() {
  network::Network network("two", {1, 50, 100});
  const int input = network.add("narrow", network::GlobalAveragePool{});
  const int boxes = network.add("box_values", network::Conv2d{.out_channels = 8}, {input});
  const int box_rows = network.add("box_rows", network::Rows{4}, {boxes});
  const int scores = network.add("score_values", network::Conv2d{.out_channels = 6}, {input});
  const int score_rows = network.add("score_rows", network::Rows{3}, {scores});
  network.set_output("boxes", box_rows);
  network.set_output("scores", score_rows);
  network.set_anchors({{0.5F, 0.5F, 0.2F, 0.4F}, {0.9F, 0.5F, 0.2F, 0.2F}});
  return network;
}

TEST(TrainingJudge, BoxesLieOnImagesOfAnyShape) {
  const network::Network network = detector();
  const auto judge = make_detection_judge(network, 2);
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
  const DetectionQuality quality = quality_of_verdicts(first);
  EXPECT_EQ(quality.images, 2);
  EXPECT_EQ(quality.found_boxes, 2);
  EXPECT_THAT(quality.coco.ap, Optional(DoubleNear(1, 1e-9)));
  judge->begin();
  EXPECT_EQ(quality_of_verdicts(std::vector<std::string>{judge->verdict()}).images, 0) << "each evaluation is its own";
}

}  // namespace
}  // namespace evener::task
