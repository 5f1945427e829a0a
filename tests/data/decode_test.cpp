// Decoding against Pillow (tests/golden/data), files that are not what they should be, and quick JPEG decoding.
#include "data/codecs/decode.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "data/codecs/codecs.h"
#include "data/codecs/colour.h"
#include "data/codecs/exif.h"
#include "data/data_helpers.h"
#include "data/resize.h"
#include "weights/safetensors.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::HasSubstr;

const TensorMap& expected() {
  static const TensorMap tensors = weights::read_safetensors(golden_file("expected.safetensors")).tensors;
  return tensors;
}

/// The largest difference of a picture from an expected tensor of the same shape (without trailing extent 1).
int largest_difference(const Picture& picture, const HostTensor& tensor) {
  EXPECT_EQ(tensor.shape[0], picture.height);
  EXPECT_EQ(tensor.shape[1], picture.width);
  EXPECT_EQ(tensor.bytes.size(), picture.bytes());
  if (tensor.bytes.size() != picture.bytes()) return 256;
  int largest = 0;
  for (std::size_t i = 0; i < picture.bytes(); ++i) {
    largest = std::max(largest, std::abs(int{picture.pixels[i]} - static_cast<int>(tensor.bytes[i])));
  }
  return largest;
}

TEST(Decode, EqualsPillowInGreyAndInColour) {
  int compared = 0;
  for (const auto& [name, tensor] : expected()) {
    if (!name.ends_with("/L")) continue;
    const std::string file_name = name.substr(0, name.find('/'));
    SCOPED_TRACE(file_name);
    const std::string file = bytes_of(golden_file(file_name));
    const PictureHeader header = read_picture_header(file);
    Picture picture = decode_picture(file);
    EXPECT_EQ(header.channels, picture.channels);
    EXPECT_EQ(header.height, picture.height);
    EXPECT_EQ(header.width, picture.width);
    const HostTensor& colour = expected().at(file_name + "/RGB");
    if (picture.channels == 3) {
      EXPECT_EQ(largest_difference(picture, colour), 0);
    } else {
      std::vector<std::uint8_t> planes(picture.bytes() * 3);
      write_planes(picture, 3, planes);
      const auto* first = reinterpret_cast<const std::uint8_t*>(colour.bytes.data());
      for (std::size_t i = 0; i < picture.bytes(); ++i) ASSERT_EQ(planes[i], first[3 * i]);
    }
    EXPECT_EQ(largest_difference(to_grey(std::move(picture)), tensor), 0);
    ++compared;
  }
  EXPECT_EQ(compared, 51);
}

TEST(Decode, GivesGreyOnlyForGreyFiles) {
  for (const char* name : {"grey.png", "grey.jpg", "grey_16.png", "grey_alpha.png", "one_bit.png", "grey.bmp",
                           "one_bit.bmp", "grey.pgm", "one_bit.pbm", "grey.tif", "grey_16.tif", "one_bit.tif"}) {
    EXPECT_EQ(decode_picture(bytes_of(golden_file(name))).channels, 1) << name;
  }
  for (const char* name : {"palette.png", "cmyk.jpg", "rgba.png", "palette.bmp", "palette.tif", "rgba.webp"}) {
    EXPECT_EQ(decode_picture(bytes_of(golden_file(name))).channels, 3) << name;
  }
}

TEST(Decode, ReadsInterlacedPng) {
  const Picture plain = decode_picture(bytes_of(golden_file("rgb.png")));
  const Picture interlaced = decode_picture(interlaced_png(plain));
  ASSERT_EQ(interlaced.bytes(), plain.bytes());
  EXPECT_TRUE(std::equal(plain.pixels.get(), plain.pixels.get() + plain.bytes(), interlaced.pixels.get()));
}

