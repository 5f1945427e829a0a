// HEIC, AVIF, JPEG XL, GIF, moving WebP and RAW files against Pillow and its plugins (tests/golden/photos), and files
// that are not what they should be.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/built_modules.h"
#include "base/error.h"
#include "data/codecs/codecs.h"
#include "data/codecs/decode.h"
#include "data/codecs/raw_preview.h"
#include "data/data_helpers.h"
#include "data/image_files.h"
#include "data/passed_over.h"
#include "data/resize.h"
#include "weights/safetensors.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::AnyOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

fs::path photo_file(const std::string& name) {
  return golden_file("x").parent_path().parent_path() / "photos" / name;
}

std::string why_not(std::string_view file) {
  return error_of([file] { decode_picture(file); });
}

/// Whether the module that decodes such a file was built; GIF and WebP need none.
bool can_decode(const std::string& name) {
  for (const auto& [extension, module] : {std::pair{".heic", "heif"}, {".avif", "avif"}, {".jxl", "jxl"}}) {
    if (name.ends_with(extension)) return evener::test::module_is_built(module);
  }
  return true;
}

std::vector<std::string> photo_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(photo_file(""))) {
    const std::string name = entry.path().filename();
    if (name != "expected.safetensors" && can_decode(name)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

struct Difference {
  double mean = 256;
  int largest = 256;
};

Difference difference_of(const Picture& picture, const HostTensor& tensor) {
  EXPECT_EQ(tensor.shape[0], picture.height);
  EXPECT_EQ(tensor.shape[1], picture.width);
  EXPECT_EQ(tensor.bytes.size(), picture.bytes());
  if (tensor.bytes.size() != picture.bytes()) return {};
  Difference difference{0, 0};
  for (std::size_t i = 0; i < picture.bytes(); ++i) {
    const int one = std::abs(int{picture.pixels[i]} - static_cast<int>(tensor.bytes[i]));
    difference.mean += one;
    difference.largest = std::max(difference.largest, one);
  }
  difference.mean /= static_cast<double>(picture.bytes());
  return difference;
}

/// Versions of a library round differently. AVIF of 10 and 12 bits is computed in fixed point by newer libavif, and in
/// floating point by older ones. libheif since 1.19 smooths the colours of a cropped picture that it turns.
Difference largest_difference(const std::string& name) {
  if (name.starts_with("turned_odd") && module_status("heif").version > "libheif 1.19") return {10, 48};
  return {1, name.ends_with("_bits.avif") ? 3 : 2};
}

TEST(PhotoFormats, EqualPillowWithItsPlugins) {
  const TensorMap expected = weights::read_safetensors(photo_file("expected.safetensors")).tensors;
  const std::vector<std::string> names = photo_names();
  EXPECT_GE(names.size(), 10U);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const std::string file = bytes_of(photo_file(name));
    const bool is_grey = name.starts_with("grey");
    const PictureHeader header = read_picture_header(file);
    const Picture picture = decode_picture(file);
    EXPECT_EQ(header.channels, picture.channels);
    EXPECT_EQ(header.height, picture.height);
    EXPECT_EQ(header.width, picture.width);
    EXPECT_EQ(picture.channels, is_grey ? 1 : 3);
    const Difference difference = difference_of(picture, expected.at(name + (is_grey ? "/L" : "/RGB")));
    EXPECT_LE(difference.largest, largest_difference(name).largest);
    EXPECT_LE(difference.mean, largest_difference(name).mean);
    const bool is_exact = name.ends_with(".gif") || name.ends_with(".webp") || name == "lossless.jxl";
    EXPECT_TRUE(!is_exact || difference.largest == 0);
  }
}

/// A picture turned by quarters against the clock.
Picture turned_left(const Picture& from, int quarters) {
  Picture to = Picture::unset(3, from.width, from.height);
  for (std::int64_t y = 0; y < to.height; ++y) {
    for (std::int64_t x = 0; x < to.width; ++x) {
      std::copy_n(from.row(x) + 3 * (from.width - 1 - y), 3, to.row(y) + 3 * x);
    }
  }
  return quarters == 1 ? std::move(to) : turned_left(to, quarters - 1);
}

Picture mirrored(const Picture& from, int axis) {
  Picture to = Picture::unset(3, from.height, from.width);
  for (std::int64_t y = 0; y < to.height; ++y) {
    for (std::int64_t x = 0; x < to.width; ++x) {
      std::copy_n(axis == 0 ? from.row(from.height - 1 - y) + 3 * x : from.row(y) + 3 * (from.width - 1 - x), 3,
                  to.row(y) + 3 * x);
    }
  }
  return to;
}

TEST(PhotoFormats, OddHeicIsTurnedAndMirroredInTheOrderOfTheFile) {
  if (!can_decode(".heic")) GTEST_SKIP() << "the module heif is not built";
  const std::string stored = bytes_of(photo_file("turned_odd_7.heic"));
  // The properties of its picture are hvcC, colr, ispe, clap, pixi, irot and imir: the size becomes an odd one by ispe
  // alone, and the crop and what isn't wanted become one more mention of pixi.
  const auto made = [&](const std::string& last, int quarters, int axis) {
    std::string file = stored;
    const auto after = [&](const char* kind) { return file.find(kind) + 4; };
    file[after("ispe") + 7] = 45;
    file[after("ispe") + 11] = 35;
    file[after("irot")] = static_cast<char>(quarters);
    file[after("imir")] = static_cast<char>(axis);
    file.replace(after("ipma") + 12, 6, "\x02\x03\x05\x05" + last);
    return decode_picture(file);
  };
  const Picture plain = made("\x05\x05", 0, 0);
  ASSERT_EQ(std::pair(plain.width, plain.height), std::pair(std::int64_t{45}, std::int64_t{35}));
  for (int quarters = 1; quarters < 4; ++quarters) {
    for (int axis = 0; axis < 2; ++axis) {
      for (const bool mirrors_first : {true, false}) {
        SCOPED_TRACE(std::to_string(quarters) + " " + std::to_string(axis) + (mirrors_first ? " mirrored first" : ""));
        const Picture picture = made(mirrors_first ? "\x87\x86" : "\x86\x87", quarters, axis);
        const Picture expected =
            mirrors_first ? turned_left(mirrored(plain, axis), quarters) : mirrored(turned_left(plain, quarters), axis);
        ASSERT_EQ(std::pair(picture.width, picture.height), std::pair(expected.width, expected.height));
        EXPECT_TRUE(std::equal(picture.row(0), picture.row(0) + picture.bytes(), expected.row(0)));
      }
    }
  }
}

TEST(PhotoFormats, RefuseFilesCutShort) {
  for (const std::string& name : photo_names()) {
    // Of moving ones the first frame alone is read.
    if (name.starts_with("moving") || name.starts_with("turned") || name == "canvas.webp") continue;
    SCOPED_TRACE(name);
    const std::string file = bytes_of(photo_file(name));
    for (const std::size_t length : {file.size() / 4, file.size() / 2, file.size() * 2 / 3, file.size() - 20}) {
      EXPECT_THAT(why_not(file.substr(0, length)), AnyOf(HasSubstr("cut short"), HasSubstr("damaged"))) << length;
    }
  }
}

TEST(PhotoFormats, SurviveFlippedBytesAndCuts) {
  int refused = 0;
  for (const std::string& name : photo_names()) {
    if (name.starts_with("turned") && !name.starts_with("turned_6")) continue;
    const std::string file = bytes_of(photo_file(name));
    // Headers, where lengths stand, byte by byte; pixels here and there.
    for (std::size_t i = 0; i < file.size(); i += i < 600 ? 5 : 61) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
      for (const std::string& bad : {damaged, file.substr(0, i)}) {
        try {
          const PictureHeader header = read_picture_header(bad);
          if (header.width * header.height > 1'000'000) continue;
          const Picture picture = decode_picture(bad);
          EXPECT_EQ(picture.width, header.width) << name << " " << i;
          EXPECT_EQ(picture.height, header.height) << name << " " << i;
          EXPECT_EQ(picture.channels, header.channels) << name << " " << i;
        } catch (const Error&) {
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(PhotoFormats, AreToldApartByContent) {
  const auto format = [](const char* beginning, std::size_t size) { return photo_format({beginning, size}); };
  EXPECT_EQ(format("\0\0\0\x18"
                   "ftypheic\0\0\0\0mif1heic",
                   24),
            PhotoFormat::kHeif);
  EXPECT_EQ(format("\0\0\0\x18"
                   "ftypmif1\0\0\0\0mif1heic",
                   24),
            PhotoFormat::kHeif);
  EXPECT_EQ(format("\0\0\0\x18"
                   "ftypmif1\0\0\0\0mif1avif",
                   24),
            PhotoFormat::kAvif);
  EXPECT_EQ(format("\0\0\0\x18"
                   "ftypavis\0\0\0\0msf1avis",
                   24),
            PhotoFormat::kAvif);
  EXPECT_EQ(format("\0\0\0\x18"
                   "ftypcrx \0\0\0\1crx isom",
                   24),
            PhotoFormat::kRaw);
  EXPECT_EQ(format("\0\0\0\x18"
                   "ftypmp42\0\0\0\0mp42isom",
                   24),
            std::nullopt);
  EXPECT_EQ(format("\0\0\0\x18"
                   "ftypheic",
                   12),
            PhotoFormat::kHeif);
  EXPECT_EQ(format("\xFF\x0A", 2), PhotoFormat::kJpegXl);
  EXPECT_EQ(format("FUJIFILMCCD-RAW 0201", 20), PhotoFormat::kRaw);
  EXPECT_EQ(format("IIU\0\x18\0\0\0", 8), PhotoFormat::kRaw);
  EXPECT_EQ(format("II*\0\x10\0\0\0CR\2\0", 12), PhotoFormat::kRaw);
  for (const char* name : {"rgb.tif", "exif_6.tif", "grey_16.tif", "one_bit.tif", "rgb.png", "photo.webp"}) {
    EXPECT_EQ(photo_format(bytes_of(golden_file(name))), std::nullopt) << name;
  }
  EXPECT_THAT(why_not({"\0\0\0\x18"
                       "ftypmp42\0\0\0\0mp42isom",
                       24}),
              HasSubstr("but a video file"));
  EXPECT_THAT(why_not({"\0\0\0\x18"
                       "ftyph",
                       9}),
              HasSubstr("cut short: it has 9 bytes"));
}

TEST(PhotoFormats, HaveTheirNames) {
  for (const char* name : {"IMG_1.HEIC", "a.heif", "DSC.HIF", "a.avif", "a.avifs", "a.jxl", "a.gif", "a.webp", "a.CR2",
                           "a.cr3", "a.NEF", "a.arw", "a.dng", "a.RAF", "a.orf", "a.rw2"}) {
    EXPECT_TRUE(has_image_extension(name)) << name;
  }
  for (const char* name : {"a.mp4", "a.mov", "a.txt", "a.xmp", "heic"}) EXPECT_FALSE(has_image_extension(name)) << name;
}

TEST(PhotoFormats, OfAShotInTwoFormatsOneIsRead) {
  const TemporaryFolder folder;
  for (const char* name : {"a.CR2", "a.JPG", "b.cr2", "c.NEF", "c.heic", "d.JPG"}) write_bytes(folder / name, "x");
  const auto passed_over = [&folder](PassedOver& rule) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      if (rule.is_passed_over(entry.path())) names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  };
  PassedOver rule, asked({folder.path() / "*.CR2"});
  EXPECT_THAT(passed_over(rule), ::testing::ElementsAre("a.CR2", "c.NEF"));
  ASSERT_EQ(rule.notes().size(), 1U);
  EXPECT_THAT(rule.notes()[0], HasSubstr("passed over: 2 RAW files, beside which lies the camera's JPEG or HEIC"));
  EXPECT_EQ(passed_over_below(folder.path()), rule.notes());
  EXPECT_THAT(passed_over(asked), ::testing::IsEmpty());
}

TEST(PhotoFormats, AreDecodedByManyThreadsAtOnce) {
  const std::vector<std::string> names = photo_names();
  std::vector<std::string> files;
  std::vector<Picture> alone;
  for (const std::string& name : names) {
    files.push_back(bytes_of(photo_file(name)));
    alone.push_back(decode_picture(files.back()));
  }
  std::vector<std::jthread> threads;
  std::atomic<int> differing = 0;
  for (std::size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t i = 0; i < files.size(); ++i) {
        const std::size_t at = (i + 13 * thread) % files.size();
        const Picture picture = decode_picture(files[at]);
        if (std::memcmp(picture.pixels.get(), alone[at].pixels.get(), picture.bytes()) != 0) ++differing;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(differing, 0);
}

/// Fujifilm's header, with a preview behind it.
std::string fujifilm_file(const std::string& preview) {
  std::string file = "FUJIFILMCCD-RAW 0201FF389501";
  file.resize(100);
  const auto put = [&file](std::size_t at, std::size_t number) {
    for (std::size_t i = 0; i < 4; ++i) file[at + i] = static_cast<char>(number >> (24 - 8 * i));
  };
  put(84, file.size());
  put(88, preview.size());
  return file + preview + std::string(50, '\x7F');
}

TEST(RawPreview, OfFujifilmStandsInItsHeader) {
  const std::string preview = bytes_of(golden_file("exif_6.jpg"));
  const Picture direct = decode_picture(preview), picture = decode_picture(fujifilm_file(preview));
  ASSERT_EQ(picture.bytes(), direct.bytes());
  EXPECT_EQ(std::memcmp(picture.pixels.get(), direct.pixels.get(), picture.bytes()), 0);
  EXPECT_EQ(read_picture_header(fujifilm_file(preview)).height, direct.height);
  EXPECT_THAT(why_not(fujifilm_file("no JPEG")), HasSubstr("one without a preview"));
}

TEST(RawPreview, IsTurnedOnce) {
  EXPECT_EQ(preview_orientation(20, 30, 1, 6, true), 6);
  EXPECT_EQ(preview_orientation(20, 30, 6, 6, true), 6) << "both say it";
  EXPECT_EQ(preview_orientation(30, 20, 1, 6, true), 1) << "it lies as the photo is to be seen";
  EXPECT_EQ(preview_orientation(30, 20, 1, 8, false), 8);
  EXPECT_EQ(preview_orientation(20, 20, 1, 8, true), 8);
  EXPECT_EQ(preview_orientation(20, 30, 1, 3, true), 3);
  EXPECT_EQ(preview_orientation(20, 30, 3, 1, true), 3);
}

TEST(RawPreview, DirectoriesMayLeadInCircles) {
  std::string file("II*\0\x08\0\0\0\2\0", 10);
  file += std::string("\x12\xC6\1\0\4\0\0\0\1\4\0\0", 12);  // DNGVersion
  file += std::string("\x4A\1\4\0\1\0\0\0\x08\0\0\0", 12);  // the directory itself is below it
  file += std::string("\x08\0\0\0", 4);                     // and behind it
  EXPECT_EQ(photo_format(file), PhotoFormat::kRaw);
  EXPECT_THAT(why_not(file), HasSubstr("one without a preview"));
}

TEST(Gif, RefusesWhatItsSizeCantHoldAndImpossibleCodes) {
  std::string file = bytes_of(photo_file("palette.gif"));
  const std::size_t frame = file.find(std::string(",\0\0\0\0", 5));
  ASSERT_NE(frame, std::string::npos);
  std::string wide = file;
  for (const std::size_t at : {frame + 6, frame + 8}) wide[at] = 0x3F;  // 16 thousand pixels each way
  EXPECT_THAT(why_not(wide), HasSubstr("bytes can't hold 16173x16163 pixels"));
  for (const std::size_t at : {frame + 6, frame + 8}) wide[at] = '\xFF';
  EXPECT_THAT(why_not(wide), HasSubstr("too large"));
  std::string bits = file;
  bits[frame + 10] = 12;
  EXPECT_THAT(why_not(bits), HasSubstr("its codes have 12 bits"));
  EXPECT_THAT(why_not("GIF89a\1"), HasSubstr("cut short"));
  EXPECT_THAT(why_not(std::string("GIF89a\2\0\2\0\0\0\0;", 14)), HasSubstr("it has no frame"));
}

}  // namespace
}  // namespace evener::data
