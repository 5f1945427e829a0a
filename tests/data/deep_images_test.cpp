// Files of 16 bits per channel and what is told of their values; BigTIFF.
#include <gmock/gmock.h>
#include <png.h>

#include "data/codecs/decode.h"
#include "data/data_helpers.h"
#include "data/open/open_data.h"
#include "data/open/pictures.h"
#include "data/sources/loaded_images.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

namespace fs = std::filesystem;

constexpr std::uint32_t kSide = 3;
using Values = std::vector<std::uint16_t>;  // kSide x kSide, grey

Values values_up_to(std::uint16_t largest) {
  Values values(kSide * kSide, largest / 2);
  values[4] = largest;
  return values;
}

std::string deep_png(const Values& values, int interlace = PNG_INTERLACE_NONE) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto append = [](png_structp to, png_bytep content, png_size_t count) {
    static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<const char*>(content), count);
  };
  png_set_write_fn(png, &file, append, nullptr);
  png_set_IHDR(png, info, kSide, kSide, 16, PNG_COLOR_TYPE_GRAY, interlace, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  std::vector<std::uint8_t> bytes;
  for (const std::uint16_t value : values) {
    bytes.push_back(static_cast<std::uint8_t>(value >> 8));
    bytes.push_back(static_cast<std::uint8_t>(value & 255));
  }
  std::vector<png_bytep> rows;
  for (std::uint32_t y = 0; y < kSide; ++y) rows.push_back(bytes.data() + std::size_t{2} * kSide * y);
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::string deep_pgm(const Values& values) {
  std::string file = "P5 3 3 65535\n";
  for (const std::uint16_t value : values) file += {static_cast<char>(value >> 8), static_cast<char>(value & 255)};
  return file;
}

/// Little- or big-endian numbers.
class Bytes {
 public:
  explicit Bytes(bool is_big) : is_big_(is_big) {}

  void add(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      text += static_cast<char>(value >> (8 * (is_big_ ? bytes - 1 - i : i)) & 255);
    }
  }

  std::string text;

 private:
  bool is_big_;
};

/// An uncompressed grey TIFF file of `bits` 8 or 16, as classic TIFF or BigTIFF.
std::string tiff_of(const Values& values, std::uint64_t bits, bool is_big_endian, bool is_big_tiff) {
  Bytes file(is_big_endian);
  const int word = is_big_tiff ? 8 : 4;
  const std::uint64_t bytes = values.size() * bits / 8, header = is_big_tiff ? 16 : 8;
  file.text = is_big_endian ? "MM" : "II";
  file.add(is_big_tiff ? 43 : 42, 2);
  if (is_big_tiff) file.add(8, 2), file.add(0, 2);
  file.add(header + bytes + bytes % 2, word);
  for (const std::uint16_t value : values) file.add(value, static_cast<int>(bits / 8));
  if (bytes % 2 == 1) file.add(0, 1);
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> tags = {
      {256, kSide}, {257, kSide}, {258, bits}, {259, 1}, {262, 1}, {273, header}, {277, 1}, {278, kSide}, {279, bytes}};
  file.add(tags.size(), is_big_tiff ? 8 : 2);
  for (const auto& [tag, value] : tags) {
    file.add(tag, 2);
    file.add(3, 2);  // a number of 16 bits
    file.add(1, word);
    file.add(value, 2);
    file.add(0, word - 2);
  }
  file.add(0, word);
  return file.text;
}

TEST(BigTiff, IsReadInBothByteOrdersAsTiffIs) {
  Values values = values_up_to(250);
  for (const bool is_big_endian : {false, true}) {
    for (const bool is_big_tiff : {false, true}) {
      const std::string file = tiff_of(values, 8, is_big_endian, is_big_tiff);
      const Picture picture = decode_picture(file);
      ASSERT_EQ(picture.bytes(), values.size());
      EXPECT_EQ(picture.pixels[4], 250);
      EXPECT_EQ(picture.pixels[8], 125);
      EXPECT_EQ(read_picture_header(file).width, kSide);
      EXPECT_FALSE(picture.largest_of_16_bits);
      EXPECT_THAT(error_of([&] { decode_picture(file.substr(0, 3)); }), HasSubstr("cut short"));
    }
  }
}

TEST(DeepImages, KeepTheUpperBitsAndTellTheLargestValue) {
  Values values = {0, 255, 256, 4095, 511, 8191, 12000, 1, 7};
  const std::vector<std::string> files = {deep_png(values),
                                          deep_png(values, PNG_INTERLACE_ADAM7),
                                          deep_pgm(values),
                                          "P2 3 3 65535 0 255 256 4095 511 8191 12000 1 7",
                                          tiff_of(values, 16, false, false),
                                          tiff_of(values, 16, true, false),
                                          tiff_of(values, 16, true, true)};
  for (const std::string& file : files) {
    EXPECT_TRUE(read_picture_header(file).has_16_bits);
    const Picture picture = decode_picture(file);
    EXPECT_EQ(picture.largest_of_16_bits, 12000);
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(picture.pixels[i], values[i] >> 8) << i;
  }
  EXPECT_FALSE(decode_picture(plain_png(3, 3, {9})).largest_of_16_bits);
  EXPECT_FALSE(decode_picture("P2 1 1 4095 4095").largest_of_16_bits) << "scaled by what is white";
}

