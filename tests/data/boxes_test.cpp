// Boxes move with the pixels that they are around, wherever they are served.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "data/augment.h"
#include "data/data_helpers.h"
#include "data/loader.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Boxes = std::vector<LabelledBox>;

const ImageShape kShape{1, 20, 30};

Boxes moved(const std::string& text, std::uint32_t sample, Boxes boxes) {
  augment_boxes(parse_augment(text), kShape, 1, 1, sample, boxes);
  return boxes;
}

/// The smallest box around all pixels that are not black.
LabelledBox lit_part(const std::vector<std::uint8_t>& pixels) {
  LabelledBox lit{1000, 1000, 0, 0};
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (pixels[i] == 0) continue;
    const auto x = static_cast<float>(i % 30), y = static_cast<float>(i / 30);
    lit.x1 = std::min(lit.x1, x), lit.x2 = std::max(lit.x2, x + 1);
    lit.y1 = std::min(lit.y1, y), lit.y2 = std::max(lit.y2, y + 1);
  }
  return lit;
}

/// Samples of one image with one box, changed as `text` says, next to their boxes changed alike.
void expect_along_with_pixels(const std::string& text, const LabelledBox& box, float tolerance) {
  const BoxedDataset dataset(kShape, {{box}});
  int visible = 0;
  for (std::uint32_t sample = 0; sample < 300; ++sample) {
    SCOPED_TRACE(text + " of sample " + std::to_string(sample));
    std::vector<std::uint8_t> pixels(kShape.bytes());
    dataset.read(0, pixels);
    augment_image(parse_augment(text), kShape, 1, 1, sample, pixels);
    const LabelledBox lit = lit_part(pixels);
    const Boxes boxes = moved(text, sample, {box});
    if (boxes.empty()) {
      EXPECT_LE(lit.x2 - lit.x1, tolerance);
      continue;
    }
    ++visible;
    EXPECT_NEAR(boxes[0].x1, lit.x1, tolerance);
    EXPECT_NEAR(boxes[0].x2, lit.x2, tolerance);
    EXPECT_NEAR(boxes[0].y1, lit.y1, tolerance);
    EXPECT_NEAR(boxes[0].y2, lit.y2, tolerance);
    EXPECT_EQ(boxes[0].label, box.label);
    EXPECT_EQ(boxes[0].is_difficult, box.is_difficult);
  }
  EXPECT_GT(visible, 100);
}

TEST(Boxes, MoveAlongWithThePixels) {
  const LabelledBox box{4, 6, 12, 15, 2, true};
  expect_along_with_pixels("flip", box, 0);
  expect_along_with_pixels("crop:9", box, 0);
  expect_along_with_pixels("flip,crop:9", box, 0);
  // The edge of what was enlarged is up to two pixels soft where one pixel became up to four.
  expect_along_with_pixels("resized-crop:0.25", box, 2);
  expect_along_with_pixels("flip,crop:3,resized-crop:0.5", box, 2);
}

TEST(Boxes, AreMirroredAsTheImageIs) {
  bool was_mirrored = false, was_left = false;
  for (std::uint32_t sample = 0; sample < 20; ++sample) {
    const Boxes boxes = moved("flip", sample, {{2, 3, 10, 7, 1}, {0, 0, 30, 20, 0}});
    ASSERT_EQ(boxes.size(), 2u);
    EXPECT_EQ(boxes[1], (LabelledBox{0, 0, 30, 20, 0}));
    was_mirrored = was_mirrored || boxes[0] == LabelledBox{20, 3, 28, 7, 1};
    was_left = was_left || boxes[0] == LabelledBox{2, 3, 10, 7, 1};
  }
  EXPECT_TRUE(was_mirrored);
  EXPECT_TRUE(was_left);
}

TEST(Boxes, AreClippedAtTheEdgesAndDroppedBeyondThem) {
  int dropped = 0, clipped = 0;
  for (std::uint32_t sample = 0; sample < 500; ++sample) {
    const Boxes boxes = moved("crop:12", sample, {{0, 0, 6, 6, 0}, {10, 8, 20, 12, 1}});
    for (const LabelledBox& box : boxes) {
      EXPECT_GE(box.x1, 0);
      EXPECT_LT(box.x1, box.x2);
      EXPECT_LE(box.x2, 30);
      EXPECT_GE(box.y1, 0);
      EXPECT_LT(box.y1, box.y2);
      EXPECT_LE(box.y2, 20);
    }
    const bool has_first = !boxes.empty() && boxes.front().label == 0;
    dropped += !has_first;
    clipped += has_first && boxes.front().x2 - boxes.front().x1 < 6;
  }
  EXPECT_GT(dropped, 50);  // a shift by 6 or more to the left or upwards leaves nothing of the first
  EXPECT_GT(clipped, 50);
}

TEST(Boxes, StayWhereTheyAreWithoutGeometry) {
  const Boxes boxes{{1.25F, 2.5F, 3.75F, 4, 2, true}};
  EXPECT_EQ(moved("colour:0.5", 3, boxes), boxes);
  EXPECT_THAT(moved("", 3, {{5, 5, 5, 9, 0}, {-3, 2, 40, 4, 1}}), ElementsAre(LabelledBox{0, 2, 30, 4, 1}));
}

TEST(BoxLoader, ServesTheBoxesOfEachImage) {
  std::vector<Boxes> boxes(13);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t k = 0; k < i % 3; ++k) {
      boxes[i].push_back({static_cast<float>(i), static_cast<float>(k), static_cast<float>(i) + 5, 15, 1});
    }
  }
  const auto dataset = std::make_shared<BoxedDataset>(kShape, boxes);
  std::vector<std::uint32_t> order(13);
  std::iota(order.rbegin(), order.rend(), 0U);
  for (const int threads : {0, 3}) {
    for (const char* changes : {"", "flip,crop:4"}) {
      SCOPED_TRACE(changes);
      LoaderOptions options{.batch = 5, .threads = threads};
      options.augmentation.options = parse_augment(changes);
      Loader loader(dataset, options);
      loader.start(order, 1);
      std::size_t place = 0;
      while (const Batch* batch = loader.next()) {
        const auto served = std::get<BoxTargets>(batch->targets).boxes;
        ASSERT_EQ(served.size(), static_cast<std::size_t>(batch->count));
        for (const Boxes& of_image : served) {
          const std::uint32_t sample = order[place++];
          Boxes expected = boxes[sample];
          augment_boxes(options.augmentation.options, kShape, 1, 1, sample, expected);
          EXPECT_EQ(of_image, expected);
        }
      }
      EXPECT_EQ(place, 13u);
    }
  }
}

TEST(BoxLoader, RefusesToMixThem) {
  LoaderOptions options{.batch = 2};
  options.augmentation = {parse_augment("mixup"), 1, {0}};
  const auto dataset = std::make_shared<BoxedDataset>(kShape, std::vector<Boxes>(2));
  EXPECT_THROW(Loader(dataset, options), UsageError);
  EXPECT_THAT(error_of([&] { Loader(dataset, options); }), HasSubstr("the data has boxes"));
}

}  // namespace
}  // namespace evener::data
