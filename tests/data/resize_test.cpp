// Resizing against Pillow (tests/golden/data) and against what must hold for any filter.
#include "data/resize.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "data/codecs/decode.h"
#include "data/data_helpers.h"
#include "weights/safetensors.h"

namespace evener::data {
namespace {

using namespace test;

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
                                        << resize_filter_name(filter));
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

}  // namespace
}  // namespace evener::data