TEST(Decode, ReadsYcckAsCmyk) {
  std::vector<std::uint8_t> cmyk;
  for (int i = 0; i < 16 * 16; ++i) {
    for (const int value : {i, 255 - i, 128, 200}) cmyk.push_back(static_cast<std::uint8_t>(value));
  }
  const Picture direct = decode_picture(cmyk_jpeg(cmyk, 16, 16, false));
  const Picture converted = decode_picture(cmyk_jpeg(cmyk, 16, 16, true));
  ASSERT_EQ(direct.bytes(), 16u * 16 * 3);
  ASSERT_EQ(converted.bytes(), direct.bytes());
  for (std::size_t i = 0; i < direct.bytes(); ++i) EXPECT_NEAR(direct.pixels[i], converted.pixels[i], 4);
}

TEST(Decode, SaysWhatAFileIsInstead) {
  const auto reason = [](std::string_view file) { return error_of([&] { decode_picture(file); }); };
  EXPECT_THAT(reason(""), HasSubstr("empty"));
  EXPECT_THAT(reason("hello, I am text\n"), HasSubstr("a text file"));
  EXPECT_THAT(reason("GIF89a\x01\x02"), HasSubstr("the GIF file is cut short"));
  EXPECT_THAT(reason(std::string_view("RIFF\0\0\0\0WEBPVP8 ", 16)), HasSubstr("WebP file"));
  EXPECT_THAT(reason(std::string_view("\0\1\2\3", 4)), HasSubstr("something else"));
  EXPECT_THAT(reason("\xFF\xD8"), HasSubstr("cut short"));
  for (std::size_t length = 1; length < 16; ++length)
    EXPECT_THAT(reason(std::string(length, '\0')), HasSubstr("no JPEG"));
}

TEST(Decode, RefusesFilesCutShortAtEveryByte) {
  for (const char* name : {"rgb.png", "exif_3.jpg", "progressive.jpg", "palette.png"}) {
    const std::string file = bytes_of(golden_file(name));
    const bool is_png = std::string_view(name).ends_with("png");
    // What the last bytes hold is no pixel: a PNG's checksums and end chunk, a JPEG's padding and end marker.
    const std::size_t tail = is_png ? 20 : std::string_view(name) == "progressive.jpg" ? 2 : 3;
    for (std::size_t length = 0; length + tail < file.size(); ++length) {
      const std::string part = file.substr(0, length);
      EXPECT_THROW(decode_picture(part), Error) << name << " cut to " << length << " of " << file.size();
    }
    EXPECT_THAT(error_of([&] { decode_picture(std::string_view(file).substr(0, file.size() * 2 / 3)); }),
                HasSubstr("cut short"));
  }
}

TEST(Decode, AcceptsAJpegThatLacksOnlyItsEndMarker) {
  const std::string file = bytes_of(golden_file("photo_420.jpg"));
  const Picture whole = decode_picture(file);
  const Picture picture = decode_picture(std::string_view(file).substr(0, file.size() - 2));
  EXPECT_TRUE(std::equal(whole.pixels.get(), whole.pixels.get() + whole.bytes(), picture.pixels.get()));
}

