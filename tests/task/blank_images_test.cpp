// Whether a detector that doesn't look at its images is told from one that does.
#include "task/detect/blank_images.h"

#include <gmock/gmock.h>

#include "engine/trainer.h"

namespace evener::task {
namespace {

using testing::Optional;

using Found = std::vector<std::vector<Detection>>;

TEST(BlankImages, ABoxIsTheSameByItsClassItsPlaceAndHowLikelyItIs) {
  const Detection box{10, 10, 50, 50, 0, 0.9F};
  const Found blanks(3, {{12, 10, 50, 52, 0, 0.6F}});
  EXPECT_THAT(share_found_in_blank(Found{{box}, {box}}, blanks), Optional(1.0));
  EXPECT_THAT(share_found_in_blank(Found{{box}, {{60, 60, 90, 90, 0, 0.9F}}}, blanks), Optional(0.5));
  EXPECT_THAT(share_found_in_blank(Found{{{10, 10, 50, 50, 1, 0.9F}}}, blanks), Optional(0.0)) << "another class";
  EXPECT_THAT(share_found_in_blank(Found{{box}}, Found(3, {{10, 10, 50, 50, 0, 0.4F}})), Optional(0.0)) << "unlikely";
  EXPECT_THAT(share_found_in_blank(Found{{box}, {}}, blanks), Optional(1.0)) << "nothing was found on one";
  EXPECT_EQ(share_found_in_blank(Found{{}}, blanks), std::nullopt);
  EXPECT_THAT(share_found_in_blank(Found{{box}}, Found{{box}, {}, {}}), Optional(0.0))
      << "in one of three blank images";
}

/// Two anchors of one class on images of 8 x 8.
network::Network two_anchors() {
  network::Network network("two", {1, 8, 8});
  const int input = network.add("narrow", network::GlobalAveragePool{});
  const int boxes = network.add("box_values", network::Conv2d{.out_channels = 8}, {input});
  const int scores = network.add("score_values", network::Conv2d{.out_channels = 4}, {input});
  network.set_output("boxes", network.add("box_rows", network::Rows{4}, {boxes}));
  network.set_output("scores", network.add("score_rows", network::Rows{2}, {scores}));
  network.set_anchors({{0.25F, 0.25F, 0.4F, 0.4F}, {0.75F, 0.75F, 0.4F, 0.4F}});
  return network;
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
  Detector blind(false), seeing(true);
  EXPECT_THAT(share_found_in_blank(blind, two_anchors(), photos), Optional(1.0));
  EXPECT_THAT(share_found_in_blank(seeing, two_anchors(), photos), Optional(0.0));
  photos.images = {};
  EXPECT_EQ(share_found_in_blank(blind, two_anchors(), photos), std::nullopt) << "a device has the images";
}

}  // namespace
}  // namespace evener::task
