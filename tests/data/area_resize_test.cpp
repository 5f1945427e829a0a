// Means of parts of pictures, against what a pencil gives.
#include "data/area_resize.h"

#include <gmock/gmock.h>

#include <array>
#include <utility>

#include "base/random.h"
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

TEST(AreaResize, AllInstructionSetsComputeTheSame) {
  // Of 61 windows of one to five pixels of noise; 300 values are summed up in fours of sixteen and one by one.
  constexpr std::size_t kPixels = 100, kWindows = 61, kValues = 3 * kPixels;
  for (const std::int64_t rows : {1, 2, 7, 257}) {
    Random random(1, Purpose::kSynthetic, static_cast<std::uint64_t>(rows));
    std::vector<std::uint8_t> in(kValues * static_cast<std::size_t>(rows));
    for (std::uint8_t& value : in) value = static_cast<std::uint8_t>(random.below(256));
    AreaWindows windows;
    for (std::size_t x = 0; x < kWindows; ++x) {
      windows.count.push_back(static_cast<std::int32_t>(1 + x % 5));
      windows.first.push_back(static_cast<std::int32_t>(3 * (x * (kPixels - 5) / kWindows)));
      windows.widths.push_back(static_cast<float>(windows.count.back()));
    }
    const auto results_of = [&](const AreaKernels& kernels) {
      std::vector<std::uint16_t> sums(kValues + kSumSlack);
      kernels.add_rows(in.data(), kValues, rows, kValues, sums.data());
      std::vector<float> means(3 * kWindows);
      const std::array<float*, 3> planes = {means.data(), means.data() + kWindows, means.data() + 2 * kWindows};
      kernels.colour_means(sums.data(), windows, static_cast<float>(rows), planes.data());
      sums.resize(kValues);
      return std::pair(sums, means);
    };
    EXPECT_EQ(results_of(area_kernels()), results_of(plain_area_kernels())) << rows;
  }
}

TEST(AreaResize, WindowsOfVeryManyRowsOrPixels) {
  Picture tall = Picture::unset(3, 1000, 2), wide = Picture::unset(3, 257, 40'000);
  for (std::int64_t y = 0; y < 1000; ++y) std::fill_n(tall.row(y), 6, static_cast<std::uint8_t>(y < 500 ? 255 : 5));
  std::fill_n(wide.row(0), wide.bytes(), std::uint8_t{255});  // sums of more than 31 bits
  EXPECT_THAT(resized(tall, {0, 0, 2, 1000}, 2, 1), ElementsAre(255, 5, 255, 5, 255, 5));
  EXPECT_THAT(resized(wide, {0, 0, 40'000, 257}, 1, 1), ElementsAre(255, 255, 255));
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