TEST(Decode, SurvivesFlippedBytes) {
  int refused = 0;
  for (const char* name : {"rgb.png", "photo_422.jpg", "progressive.jpg", "cmyk.jpg"}) {
    const std::string file = bytes_of(golden_file(name));
    for (std::size_t i = 0; i < file.size(); i += 3) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
      try {
        decode_picture(damaged);
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(Decode, RefusesHugePicturesBeforeTheyTakeMemory) {
  EXPECT_THAT(error_of([] { decode_picture(png_claiming(2'000'000'000, 2'000'000'000, "")); }),
              HasSubstr("too large: 2000000000x2000000000"));
  EXPECT_THAT(error_of([] { decode_picture(png_claiming(16384, 16385, "")); }), HasSubstr("too large"));
  // Within the limit, but no file that short can hold so many pixels.
  EXPECT_THAT(error_of([] { decode_picture(png_claiming(16384, 16384, "short")); }),
              HasSubstr("can't hold 16384x16384 pixels"));
}

TEST(Decode, ReadsOnePixelAndTwentyThousand) {
  const Picture one = decode_picture(plain_png(1, 1, {9, 8, 7}));
  EXPECT_EQ(one.bytes(), 3u);
  EXPECT_EQ(one.pixels[2], 7);
  const Picture wide = decode_picture(plain_png(20'000, 2, {50}));
  EXPECT_EQ(wide.width, 20'000);
  EXPECT_EQ(wide.pixels[39'999], 50);
}

TEST(Decode, LooksAtGiantsOneAfterAnother) {
  EXPECT_FALSE(wait_for_turn(1000, 1000).owns_lock());
  EXPECT_TRUE(wait_for_turn(8192, 8192).owns_lock());
}

TEST(Colour, PlanesHoldTheChannelsOfEveryPixel) {
  for (const std::int64_t width : {1, 15, 16, 17, 67}) {
    Picture picture = Picture::unset(3, 3, width);
    for (std::size_t i = 0; i < picture.bytes(); ++i) picture.pixels[i] = static_cast<std::uint8_t>(i * 37 % 251);
    std::vector<std::uint8_t> planes(picture.bytes());
    write_planes(picture, 3, planes);
    const auto plane = static_cast<std::size_t>(3 * width);
    for (std::size_t i = 0; i < picture.bytes(); ++i) ASSERT_EQ(planes[i % 3 * plane + i / 3], picture.pixels[i]) << i;
    const Picture again = from_planes(planes, 3, width);
    EXPECT_TRUE(std::equal(picture.pixels.get(), picture.pixels.get() + picture.bytes(), again.pixels.get()));
  }
}

std::string little_endian_tiff(char orientation, char type = 3) {
  std::string tiff("II*\0\x08\0\0\0\x01\0\x12\x01", 12);
  tiff += std::string{type, 0, 1, 0, 0, 0, orientation, 0, 0, 0};
  return tiff;
}

TEST(Exif, ReadsBothByteOrders) {
  EXPECT_EQ(exif_orientation(little_endian_tiff(6)), 6);
  const std::string big("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0", 22);
  EXPECT_EQ(exif_orientation(big), 8);
}

TEST(Exif, TakesNonsenseForUpright) {
  EXPECT_EQ(exif_orientation(""), 1);
  EXPECT_EQ(exif_orientation("II"), 1);
  EXPECT_EQ(exif_orientation("XX*"), 1);
  EXPECT_EQ(exif_orientation(little_endian_tiff(9)), 1);
  EXPECT_EQ(exif_orientation(little_endian_tiff(0)), 1);
  EXPECT_EQ(exif_orientation(little_endian_tiff(6, 7)), 1);  // another type
  // A directory far outside, and one with more entries than bytes.
  EXPECT_EQ(exif_orientation(std::string("II*\0\xff\xff\xff\xff", 8)), 1);
  EXPECT_EQ(exif_orientation(std::string("II*\0\x08\0\0\0\xff\xff", 10)), 1);
  const std::string whole = little_endian_tiff(6);
  for (std::size_t length = 0; length < whole.size(); ++length) EXPECT_EQ(exif_orientation(whole.substr(0, length)), 1);
}

/// The picture 1 2 3 / 4 5 6 turned as the orientation says.
std::vector<std::uint8_t> turned(int orientation) {
  Picture picture = Picture::unset(1, 2, 3);
  for (int i = 0; i < 6; ++i) picture.pixels[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i + 1);
  const Picture upright = turn_upright(std::move(picture), orientation);
  EXPECT_EQ(upright.width, orientation >= 5 ? 2 : 3);
  return {upright.pixels.get(), upright.pixels.get() + 6};
}

TEST(Exif, TurnsUpright) {
  using Pixels = std::vector<std::uint8_t>;
  EXPECT_EQ(turned(1), (Pixels{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(turned(2), (Pixels{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(turned(3), (Pixels{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(turned(4), (Pixels{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(turned(5), (Pixels{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(turned(6), (Pixels{4, 1, 5, 2, 6, 3}));
  EXPECT_EQ(turned(7), (Pixels{6, 3, 5, 2, 4, 1}));
  EXPECT_EQ(turned(8), (Pixels{3, 6, 2, 5, 1, 4}));
}

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
