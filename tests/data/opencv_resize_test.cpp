// OpenCV's bilinear resizing, against what OpenCV 4.12 and 5.0 gave for the same pictures.
#include "data/opencv_resize.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <cstring>

#include "data/resize.h"

namespace evener::data {
namespace {

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

}  // namespace
}  // namespace evener::data
