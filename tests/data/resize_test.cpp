// Resizing as Pillow, as OpenCV, and by averaging as PyTorch.
#include "data/resize.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "data/area_resize.h"
#include "data/codecs/decode.h"
#include "data/data_helpers.h"
#include "weights/safetensors.h"

namespace evener::data {
namespace {

using namespace test;
using test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Resize, EqualsPillow) {
  int compared = 0;
  for (const auto& [name, tensor] : weights::read_safetensors(golden_file("expected.safetensors")).tensors) {
    const std::size_t marker = name.find("/resize/");
    if (marker == std::string::npos) continue;
    SCOPED_TRACE(name);
    Picture picture = decode_picture(bytes_of(golden_file(name.substr(0, marker))));
    picture = resize(std::move(picture), tensor.shape[0], tensor.shape[1]);
    ASSERT_EQ(tensor.shape, (std::vector<std::int64_t>{picture.height, picture.width, picture.channels}));
    int differing = 0;
    for (std::size_t i = 0; i < picture.bytes(); ++i) differing += picture.pixels[i] != std::uint8_t(tensor.bytes[i]);
    EXPECT_EQ(differing, 0);
    ++compared;
  }
  EXPECT_EQ(compared, 16);
}

Picture ramp(std::int64_t channels, std::int64_t height, std::int64_t width) {
  Picture picture = Picture::unset(channels, height, width);
  for (std::size_t i = 0; i < picture.bytes(); ++i) picture.pixels[i] = static_cast<std::uint8_t>(i * 7 % 256);
  return picture;
}

TEST(Resize, LeavesAPictureOfTheRightSizeAlone) {
  Picture picture = ramp(3, 4, 5);
  const std::uint8_t* pixels = picture.pixels.get();
  EXPECT_EQ(resize(std::move(picture), 4, 5).pixels.get(), pixels);
}

TEST(Resize, KeepsConstantPicturesConstant) {
  for (const std::int64_t channels : {1, 3}) {
    for (const auto& [height, width] : {std::pair<int, int>{1, 1}, {3, 200}, {64, 2}, {31, 33}}) {
      Picture picture = Picture::unset(channels, 17, 29);
      std::fill_n(picture.pixels.get(), picture.bytes(), std::uint8_t{255});
      const Picture resized = resize(std::move(picture), height, width);
      for (std::size_t i = 0; i < resized.bytes(); ++i) ASSERT_EQ(resized.pixels[i], 255);
    }
  }
}

TEST(Resize, AveragesWhenShrinkingByALot) {
  // Every second column white: a filter without antialiasing would give black or white.
  Picture stripes = Picture::unset(1, 8, 2000);
  for (std::size_t i = 0; i < stripes.bytes(); ++i) stripes.pixels[i] = i % 2 == 0 ? 255 : 0;
  const Picture small = resize(std::move(stripes), 2, 20);
  for (std::size_t i = 0; i < small.bytes(); ++i) EXPECT_NEAR(small.pixels[i], 127, 2);
}

TEST(Resize, GrowsOnePixel) {
  Picture one = Picture::unset(3, 1, 1);
  one.pixels[0] = 10;
  one.pixels[1] = 20;
  one.pixels[2] = 30;
  const Picture large = resize(std::move(one), 7, 9);
  EXPECT_EQ(large.pixels[0], 10);
  EXPECT_EQ(large.pixels[large.bytes() - 1], 30);
}

TEST(Resize, APartIsThatPartOfTheWhole) {
  for (const std::int64_t channels : {1, 3}) {
    // Rows first, columns first, one side as it is, both; shorter and longer.
    for (const auto& [height, width] :
         {std::pair<int, int>{29, 41}, {7, 300}, {200, 9}, {61, 41}, {30, 83}, {61, 83}, {122, 166}}) {
      for (const ResizeFilter filter :
           {ResizeFilter::kNearest, ResizeFilter::kBilinear, ResizeFilter::kBicubic, ResizeFilter::kLanczos}) {
        SCOPED_TRACE(testing::Message() << channels << " channels to " << width << "x" << height << ", "
                                        << "filter " << static_cast<int>(filter));
        const Picture whole = resize(ramp(channels, 61, 83), height, width, filter);
        const PictureArea area{width / 3, height / 4, width / 2, height / 2};
        const Picture part = resize_part(ramp(channels, 61, 83), height, width, area, filter);
        ASSERT_EQ(part.width, area.width);
        ASSERT_EQ(part.height, area.height);
        for (std::int64_t y = 0; y < part.height; ++y) {
          const std::uint8_t* expected = whole.row(area.y + y) + area.x * channels;
          ASSERT_TRUE(std::equal(expected, expected + area.width * channels, part.row(y))) << "row " << y;
        }
      }
    }
  }
}

TEST(Resize, RefusesToMakeNothing) {
  EXPECT_THROW(resize(ramp(1, 2, 2), 0, 5), Error);
  EXPECT_THROW(resize_part(ramp(1, 2, 2), 4, 4, {0, 0, 0, 4}, ResizeFilter::kBilinear), Error);
  EXPECT_THROW(resize_part(ramp(1, 2, 2), 4, 4, {2, 0, 3, 4}, ResizeFilter::kBilinear), Error);
}

TEST(Resize, IsTheSameWithEveryKindOfLoop) {
  for (const std::int64_t channels : {1, 3}) {
    for (const auto& [height, width] : {std::pair<int, int>{29, 41}, {10, 13}, {7, 300}, {200, 3}, {64, 64}}) {
      SCOPED_TRACE(testing::Message() << channels << " channels to " << width << "x" << height);
      for (const ResizeFilter filter :
           {ResizeFilter::kNearest, ResizeFilter::kBilinear, ResizeFilter::kBicubic, ResizeFilter::kLanczos}) {
        const Picture plain = resize(ramp(channels, 61, 83), height, width, filter, plain_resize_kernels());
        const Picture fast = resize(ramp(channels, 61, 83), height, width, filter, resize_kernels());
        ASSERT_EQ(plain.bytes(), fast.bytes());
        EXPECT_TRUE(std::equal(plain.pixels.get(), plain.pixels.get() + plain.bytes(), fast.pixels.get()));
      }
    }
  }
}

std::vector<std::vector<std::int32_t>> noted_weights;  // of each output

/// Notes the weights that it is called with.
void note_weights(const std::uint8_t*, std::uint8_t*, const std::vector<WeightSpan>& spans,
                  const std::int32_t* weights) {
  noted_weights.clear();
  for (const WeightSpan& span : spans) {
    noted_weights.emplace_back(weights + span.weights, weights + span.weights + span.count);
  }
}

// Three times as wide, cubic weights are 21, 9, -2 and -1 twenty-sevenths, which are no whole units.
TEST(Resize, RoundsWeightsToTheNearestAlsoBelowZero) {
  const ResizeKernels noting{note_weights, note_weights, nullptr};
  resize(ramp(1, 1, 9), 1, 27, ResizeFilter::kBicubic, noting);
  ASSERT_EQ(noted_weights.size(), 27U);
  const auto units = [](int twenty_sevenths) {
    return static_cast<std::int32_t>(std::lround(twenty_sevenths * std::ldexp(1.0, kWeightBits) / 27));
  };
  EXPECT_EQ(units(-1), -155345) << "of 155344.6";
  const std::vector<std::int32_t> left_of_the_middle = {units(-1), units(9), units(21), units(-2)};
  const std::vector<std::int32_t> right_of_the_middle(left_of_the_middle.rbegin(), left_of_the_middle.rend());
  // The fifth pixel's outputs, of which the middle one lies on it.
  EXPECT_EQ(noted_weights[12], left_of_the_middle);
  EXPECT_EQ(noted_weights[14], right_of_the_middle);
}

Picture steps_of_seven(std::int64_t channels, std::int64_t height, std::int64_t width) {
  Picture picture = Picture::unset(channels, height, width);
  for (std::size_t i = 0; i < picture.bytes(); ++i) picture.pixels[i] = static_cast<std::uint8_t>(i * 7 % 256);
  return picture;
}

/// A CRC-32 of the pixels.
struct Expected {
  std::int64_t channels, height, width, to_height, to_width;
  std::uint32_t crc;
};

constexpr Expected kOfOpenCv[] = {
    {1, 61, 83, 29, 41, 0xAEB1EC0C},   {1, 61, 83, 7, 300, 0xB4CC8A68}, {1, 61, 83, 200, 9, 0x7948C130},
    {1, 61, 83, 61, 41, 0x02B86204},   {1, 61, 83, 30, 83, 0x8203DA65}, {1, 61, 83, 122, 166, 0xE82B3F80},
    {1, 2, 3, 9, 7, 0x37D9CF8B},       {1, 64, 48, 32, 24, 0xE3264862}, {1, 1, 1, 5, 4, 0x0FD59B8D},
    {1, 1, 9, 3, 2, 0x27DD800E},       {3, 61, 83, 29, 41, 0x3B8E5435}, {3, 61, 83, 7, 300, 0xB9B11528},
    {3, 61, 83, 200, 9, 0x720C5866},   {3, 61, 83, 61, 41, 0xA9B76D7B}, {3, 61, 83, 30, 83, 0x98D06351},
    {3, 61, 83, 122, 166, 0xC37D5F8F}, {3, 2, 3, 9, 7, 0x0319948A},     {3, 64, 48, 32, 24, 0xD854E7C4},
    {3, 1, 1, 5, 4, 0x71036333},       {3, 1, 9, 3, 2, 0x351C6F05}};

TEST(OpenCvResize, EqualsOpenCv) {
  for (const Expected& expected : kOfOpenCv) {
    SCOPED_TRACE(testing::Message() << expected.channels << " channels of " << expected.width << "x" << expected.height
                                    << " to " << expected.to_width << "x" << expected.to_height);
    const auto crc_of = [](const Picture& picture) {
      return static_cast<std::uint32_t>(crc32(0, picture.pixels.get(), static_cast<uInt>(picture.bytes())));
    };
    const PictureArea all{0, 0, expected.to_width, expected.to_height};
    const auto picture = [&] { return steps_of_seven(expected.channels, expected.height, expected.width); };
    EXPECT_EQ(crc_of(resize(picture(), expected.to_height, expected.to_width, ResizeFilter::kOpenCv)), expected.crc);
    EXPECT_EQ(crc_of(plain_opencv_resize_part(picture(), expected.to_height, expected.to_width, all)), expected.crc);
  }
}

TEST(OpenCvResize, APartIsThatPartOfTheWhole) {
  for (const std::int64_t channels : {1, 3}) {
    const Picture whole = resize(steps_of_seven(channels, 61, 83), 40, 97, ResizeFilter::kOpenCv);
    const PictureArea area{30, 11, 50, 20};
    const Picture part = resize_part(steps_of_seven(channels, 61, 83), 40, 97, area, ResizeFilter::kOpenCv);
    ASSERT_EQ(part.width, area.width);
    ASSERT_EQ(part.height, area.height);
    for (std::int64_t y = 0; y < area.height; ++y) {
      EXPECT_EQ(std::memcmp(part.row(y), whole.row(area.y + y) + area.x * channels,
                            static_cast<std::size_t>(area.width * channels)),
                0);
    }
  }
}

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