TEST(DeepImages, AreToldBelowAQuarterOfTheValuesAndWithWhatFillsThem) {
  const auto notes_of = [](std::uint16_t largest) {
    DeepImages images;
    Picture picture = Picture::unset(1, 1, 1);
    picture.largest_of_16_bits = largest;
    images.add(picture);
    return images.notes();
  };
  EXPECT_THAT(notes_of(255), ElementsAre(AllOf(HasSubstr("1 of 1 image of 16 bits per channel has no value above 255"),
                                               HasSubstr("(largest value of all: 255); multiply all values by 256 "
                                                         "before, as with ImageMagick's -evaluate multiply 256"))));
  EXPECT_THAT(notes_of(256), ElementsAre(AllOf(HasSubstr("has no value above 256: of the 256 values"),
                                               HasSubstr(" 2 are used"), HasSubstr("-evaluate multiply 128"))));
  EXPECT_THAT(notes_of(8192), ElementsAre(HasSubstr("multiply all values by 4 before, as with ImageMagick's -evaluate "
                                                    "multiply 4")))
      << "by 8 they would not fit";
  EXPECT_THAT(notes_of(16383), ElementsAre(AllOf(HasSubstr("64 are used"), HasSubstr("-evaluate multiply 4"))));
  EXPECT_THAT(notes_of(16384), IsEmpty());
}

class DeepNotes : public ::testing::Test {
 protected:
  void add(const std::string& name, std::uint16_t largest) {
    write_bytes(folder_ / (name + ".png"), deep_png(values_up_to(largest)));
  }
  std::vector<std::string> notes_of_data() const {
    DataOptions options;
    options.location = folder_.path().string();
    std::vector<std::string> notes = open_data(options).notes;
    std::erase_if(notes, [](const std::string& note) { return note.find("16 bits") == std::string::npos; });
    return notes;
  }

  TemporaryFolder folder_;
};

TEST_F(DeepNotes, SayWhatIsBlackAndWhatUsesFewValuesForEveryWayToOpenImages) {
  const auto all = [this](const auto& expected) {
    EXPECT_THAT(notes_of_data(), expected);
    const Pictures pictures({folder_.path().string()});
    EXPECT_THAT(deep_notes(pictures), expected);
    EXPECT_THAT(survey_pictures(pictures, 2).notes, expected);
  };
  for (const char* name : {"bone/1", "bone/2", "tissue/1"}) add(name, 120);
  write_bytes(folder_ / "tissue/2.png", plain_png(3, 3, {9}));
  all(ElementsAre(AllOf(HasSubstr("3 of 3 images of 16 bits per channel have no value above 255"), HasSubstr("black"),
                        HasSubstr("(largest value of all: 120)"), HasSubstr("multiply all values by 512"))));
  for (const char* name : {"bone/1", "bone/2", "tissue/1"}) add(name, 4080);
  all(ElementsAre(AllOf(HasSubstr("3 images of 16 bits per channel have no value above 4080"), HasSubstr("16 are used"),
                        HasSubstr("multiply all values by 16 "), Not(HasSubstr("black")))));
  add("bone/1", 120);
  all(ElementsAre(HasSubstr("1 of 3 images of 16 bits per channel has no value above 255")));
  for (const char* name : {"bone/1", "bone/2", "tissue/1"}) add(name, 40000);
  all(IsEmpty());
}

TEST_F(DeepNotes, OfSixteenPicturesLookAtEach) {
  for (int i = 0; i < 16; ++i) write_bytes(folder_ / (std::to_string(10 + i) + ".png"), plain_png(3, 3, {9}));
  add("21", 120);
  EXPECT_THAT(deep_notes(Pictures({folder_.path().string()})), ElementsAre(HasSubstr("1 of 1 image of 16 bits")));
}

TEST_F(DeepNotes, AreToldOfImagesWithBoxes) {
  for (const char* name : {"1", "2"}) {
    add(std::string("images/train/") + name, 120);
    write_bytes(folder_ / "labels/train" / (std::string(name) + ".txt"), "0 0.5 0.5 0.5 0.5\n");
  }
  EXPECT_THAT(notes_of_data(), ElementsAre(HasSubstr("2 of 2 images of 16 bits per channel have no value above 255")));
}

Picture deep(std::uint16_t largest) {
  Picture picture = Picture::unset(1, 1, 1);
  picture.largest_of_16_bits = largest;
  return picture;
}

TEST(DeepImageRules, TheFactorBringsTheLargestValueUpWithoutClipping) {
  const auto note = [](std::initializer_list<std::uint16_t> values) {
    DeepImages images;
    for (const std::uint16_t value : values) images.add(deep(value));
    return images.notes().empty() ? std::string() : images.notes()[0];
  };
  EXPECT_THAT(note({4095}), AllOf(HasSubstr("1 image of 16 bits"), HasSubstr("above 4095"), HasSubstr("16 are used"),
                                  HasSubstr("multiply all values by 16 ")));
  EXPECT_THAT(note({4096}), HasSubstr("multiply all values by 8 ")) << "4096 * 16 is one too many";
  EXPECT_THAT(note({1000, 3000, 2000}), AllOf(HasSubstr("3 images"), HasSubstr("above 3000"))) << "the largest of all";
  EXPECT_THAT(note({16383}), Not(IsEmpty()));
  EXPECT_THAT(note({16384}), IsEmpty());
  EXPECT_THAT(note({255}), AllOf(HasSubstr("1 of 1 image"), HasSubstr("it is black"), HasSubstr("by 256 ")));
  EXPECT_THAT(note({256}), Not(HasSubstr("black")));
  EXPECT_THAT(note({255, 100, 60000}), AllOf(HasSubstr("2 of 3 images"), HasSubstr("they are black"),
                                             HasSubstr("60000"), HasSubstr("scale their values before")));
  DeepImages plain;
  plain.add(Picture::unset(1, 1, 1));
  EXPECT_THAT(plain.notes(), IsEmpty());
}

}  // namespace
}  // namespace evener::data
