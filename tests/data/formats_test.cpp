// WebP, BMP, PNM and TIFF beyond what the golden files show: damage, truncation, refusals, and quick JPEG decoding.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "data/codecs/codecs.h"
#include "data/codecs/decode.h"
#include "data/data_helpers.h"
#include "data/resize.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::HasSubstr;

std::string reason(std::string_view file) {
  return error_of([file] { decode_picture(file); });
}

constexpr const char* kFiles[] = {"photo.webp", "rgba.webp",   "rgb.bmp",    "palette.bmp", "rgb_565.bmp",
                                  "rgb.ppm",    "grey.pgm",    "text.pgm",   "one_bit.pbm", "grey_16.pgm",
                                  "rgb.tif",    "rgb_lzw.tif", "grey_16.tif"};

TEST(Formats, RefuseFilesCutShortInTheirPixels) {
  for (const char* name : kFiles) {
    SCOPED_TRACE(name);
    const std::string file = bytes_of(golden_file(name));
    for (const std::size_t length : {file.size() / 4, file.size() / 2, file.size() * 2 / 3}) {
      EXPECT_THAT(reason(file.substr(0, length)), ::testing::AnyOf(HasSubstr("cut short"), HasSubstr("damaged")));
    }
  }
}

TEST(Formats, RefuseEveryCutOfFilesThatEndWithTheirPixels) {
  for (const char* name : {"rgb.ppm", "grey.pgm", "one_bit.pbm", "grey_16.pgm", "grey.bmp", "rgb_565.bmp"}) {
    const std::string file = bytes_of(golden_file(name));
    for (std::size_t length = 0; length < file.size(); ++length) {
      EXPECT_THROW(decode_picture(std::string_view(file).substr(0, length)), Error) << name << " cut to " << length;
    }
  }
}

TEST(Formats, SurviveFlippedBytesAndEveryCut) {
  int refused = 0;
  for (const char* name : kFiles) {
    const std::string file = bytes_of(golden_file(name));
    for (std::size_t i = 0; i < file.size(); i += 3) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
      for (const std::string& bad : {damaged, file.substr(0, i)}) {
        try {
          decode_picture(bad);
        } catch (const Error&) {
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(Formats, RefuseHugePictures) {
  EXPECT_THAT(reason("P5 100000 100000 255\n"), HasSubstr("too large: 100000x100000"));
  EXPECT_THAT(reason("P5 99999999999 1 255\n"), HasSubstr("too large"));
  EXPECT_THAT(reason("P5 16384 16384 255\nshort"), HasSubstr("cut short"));
  std::string bmp = bytes_of(golden_file("rgb.bmp"));
  bmp[20] = bmp[24] = 0x7F;  // the third bytes of width and height: millions
  EXPECT_THAT(reason(bmp), HasSubstr("too large"));
}

TEST(Formats, SayWhatIsWrongWithPnm) {
  EXPECT_THAT(reason("P2 2 1 9\n3 10\n"), HasSubstr("the value 10, but says that 9 is the largest"));
  EXPECT_THAT(reason("P5 2 1 70000\n"), HasSubstr("its largest value is 70000"));
  EXPECT_THAT(reason("P5 2 x 255\n"), HasSubstr("height is not a number"));
  EXPECT_THAT(reason("P1 2 1\n12"), HasSubstr("something else than 0 and 1"));
  EXPECT_THAT(reason("P5 0 1 255\n"), HasSubstr("no pixels"));
}

TEST(Formats, ReadBitmapsFromTheTop) {
  std::string file = bytes_of(golden_file("grey.bmp"));
  const Picture upright = decode_picture(file);
  const std::int32_t height = -static_cast<std::int32_t>(upright.height);
  for (std::size_t i = 0; i < 4; ++i) file[22 + i] = static_cast<char>(height >> (8 * i));
  const Picture turned = decode_picture(file);
  ASSERT_EQ(turned.bytes(), upright.bytes());
  EXPECT_EQ(turned.row(0)[0], upright.row(upright.height - 1)[0]);
  EXPECT_EQ(turned.row(turned.height - 1)[5], upright.row(0)[5]);
}

TEST(Formats, RefuseRunLengthsInBitmaps) {
  std::string file = bytes_of(golden_file("palette.bmp"));
  file[30] = 1;
  EXPECT_THAT(reason(file), HasSubstr("compressed (kind 1)"));
}

TEST(Formats, AreToldApartByContent) {
  EXPECT_THAT(reason("RIFF1234WAVEfmt "), HasSubstr("a sound or video file"));
  EXPECT_THAT(reason("RIFF12"), HasSubstr("cut short"));
  EXPECT_THAT(reason("Plain text\n"), HasSubstr("a text file"));
  EXPECT_THAT(reason("P7\nWIDTH 1\n"), HasSubstr("a text file"));
}

TEST(FastDecode, ScalesToNoLessThanTheTarget) {
  const std::string file = bytes_of(golden_file("photo_420.jpg"));  // 45x35
  struct Case {
    std::int64_t height, width, stored_height, stored_width;
  };
  for (const Case& wanted : {Case{35, 45, 35, 45}, Case{18, 23, 18, 23}, Case{18, 24, 35, 45}, Case{9, 12, 9, 12},
                             Case{5, 6, 5, 6}, Case{1, 1, 5, 6}, Case{100, 100, 35, 45}}) {
    const Picture picture = decode_picture_fast(file, wanted.height, wanted.width);
    EXPECT_EQ(picture.height, wanted.stored_height) << wanted.height;
    EXPECT_EQ(picture.width, wanted.stored_width) << wanted.width;
  }
}

TEST(FastDecode, TurnsTheTargetWithThePicture) {
  const std::string file = bytes_of(golden_file("exif_6.jpg"));  // 24x16 stored, 16x24 upright
  const Picture picture = decode_picture_fast(file, 12, 8);
  EXPECT_EQ(picture.height, 12);
  EXPECT_EQ(picture.width, 8);
}

TEST(FastDecode, LooksLikeExactDecoding) {
  for (const char* name : {"photo_420.jpg", "photo_444.jpg", "grey.jpg", "progressive.jpg", "cmyk.jpg"}) {
    SCOPED_TRACE(name);
    const std::string file = bytes_of(golden_file(name));
    const Picture exact = resize(decode_picture(file), 17, 22),
                  fast = resize(decode_picture_fast(file, 17, 22), 17, 22);
    ASSERT_EQ(exact.bytes(), fast.bytes());
    double sum = 0;
    for (std::size_t i = 0; i < exact.bytes(); ++i) sum += std::abs(int{exact.pixels[i]} - int{fast.pixels[i]});
    // A scaled transform is another low-pass filter than the triangle; these pictures are full of edges and noise.
    EXPECT_LT(sum / static_cast<double>(exact.bytes()), 12);
  }
}

TEST(FastDecode, LeavesOtherFormatsExactAndRefusesTheSameFiles) {
  const std::string png = bytes_of(golden_file("rgb.png"));
  const Picture exact = decode_picture(png), fast = decode_picture_fast(png, 3, 4);
  ASSERT_EQ(exact.bytes(), fast.bytes());
  EXPECT_TRUE(std::equal(exact.pixels.get(), exact.pixels.get() + exact.bytes(), fast.pixels.get()));
  const std::string jpeg = bytes_of(golden_file("photo_420.jpg"));
  EXPECT_THAT(error_of([&] { decode_picture_fast(std::string_view(jpeg).substr(0, jpeg.size() / 2), 5, 6); }),
              HasSubstr("cut short"));
}

}  // namespace
}  // namespace evener::data
