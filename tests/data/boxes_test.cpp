// Boxes move with the pixels that they are around, wherever they are served.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <span>

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

TEST(IouCrop, KeepsBoxesOnWhatTheyAreAround) {
  const LabelledBox box{4, 6, 12, 15, 2, true};
  const BoxedDataset dataset(kShape, {{box}});
  const AugmentOptions options = parse_augment("iou-crop");
  int enlarged = 0;
  for (std::uint32_t sample = 0; sample < 200; ++sample) {
    std::vector<std::uint8_t> pixels(kShape.bytes());
    dataset.read(0, pixels);
    augment_image(options, kShape, 1, 1, sample, pixels, std::vector{box});
    const LabelledBox lit = lit_part(pixels);
    const Boxes boxes = moved("iou-crop", sample, {box});
    ASSERT_EQ(boxes.size(), 1u) << "every crop keeps the middle of a box, and there is but one";
    // The edge of what was enlarged is soft.
    EXPECT_NEAR(boxes[0].x1, lit.x1, 2);
    EXPECT_NEAR(boxes[0].x2, lit.x2, 2);
    EXPECT_NEAR(boxes[0].y1, lit.y1, 2);
    EXPECT_NEAR(boxes[0].y2, lit.y2, 2);
    enlarged += boxes[0].x2 - boxes[0].x1 > 9;
  }
  EXPECT_GT(enlarged, 80);
}

TEST(IouCrop, DropsBoxesWhoseMiddleIsOutside) {
  int alone = 0;
  for (std::uint32_t sample = 0; sample < 300; ++sample) {
    const Boxes boxes = moved("iou-crop", sample, {{0, 0, 6, 6, 0}, {22, 12, 30, 20, 1}});
    ASSERT_FALSE(boxes.empty());
    alone += boxes.size() == 1;
    for (const LabelledBox& box : boxes) EXPECT_LT(std::max(box.x1, box.y1), 30);
  }
  EXPECT_GT(alone, 50);
  EXPECT_THAT(moved("iou-crop", 1, {}), ::testing::IsEmpty()) << "an image without boxes stays whole";
}

// On an image of 24 x 24 pixels whose first channel tells the column, its second the row.
TEST(IouCrop, IsAtMostTwiceAsLongAsWide) {
  constexpr std::int64_t kSide = 24, kStep = 8;
  const ImageShape shape{3, kSide, kSide};
  std::vector<std::uint8_t> image(shape.bytes());
  for (std::int64_t i = 0; i < kSide * kSide; ++i) {
    image[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i % kSide * kStep);
    image[static_cast<std::size_t>(kSide * kSide + i)] = static_cast<std::uint8_t>(i / kSide * kStep);
  }
  int wide = 0, high = 0;
  for (std::uint32_t sample = 0; sample < 300; ++sample) {
    std::vector<std::uint8_t> pixels = image;
    augment_image(parse_augment("iou-crop"), shape, 1, 1, sample, pixels, std::vector{LabelledBox{10, 10, 14, 14}});
    const auto extent = [&](std::size_t channel) {
      const auto values = std::span(pixels).subspan(channel * kSide * kSide, kSide * kSide);
      const auto [least, most] = std::ranges::minmax(values);
      return (most - least) / kStep + 1;
    };
    EXPECT_LE(extent(0), 2 * extent(1)) << sample;
    EXPECT_LE(extent(1), 2 * extent(0)) << sample;
    wide += extent(0) > extent(1) ? 1 : 0;
    high += extent(1) > extent(0) ? 1 : 0;
  }
  EXPECT_GT(std::min(wide, high), 50);
}

/// Images of one value each, with a box of that label over the whole.
class PlainDataset : public BoxedDataset {
 public:
  PlainDataset() : BoxedDataset(kShape, {{{0, 0, 30, 20, 0}}, {{0, 0, 30, 20, 1}}, {{0, 0, 30, 20, 2}}}) {}
};

