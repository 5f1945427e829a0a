// Where families of detectors put a picture: sizes and offsets as their own programs compute them.
#include <gmock/gmock.h>

#include "data/preprocess.h"

namespace evener::data {
namespace {

constexpr Letterbox kYolo{.grey = 114, .rounding = LetterboxRounding::kNearestEven, .one_scale = true};
constexpr Letterbox kYolox{.upper_left = true, .grey = 114, .rounding = LetterboxRounding::kDown, .one_scale = true};
constexpr Letterbox kInsightface{.upper_left = true, .rounding = LetterboxRounding::kDownFromRatio, .one_scale = true};

/// {width, height, left, top} of a picture of that size on a square.
std::vector<std::int64_t> layout(std::int64_t width, std::int64_t height, std::int64_t side, const Letterbox& box) {
  const PictureLayout layout = letterbox_layout(width, height, {3, side, side}, box);
  return {layout.width, layout.height, layout.left, layout.top};
}

using testing::ElementsAre;

TEST(Letterbox, OfUltralyticsRoundsToTheNearestAndLiesInTheMiddle) {
  EXPECT_THAT(layout(500, 375, 416, kYolo), ElementsAre(416, 312, 0, 52));
  EXPECT_THAT(layout(333, 500, 416, kYolo), ElementsAre(277, 416, 69, 0)) << "139 free: the smaller half";
  EXPECT_THAT(layout(17, 1000, 640, kYolo), ElementsAre(11, 640, 314, 0));
  EXPECT_THAT(layout(640, 427, 416, kYolo), ElementsAre(416, 278, 0, 69));
  EXPECT_THAT(layout(97, 31, 416, kYolo), ElementsAre(416, 133, 0, 141)) << "small pictures grow";
}

TEST(Letterbox, OfYoloxRoundsDownInTheUpperLeftCorner) {
  EXPECT_THAT(layout(17, 1000, 640, kYolox), ElementsAre(10, 640, 0, 0));
  EXPECT_THAT(layout(97, 31, 416, kYolox), ElementsAre(416, 132, 0, 0));
  EXPECT_THAT(layout(640, 427, 416, kYolox), ElementsAre(416, 277, 0, 0));
}

TEST(Letterbox, OfInsightFaceIsComputedFromTheRatioOfSides) {
  EXPECT_THAT(layout(97, 31, 640, kInsightface), ElementsAre(640, 204, 0, 0));
  EXPECT_THAT(layout(17, 1000, 640, kInsightface), ElementsAre(10, 640, 0, 0));
  EXPECT_THAT(layout(303, 300, 640, kInsightface), ElementsAre(640, 633, 0, 0));
  EXPECT_THAT(layout(303, 300, 640, kYolox), ElementsAre(639, 633, 0, 0)) << "303 * (640 / 303) is less than 640";
}

TEST(Letterbox, OursHasBlackOnBothSidesAndAScaleForEach) {
  EXPECT_THAT(layout(97, 31, 416, {}), ElementsAre(416, 133, 0, 141));
  EXPECT_THAT(layout(1, 1000, 8, {}), ElementsAre(1, 8, 3, 0)) << "a side has a pixel at least";
  const PictureLayout ours = letterbox_layout(97, 31, {3, 416, 416}, {});
  EXPECT_DOUBLE_EQ(ours.scale_y, 133.0 / 31);
  const PictureLayout theirs = letterbox_layout(97, 31, {3, 416, 416}, kYolox);
  EXPECT_DOUBLE_EQ(theirs.scale_y, 416.0 / 97);
  EXPECT_DOUBLE_EQ(theirs.scale_x, 416.0 / 97);
}

TEST(Letterbox, HasItsColourBesideThePicture) {
  for (const auto& [mode, first, last] :
       {std::tuple(CropMode::kYolo, 114, 114), {CropMode::kYolox, 200, 114}, {CropMode::kInsightface, 200, 0}}) {
    SCOPED_TRACE(crop_mode_name(mode));
    EXPECT_TRUE(is_letterbox(mode));
    EXPECT_EQ(parse_crop_mode(crop_mode_name(mode)), mode);
    Picture picture = Picture::unset(3, 4, 8);
    std::fill_n(picture.pixels.get(), picture.bytes(), std::uint8_t{200});
    std::vector<std::uint8_t> chw(3 * 16 * 16);
    preprocess(std::move(picture), {.shape = {3, 16, 16}, .crop = mode, .filter = usual_filter(mode)}, chw);
    EXPECT_EQ(chw.front(), first);
    EXPECT_EQ(chw.back(), last);
    EXPECT_EQ(std::ranges::count(chw, 200), 3 * 16 * 8);
  }
}

}  // namespace
}  // namespace evener::data
