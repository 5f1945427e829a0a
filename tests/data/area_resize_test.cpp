// Means of parts of pictures, against what a pencil gives.
#include "data/area_resize.h"

#include <gmock/gmock.h>

#include "data/data_helpers.h"

namespace evener::data {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

/// A picture whose value at (x, y) in channel c is 10 y + x + 100 c.
Picture counting(std::int64_t channels, std::int64_t height, std::int64_t width) {
  Picture picture = Picture::unset(channels, height, width);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        picture.row(y)[x * channels + c] = static_cast<std::uint8_t>(10 * y + x + 100 * c);
      }
    }
  }
  return picture;
}

std::vector<float> resized(const Picture& picture, const PictureArea& area, std::int64_t height, std::int64_t width) {
  std::vector<float> values(static_cast<std::size_t>(3 * height * width), -1);
  area_resize(picture, area, height, width, values);
  return values;
}

TEST(AreaResize, WindowsThatDivideThePictureAreMeans) {
  // 0 1 2 3 / 10 11 12 13: each window is two by two.
  EXPECT_THAT(resized(counting(3, 2, 4), {0, 0, 4, 2}, 1, 2), ElementsAre(5.5F, 7.5F, 105.5F, 107.5F, 205.5F, 207.5F));
}

TEST(AreaResize, WindowsThatDoNotDivideItOverlap) {
  // Three columns to two: the windows are 0..1 and 1..2. Rows stay.
  EXPECT_THAT(resized(counting(1, 1, 3), {0, 0, 3, 1}, 1, 2), ElementsAre(0.5F, 1.5F, 0.5F, 1.5F, 0.5F, 1.5F));
  // Five rows to three: 0..1, 1..3, 3..4.
  EXPECT_THAT(resized(counting(1, 5, 1), {0, 0, 1, 5}, 3, 1),
              ElementsAre(5.0F, 20.0F, 35.0F, 5.0F, 20.0F, 35.0F, 5.0F, 20.0F, 35.0F));
}

TEST(AreaResize, EnlargingRepeatsAndMixesAtTheBorders) {
  // Two columns to three: 0, 0..1, 1.
  EXPECT_THAT(resized(counting(1, 1, 2), {0, 0, 2, 1}, 1, 3),
              testing::ElementsAreArray([] { return std::vector<float>{0, 0.5F, 1, 0, 0.5F, 1, 0, 0.5F, 1}; }()));
}

TEST(AreaResize, APartIsWhatLiesInIt) {
  EXPECT_THAT(resized(counting(3, 4, 6), {2, 1, 2, 2}, 1, 1), ElementsAre(17.5F, 117.5F, 217.5F));
  EXPECT_THAT(resized(counting(3, 4, 6), {5, 3, 1, 1}, 1, 1), ElementsAre(35.0F, 135.0F, 235.0F)) << "the last pixel";
}

TEST(AreaResize, PartsThatAreNotInThePictureAreRefused) {
  const Picture picture = counting(3, 4, 6);
  for (const PictureArea& area :
       std::vector<PictureArea>{{-1, 0, 2, 2}, {0, -1, 2, 2}, {5, 0, 2, 2}, {0, 3, 2, 2}, {0, 0, 0, 2}, {0, 0, 2, 0}}) {
    EXPECT_THAT(error_of([&] { resized(picture, area, 1, 1); }), HasSubstr("not within a picture"));
  }
  std::vector<float> little(5);
  EXPECT_THAT(error_of([&] { area_resize(picture, {0, 0, 6, 4}, 2, 2, little); }), HasSubstr("memory of another size"));
}

}  // namespace
}  // namespace evener::data