TEST(Mosaics, ShowFourImagesWithTheirBoxes) {
  const auto dataset = std::make_shared<PlainDataset>();
  LoaderOptions options{.batch = 1, .threads = 0};
  options.augmentation = {parse_augment("mosaic:1"), 1, {0, 1, 2}};
  Loader loader(dataset, options);
  std::vector<Boxes> first;
  for (const std::uint64_t epoch : {1, 2, 1}) {
    loader.start({0, 1, 2}, epoch);
    for (std::uint32_t sample = 0; sample < 3; ++sample) {
      const Batch* batch = loader.next();
      const Boxes boxes = std::get<BoxTargets>(batch->targets).boxes[0];
      ASSERT_EQ(boxes.size(), 4u);
      float area = 0;
      bool has_itself = false;
      for (const LabelledBox& box : boxes) {
        area += (box.x2 - box.x1) * (box.y2 - box.y1);
        has_itself = has_itself || box.label == static_cast<std::int32_t>(sample);
        const auto x = static_cast<std::size_t>((box.x1 + box.x2) / 2),
                   y = static_cast<std::size_t>((box.y1 + box.y2) / 2);
        EXPECT_EQ(batch->images[y * 30 + x], 100 + box.label) << "the box is around its own image";
      }
      EXPECT_FLOAT_EQ(area, 30 * 20) << "no gap, and no box over another's image";
      EXPECT_TRUE(has_itself);
      if (first.size() < 6) {
        first.push_back(boxes);
      } else {
        EXPECT_EQ(boxes, first[sample]) << "the same in the same epoch";
      }
    }
  }
  EXPECT_NE(first[0], first[3]) << "another one in another epoch";
}

// The corners differ in width, height and scale, and the box in all of its sides.
TEST(Mosaics, BoxesLieOnTheirPixelsInEveryCorner) {
  const LabelledBox box{6, 4, 24, 15, 2, true};
  const BoxedDataset dataset(kShape, {{box}});
  std::vector<std::uint8_t> image(kShape.bytes());
  dataset.read(0, image);
  Mosaic mosaic;
  mosaic.centre_x = 0.4, mosaic.centre_y = 0.6;
  mosaic.scales = {0.5, 0.9, 0.7, 0.6};
  const Boxes expected = {{0, 2.4F, 8.4F, 9, 2, true},
                          {17.4F, 0, 30, 7.5F, 2, true},
                          {0, 14.8F, 7.8F, 20, 2, true},
                          {15.6F, 14.4F, 26.4F, 20, 2, true}};
  for (std::size_t corner = 0; corner < 4; ++corner) {
    SCOPED_TRACE(corner);
    std::vector<std::uint8_t> pixels(kShape.bytes());
    paste_into_mosaic(mosaic, corner, kShape, image, pixels);
    Boxes boxes;
    add_to_mosaic(mosaic, corner, kShape, Boxes{box}, boxes);
    ASSERT_EQ(boxes.size(), 1U);
    const LabelledBox lit = lit_part(pixels);
    for (float LabelledBox::*side : {&LabelledBox::x1, &LabelledBox::y1, &LabelledBox::x2, &LabelledBox::y2}) {
      EXPECT_NEAR(boxes[0].*side, expected[corner].*side, 1e-4);
      EXPECT_NEAR(boxes[0].*side, lit.*side, 1.5) << "edges are soft";
    }
    EXPECT_EQ(boxes[0].label, 2);
    EXPECT_TRUE(boxes[0].is_difficult);
  }
}

TEST(Mosaics, LeaveOutWhatIsHardlyVisible) {
  Mosaic mosaic;
  mosaic.scales = {1, 1, 1, 1};
  Boxes boxes;
  add_to_mosaic(mosaic, 0, kShape, Boxes{{0, 0, 16, 20, 0}, {20, 10, 30, 20, 1}}, boxes);
  EXPECT_THAT(boxes, ElementsAre(LabelledBox{5, 0, 15, 10, 1})) << "of the first a thirtieth would be left";
}

TEST(Mosaics, AndIouCropsNeedBoxes) {
  const auto dataset = std::make_shared<CountingDataset>(4, kShape);
  for (const char* changes : {"mosaic", "iou-crop"}) {
    LoaderOptions options{.batch = 2};
    options.augmentation = {parse_augment(changes), 1, {0}};
    EXPECT_THROW(Loader(dataset, options), UsageError);
  }
  EXPECT_EQ(augment_text(parse_augment("iou-crop,mosaic,flip")), "flip,iou-crop,mosaic:0.5");
  EXPECT_EQ(parse_augment("flip,iou-crop,mosaic:0.5"), parse_augment("iou-crop,mosaic,flip"));
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
  for (const auto& [threads, pixels] : {std::pair{0, true}, {3, true}, {2, false}}) {
    for (const char* changes : {"", "flip,crop:4"}) {
      SCOPED_TRACE(changes);
      LoaderOptions options{.batch = 5, .threads = threads, .pixels = pixels};
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
