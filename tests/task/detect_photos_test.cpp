// Photos for detectors: where each lies on the network's image, and the boxes on it in its own pixels.
#include <gmock/gmock.h>

#include <fstream>

#include "base/error.h"
#include "base/test_folder.h"
#include "task/detect/photos.h"

namespace evener::task {
namespace {

/// One image, which comes from a file.
class OneImage : public data::Dataset {
 public:
  explicit OneImage(std::string file) : file_(std::move(file)) {}
  std::size_t size() const override { return 1; }
  data::ImageShape shape() const override { return {1, 20, 20}; }
  const std::vector<std::string>& classes() const override { return classes_; }
  data::TargetKind target_kind() const override { return data::TargetKind::kBoxes; }
  data::SampleTargets targets(std::size_t /*index*/) const override {
    data::LabelledBox box;
    box.x1 = 10, box.y1 = 5, box.x2 = 20, box.y2 = 15, box.label = 1, box.is_difficult = true;
    data::LabelledBox unknown = box;
    unknown.label = 0;
    return std::vector{unknown, box};
  }
  void read(std::size_t /*index*/, std::span<std::uint8_t> chw) const override {
    std::ranges::fill(chw, std::uint8_t{7});
  }
  std::string source(std::size_t /*index*/) const override { return file_; }

 private:
  const std::string file_;
  const std::vector<std::string> classes_ = {"dog", "cat"};
};

class DetectPhotos : public testing::Test {
 protected:
  /// A grey picture of 40 x 10.
  std::string picture() const {
    const std::string path = (folder_ / "a.pgm").string();
    std::ofstream(path, std::ios::binary) << "P5\n40 10\n255\n" << std::string(400, 'x');
    return path;
  }
  static data::Preprocessing steps(data::CropMode crop) {
    data::Preprocessing steps;
    steps.shape = {1, 20, 20};
    steps.crop = crop;
    return steps;
  }
  test::TestFolder folder_;
};

TEST_F(DetectPhotos, AFileKnowsItsSizeOnceItIsRead) {
  const auto photos = photos_of(data::Pictures({picture()}), steps(data::CropMode::kLetterbox));
  EXPECT_THROW(photos->photo_size(0), Error);
  std::vector<std::uint8_t> values(400);
  photos->read(0, std::span(values));
  EXPECT_EQ(photos->photo_size(0).width, 40);
  const PhotoPlace place = photos->place(0);
  EXPECT_EQ(place.scale_x, 0.5F);
  EXPECT_EQ(place.scale_y, 0.5F);
  EXPECT_EQ(place.left, 0);
  EXPECT_EQ(place.top, 7);
  EXPECT_EQ(photos->picture(0).width, 40);
  EXPECT_FALSE(photos->truth(0).has_value());
}

TEST_F(DetectPhotos, KnownBoxesAreInThePhotosPixelsAndTheNetworksClasses) {
  const auto photos = photos_of(std::make_shared<OneImage>(picture()), {0}, {-1, 4}, steps(data::CropMode::kStretch));
  std::vector<std::uint8_t> values(400);
  photos->read(0, std::span(values));
  const auto boxes = *photos->truth(0);
  ASSERT_EQ(boxes.size(), 1U) << "the network doesn't know dogs";
  EXPECT_EQ(boxes[0].label, 4);
  EXPECT_TRUE(boxes[0].is_difficult);
  EXPECT_EQ(boxes[0].x1, 20);
  EXPECT_EQ(boxes[0].x2, 40);
  EXPECT_EQ(boxes[0].y1, 2.5);
  EXPECT_EQ(boxes[0].y2, 7.5);
}

TEST_F(DetectPhotos, ImagesThatWereMadeAreTheirOwnPhotos) {
  const auto photos = photos_of(std::make_shared<OneImage>("#3"), {0}, {0, 1}, steps(data::CropMode::kStretch));
  std::vector<std::uint8_t> values(400);
  photos->read(0, std::span(values));
  EXPECT_EQ(photos->photo_size(0).height, 20);
  EXPECT_EQ(photos->picture(0).pixels[0], 7);
  EXPECT_EQ((*photos->truth(0))[1].x2, 20);
}

}  // namespace
}  // namespace evener::task
