// Boxes as other programs read them, drawn, cut out, and counted by what they were taken for.
// Photos for detectors: where each lies on the network's image, and the boxes on it in its own pixels.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "base/test_folder.h"
#include "data/codecs/decode.h"
#include "detect/decoders/boxes.h"
#include "detect/drawing/draw.h"
#include "detect/judge/judge.h"
#include "detect/photos.h"

namespace evener::detection {
namespace {

using testing::ElementsAre;

TEST(DetectLabels, AreTheBoxesThatAreLikelyEnough) {
  const FoundBoxes found{"photos/one.jpg", {200, 100}, {{10, 20, 30, 60, 1, 0.75F}, {0, 0, 9, 9, 0, 0.5F}}};
  EXPECT_EQ(boxed_file(found).boxes.size(), 2U);
  const data::BoxedFile file = boxed_file(found, 0.6F);
  EXPECT_THAT(file.boxes, ElementsAre(data::LabelledBox{10, 20, 30, 60, 1}));
  EXPECT_THAT(file.scores, ElementsAre(0.75F));
  EXPECT_EQ(file.file, "photos/one.jpg");
  EXPECT_EQ(file.height, 100);
}

data::Picture black(std::int64_t channels, std::int64_t height, std::int64_t width) {
  data::Picture picture = data::Picture::unset(channels, height, width);
  std::fill_n(picture.pixels.get(), picture.bytes(), std::uint8_t{0});
  return picture;
}

TEST(DetectDraw, AFrameLiesOnThePictureWhereverTheBoxIs) {
  const std::vector<DrawnBox> boxes = {{-5, 10, 20, 200, "", {255, 1, 2}, false},
                                       {30, 5, 38, 12, "a cat 0.98 that has no room", {3, 255, 4}, true}};
  const data::Picture picture = with_boxes(black(1, 50, 40), boxes, Lettering());
  ASSERT_EQ(picture.channels, 3);
  const std::uint8_t* on_frame = picture.row(40) + 3 * 19;
  EXPECT_THAT(std::vector(on_frame, on_frame + 3), ElementsAre(255, 1, 2));
  EXPECT_EQ(picture.row(30)[3 * 10], 0) << "nothing is drawn inside";
}

/// How many rows from `y` on have the box's colour at `x`.
int line_at(const data::Picture& picture, std::int64_t x, std::int64_t y) {
  int rows = 0;
  while (picture.row(y + rows)[3 * x] == 200 && picture.row(y + rows)[3 * x + 1] == 0) ++rows;
  return rows;
}

TEST(DetectDraw, LinesGrowWithThePicture) {
  const std::vector<DrawnBox> boxes = {{20, 20, 80, 80, "", {200, 0, 0}, false}};
  EXPECT_EQ(line_at(with_boxes(black(3, 100, 100), boxes, Lettering()), 50, 20), 2);
  EXPECT_EQ(line_at(with_boxes(black(3, 2500, 5000), boxes, Lettering()), 50, 20), 10) << "0.4 % of the shorter side";
}

/// The rows and columns that differ, as first and last.
std::array<std::int64_t, 4> extent_of_difference(const data::Picture& a, const data::Picture& b) {
  std::array<std::int64_t, 4> extent = {a.width, -1, a.height, -1};
  for (std::int64_t y = 0; y < a.height; ++y) {
    for (std::int64_t x = 0; x < a.width; ++x) {
      if (std::equal(a.row(y) + 3 * x, a.row(y) + 3 * x + 3, b.row(y) + 3 * x)) continue;
      extent = {std::min(extent[0], x), std::max(extent[1], x), std::min(extent[2], y), std::max(extent[3], y)};
    }
  }
  return extent;
}

/// Where the label of a box from (x, y) on is, on a picture of that size: first and last column, first and last row.
std::array<std::int64_t, 4> label_extent(const Lettering& lettering, std::int64_t height, std::int64_t width, double x,
                                         double y) {
  const std::vector<DrawnBox> plain = {{x, y, x + 9, y + 9, "", {200, 0, 0}, false}};
  std::vector<DrawnBox> labelled = plain;
  labelled[0].text = "Äpfel 0.98";
  return extent_of_difference(with_boxes(black(3, height, width), plain, lettering),
                              with_boxes(black(3, height, width), labelled, lettering));
}

/// A grey picture with that box from (20, 20) to (80, 70).
data::Picture framed(const Colour& colour, bool is_dashed) {
  data::Picture grey = black(3, 100, 100);
  std::fill_n(grey.pixels.get(), grey.bytes(), std::uint8_t{128});
  const std::vector<DrawnBox> boxes = {{20, 20, 80, 70, "", colour, is_dashed}};
  return with_boxes(std::move(grey), boxes, Lettering(std::vector<std::filesystem::path>()));
}

Colour colour_at(const data::Picture& picture, std::int64_t x, std::int64_t y) {
  const std::uint8_t* pixel = picture.row(y) + 3 * x;
  return {pixel[0], pixel[1], pixel[2]};
}

constexpr Colour kMiddleGrey = {128, 128, 128}, kDarkBlue = {0, 114, 178}, kYellow = {240, 228, 66};

// A dark frame has white edges and a bright one black ones, of a pixel on either side of its two.
TEST(DetectDraw, FramesHaveEdgesOfTheOppositeBrightness) {
  for (const auto& [colour, edge] :
       {std::pair(kDarkBlue, Colour{255, 255, 255}), std::pair(kYellow, Colour{0, 0, 0})}) {
    const data::Picture picture = framed(colour, false);
    const Colour across[] = {kMiddleGrey, edge, colour, colour, edge, kMiddleGrey};
    for (std::int64_t i = 0; i < 6; ++i) {
      EXPECT_EQ(colour_at(picture, 50, 18 + i), across[i]) << "upper, " << i;
      EXPECT_EQ(colour_at(picture, 50, 71 - i), across[i]) << "lower, " << i;
      EXPECT_EQ(colour_at(picture, 18 + i, 50), across[i]) << "left, " << i;
      EXPECT_EQ(colour_at(picture, 81 - i, 50), across[i]) << "right, " << i;
    }
  }
}

// Dashes are four lines long, and so are the gaps; those of the edge begin a pixel before.
TEST(DetectDraw, DashedFramesHaveGaps) {
  const data::Picture picture = framed(kDarkBlue, true);
  for (std::int64_t along = 20; along < 36; ++along) {
    const bool is_dash = along < 28, is_gap = !is_dash && along < 35;
    EXPECT_EQ(colour_at(picture, along, 20) == kDarkBlue, is_dash) << along;
    EXPECT_EQ(colour_at(picture, along, 69) == kDarkBlue, is_dash) << along;
    EXPECT_EQ(colour_at(picture, 20, along) == kDarkBlue, is_dash) << along;
    EXPECT_EQ(colour_at(picture, 79, along) == kDarkBlue, is_dash) << along;
    EXPECT_EQ(colour_at(picture, along, 20) == kMiddleGrey, is_gap) << along;
    EXPECT_EQ(colour_at(picture, 20, along) == kMiddleGrey, is_gap) << along;
  }
  EXPECT_EQ(colour_at(picture, 37, 20), kDarkBlue);
  EXPECT_EQ(colour_at(picture, 20, 37), kDarkBlue);
}

TEST(DetectDraw, ClassesHaveSevenColoursInTurn) {
  for (std::int32_t label = 0; label < 7; ++label) {
    EXPECT_EQ(class_colour(label), class_colour(label + 7));
    for (std::int32_t other = 0; other < label; ++other) EXPECT_NE(class_colour(label), class_colour(other));
  }
  EXPECT_EQ(class_colour(1), kDarkBlue);
}

/// Sets an environment variable, or unsets it; afterwards it is as before.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const char* value) { value == nullptr ? unsetenv(name_) : setenv(name_, value, 1); }

  const char* const name_;
  std::optional<std::string> before_;
};

TEST(Lettering, FontsLieWhereTheEnvironmentSaysOrWhereTheyUsuallyDo) {
  const Variable home("HOME", "/home/a b"), none("EVENER_FONTS", nullptr);
  const auto everybodys = [](std::vector<std::filesystem::path> folders) {
    folders.insert(folders.end(), {"/usr/local/share/fonts", "/usr/share/fonts"});
    return folders;
  };
  {
    const Variable data("XDG_DATA_HOME", nullptr);
    EXPECT_EQ(font_folders(), everybodys({"/home/a b/.local/share/fonts", "/home/a b/.fonts"}));
    const Variable homeless("HOME", "");
    EXPECT_EQ(font_folders(), everybodys({}));
  }
  const Variable data("XDG_DATA_HOME", "/data");
  EXPECT_EQ(font_folders(), everybodys({"/data/fonts", "/home/a b/.fonts"}));
  const Variable two("EVENER_FONTS", "one:/an/other one:third");
  EXPECT_THAT(font_folders(), ElementsAre("one", "/an/other one", "third"));
  const Variable one("EVENER_FONTS", "alone");
  EXPECT_THAT(font_folders(), ElementsAre("alone"));
}

TEST(DetectDraw, LabelsGrowWithThePictureAndStayOnIt) {
  const Lettering lettering;
  if (!lettering.has_fonts()) GTEST_SKIP() << "no font is installed";
  const auto label_at = [&](std::int64_t side, double x, double y) {
    return label_extent(lettering, side, side, x, y);
  };
  const auto small = label_at(400, 200, 200), large = label_at(2000, 200, 200);
  EXPECT_GT(large[1] - large[0], 3 * (small[1] - small[0])) << "five times the picture";
  EXPECT_GT(large[3] - large[2], 3 * (small[3] - small[2]));
  const auto corner = label_at(400, 395, 395);
  EXPECT_EQ(corner[1], 399) << "moved to the left, not cut off";
  EXPECT_NEAR(static_cast<double>(corner[1] - corner[0]), static_cast<double>(small[1] - small[0]), 12);
}

TEST(DetectDraw, ALabelWithoutRoomAboveItsBoxIsWithin) {
  const Lettering lettering;
  if (!lettering.has_fonts()) GTEST_SKIP() << "no font is installed";
  const auto above = label_extent(lettering, 400, 400, 200, 200);
  EXPECT_EQ(above[3], 199);
  const std::int64_t height = above[3] - above[2] + 1;
  const auto rows_at = [&](double y) {
    const auto extent = label_extent(lettering, 400, 400, 200, y);
    return std::pair(extent[2], extent[3] - extent[2] + 1);
  };
  EXPECT_EQ(rows_at(static_cast<double>(height)), std::pair(std::int64_t{0}, height)) << "it just fits above";
  EXPECT_EQ(rows_at(static_cast<double>(height - 1)), std::pair(height - 1, height));
  EXPECT_EQ(rows_at(-30), std::pair(std::int64_t{0}, height)) << "the box begins above the picture";
  const auto low = label_extent(lettering, 8, 400, 200, 3);
  EXPECT_EQ(low[2], 0) << "a picture that is lower than a label";
  EXPECT_EQ(low[3], 7);
}

TEST(Lettering, WithoutFontsThereAreNoLabels) {
  const test::TestFolder folder;
  std::ofstream(folder / "broken.ttf") << "no font";
  const Lettering none({folder.path()});
  EXPECT_FALSE(none.has_fonts());
  EXPECT_EQ(none.draw("cat", 20).width, 0);
  const std::vector<DrawnBox> plain = {{10, 20, 30, 40, "", {200, 0, 0}, false}};
  std::vector<DrawnBox> labelled = plain;
  labelled[0].text = "cat";
  EXPECT_EQ(
      extent_of_difference(with_boxes(black(3, 50, 50), plain, none), with_boxes(black(3, 50, 50), labelled, none)),
      (std::array<std::int64_t, 4>{50, -1, 50, -1}));
}

TEST(Lettering, DrawsSmallLettersUmlautsAndWhateverBytes) {
  const Lettering lettering;
  if (!lettering.has_fonts()) GTEST_SKIP() << "no font is installed";
  const auto ink = [&](const char* text) { return lettering.draw(text, 40).ink; };
  EXPECT_NE(ink("a"), ink("A"));
  EXPECT_NE(ink("u"), ink("ü"));
  EXPECT_EQ(lettering.draw("cat", 40).height, 40);
  EXPECT_GT(lettering.draw("broken \xC3", 40).width, lettering.draw("broken ", 40).width);
  EXPECT_EQ(lettering.draw("", 40).width, 0);
}

TEST(Lettering, DrawsTheSameHoweverOftenAndInWhateverSizes) {
  const Lettering used, fresh;
  if (!used.has_fonts()) GTEST_SKIP() << "no font is installed";
  for (std::int64_t height = 8; height < 400; height += 3)
    used.draw("a cat, ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789", height);
  EXPECT_EQ(used.draw("cat", 20).ink, fresh.draw("cat", 20).ink);
  EXPECT_EQ(used.draw("cat", 20).ink, fresh.draw("cat", 20).ink) << "of the letters that were kept";
  EXPECT_NE(used.draw("cat", 20).ink, used.draw("cat", 21).ink);
}

TEST(DetectDraw, ACutHasThePixelsThatTheBoxTouchesAtLeastOne) {
  using Sides = std::pair<std::int64_t, std::int64_t>;
  const auto cut_of = [](std::int64_t height, std::int64_t width, const Detection& box) {
    const data::Picture cut = cut_out(black(3, height, width), box);
    return std::pair(cut.height, cut.width);
  };
  EXPECT_EQ(cut_of(50, 40, {39.9F, 49.5F, 40, 50, 0, 1}), Sides(1, 1));
  EXPECT_EQ(cut_of(50, 40, {1.5F, 2, 10, 4.1F, 0, 1}), Sides(3, 9));
  EXPECT_EQ(cut_of(30, 10, {1.5F, 2.5F, 9.5F, 29.5F, 0, 1}), Sides(28, 9)) << "to the ends of the longer side";
  EXPECT_EQ(cut_of(10, 30, {1.5F, 2.5F, 29.5F, 9.5F, 0, 1}), Sides(8, 29));
}

TEST(DetectDraw, AJpegFileHasWhatWasDrawn) {
  const std::vector<DrawnBox> boxes = {{4, 4, 36, 46, "", {200, 0, 0}, false}};
  const std::string file = data::encode_jpeg(with_boxes(black(3, 50, 40), boxes, Lettering()), 95);
  const data::Picture read = data::decode_picture(file);
  ASSERT_EQ(read.width, 40);
  EXPECT_GT(read.row(4)[3 * 20], 90);
  EXPECT_LT(read.row(25)[3 * 20], 60);
  EXPECT_ANY_THROW(data::encode_jpeg(black(1, 1, 70000), 90)) << "JPEG files are at most 65,500 pixels wide";
}

// Noise has no small file: the memory for it grows several times.
TEST(DetectDraw, ALargeJpegFileIsWhole) {
  data::Picture noise = black(1, 600, 700);
  Random values(1, Purpose::kSynthetic);
  for (std::size_t i = 0; i < noise.bytes(); ++i) noise.pixels[i] = static_cast<std::uint8_t>(values.below(256));
  const std::string file = data::encode_jpeg(noise, 100);
  EXPECT_GT(file.size(), 300'000U);
  const data::Picture read = data::decode_picture(file);
  ASSERT_EQ(read.width, 700);
  ASSERT_EQ(read.height, 600);
  for (std::int64_t y = 0; y < 600; y += 37) {
    for (std::int64_t x = 0; x < 700; x += 23) {
      ASSERT_NEAR(read.row(y)[x * read.channels], noise.row(y)[x], 4) << x << ", " << y;
    }
  }
}

TrueBox truth(double x1, double x2, std::int32_t label) {
  TrueBox box;
  box.x1 = x1, box.x2 = x2, box.y2 = 50, box.label = label;
  return box;
}

TEST(DetectConfusion, EveryBoxIsMatchedOnceWhateverItsClass) {
  BoxConfusion confusion(2, 0.25F);
  const std::vector<TrueBox> there = {truth(0, 50, 0), truth(100, 150, 1), truth(200, 250, 1)};
  const std::vector<Detection> found = {
      {0, 0, 49, 50, 0, 0.9F}, {1, 0, 50, 50, 1, 0.8F}, {100, 0, 150, 50, 0, 0.7F}, {200, 0, 250, 50, 1, 0.2F}};
  const MatchedBoxes matched = confusion.add(found, there);
  EXPECT_THAT(matched.right, ElementsAre(0));
  EXPECT_THAT(matched.wrong, ElementsAre(2, 1)) << "the second on the first object finds nothing";
  EXPECT_THAT(matched.missed, ElementsAre(2)) << "what was found there is too unlikely to count";
  EXPECT_THAT(confusion.counts(), ElementsAre(ElementsAre(1, 0, 0), ElementsAre(1, 0, 1), ElementsAre(0, 1, 0)));
}

TEST(DetectConfusion, OfEquallyWellPlacedOnesTheRightClassIsTaken) {
  BoxConfusion confusion(2, 0.25F);
  const std::vector<TrueBox> there = {truth(0, 50, 1)};
  const std::vector<Detection> found = {{0, 0, 50, 50, 0, 0.9F}, {0, 0, 50, 50, 1, 0.5F}};
  const MatchedBoxes matched = confusion.add(found, there);
  EXPECT_THAT(matched.right, ElementsAre(1));
  EXPECT_THAT(matched.wrong, ElementsAre(0));
  EXPECT_THAT(confusion.counts(), ElementsAre(ElementsAre(0, 0, 0), ElementsAre(0, 1, 0), ElementsAre(1, 0, 0)));
}

TEST(DetectConfusion, DifficultObjectsAndCrowdsExcuse) {
  BoxConfusion confusion(1, 0.25F);
  TrueBox difficult = truth(0, 50, 0), crowd = truth(100, 300, 0);
  difficult.is_difficult = true;
  crowd.is_crowd = true;
  const std::vector<TrueBox> there = {difficult, crowd};
  const std::vector<Detection> found = {
      {0, 0, 50, 50, 0, 0.9F}, {100, 0, 130, 50, 0, 0.9F}, {110, 0, 200, 50, 0, 0.5F}};
  const MatchedBoxes matched = confusion.add(found, there);
  EXPECT_TRUE(matched.wrong.empty());
  EXPECT_TRUE(matched.missed.empty());
  EXPECT_THAT(confusion.counts(), ElementsAre(ElementsAre(0, 0), ElementsAre(0, 0)));
}

TEST(DetectConfusion, AHalfOfTheUnionIsEnough) {
  BoxConfusion confusion(1, 0.25F);
  const std::vector<TrueBox> there = {truth(0, 50, 0)};
  EXPECT_THAT(confusion.add(std::vector<Detection>{{0, 0, 100, 50, 0, 0.9F}}, there).right, ElementsAre(0));
  EXPECT_TRUE(confusion.add(std::vector<Detection>{{0, 0, 101, 50, 0, 0.9F}}, there).right.empty());
}

/// One image, which comes from a file.
class OneImage : public data::Dataset {
 public:
  explicit OneImage(std::string file) : file_(std::move(file)) {}
  std::size_t size() const override { return 1; }
  data::ImageShape shape() const override { return {1, 20, 20}; }
  const std::vector<std::string>& classes() const override { return classes_; }
  data::TargetKind target_kind() const override { return data::TargetKind::kBoxes; }
  data::SampleTargets targets(std::size_t /*index*/) const override {
    data::LabelledBox box;
    box.x1 = 10, box.y1 = 5, box.x2 = 20, box.y2 = 15, box.label = 1, box.is_difficult = true;
    data::LabelledBox unknown = box;
    unknown.label = 0;
    return std::vector{unknown, box};
  }
  void read(std::size_t /*index*/, std::span<std::uint8_t> chw) const override {
    std::ranges::fill(chw, std::uint8_t{7});
  }
  std::string source(std::size_t /*index*/) const override { return file_; }

 private:
  const std::string file_;
  const std::vector<std::string> classes_ = {"dog", "cat"};
};

class DetectPhotos : public testing::Test {
 protected:
  /// A grey picture of 40 x 10.
  std::string picture() const {
    const std::string path = (folder_ / "a.pgm").string();
    std::ofstream(path, std::ios::binary) << "P5\n40 10\n255\n" << std::string(400, 'x');
    return path;
  }
  static data::Preprocessing steps(data::CropMode crop) {
    data::Preprocessing steps;
    steps.shape = {1, 20, 20};
    steps.crop = crop;
    return steps;
  }
  /// Those of the only sample, which was read.
  static std::unique_ptr<Photos> known(const std::string& file, std::vector<std::int32_t> labels) {
    auto photos = photos_of(std::make_shared<OneImage>(file), {0}, std::move(labels), steps(data::CropMode::kStretch));
    std::vector<std::uint8_t> values(400);
    photos->read(0, std::span(values));
    return photos;
  }
  test::TestFolder folder_;
};

TEST_F(DetectPhotos, AFileKnowsItsSizeOnceItIsRead) {
  const auto photos = photos_of(data::Pictures({picture()}), steps(data::CropMode::kLetterbox));
  EXPECT_THROW(photos->photo_size(0), Error);
  std::vector<std::uint8_t> values(400);
  photos->read(0, std::span(values));
  EXPECT_EQ(photos->photo_size(0).width, 40);
  const PhotoPlace place = photos->place(0);
  EXPECT_EQ(place.scale_x, 0.5F);
  EXPECT_EQ(place.scale_y, 0.5F);
  EXPECT_EQ(place.left, 0);
  EXPECT_EQ(place.top, 7);
  EXPECT_EQ(photos->picture(0).width, 40);
  EXPECT_FALSE(photos->truth(0).has_value());
}

TEST_F(DetectPhotos, KnownBoxesAreInThePhotosPixelsAndTheNetworksClasses) {
  const auto boxes = *known(picture(), {-1, 4})->truth(0);
  ASSERT_EQ(boxes.size(), 1U) << "the network doesn't know dogs";
  EXPECT_EQ(boxes[0].label, 4);
  EXPECT_TRUE(boxes[0].is_difficult);
  EXPECT_EQ(boxes[0].x1, 20);
  EXPECT_EQ(boxes[0].x2, 40);
  EXPECT_EQ(boxes[0].y1, 2.5);
  EXPECT_EQ(boxes[0].y2, 7.5);
}

/// Images of two rows and three columns whose values count on, of that many channels.
class Counting : public data::Dataset {
 public:
  explicit Counting(std::int64_t channels) : shape_{channels, 2, 3} {}
  std::size_t size() const override { return 5; }
  data::ImageShape shape() const override { return shape_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  data::TargetKind target_kind() const override { return data::TargetKind::kBoxes; }
  data::SampleTargets targets(std::size_t) const override { return std::vector<data::LabelledBox>(); }
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    for (std::size_t i = 0; i < chw.size(); ++i) chw[i] = static_cast<std::uint8_t>(100 * index + i);
  }
  std::string source(std::size_t index) const override { return "#" + std::to_string(index); }

 private:
  const data::ImageShape shape_;
  const std::vector<std::string> classes_ = {"dog"};
};

TEST_F(DetectPhotos, AreTheImagesThatAreNamedInGreyOrInColour) {
  for (const std::int64_t channels : {1, 3}) {
    data::Preprocessing steps;
    steps.shape = {channels, 2, 3};
    const auto photos = photos_of(std::make_shared<Counting>(channels), {2, 1}, {0}, steps);
    EXPECT_EQ(photos->size(), 2U);
    EXPECT_EQ(photos->name(1), "#1");
    const data::Picture picture = photos->picture(1);
    ASSERT_EQ(picture.channels, channels);
    ASSERT_EQ(picture.height, 2);
    ASSERT_EQ(picture.width, 3);
    for (std::int64_t c = 0; c < channels; ++c) EXPECT_EQ(picture.row(1)[2 * channels + c], 100 + 6 * c + 5) << c;
    std::vector<std::uint8_t> values(steps.shape.bytes());
    photos->read(1, std::span(values));
    EXPECT_EQ(values.back(), 100 + values.size() - 1);
    EXPECT_EQ(photos->photo_size(1).width, 3);
    EXPECT_EQ(photos->photo_size(1).height, 2);
    EXPECT_THROW(photos->photo_size(0), Error) << "which nobody read";
  }
}

TEST_F(DetectPhotos, ImagesThatWereMadeAreTheirOwnPhotos) {
  const auto photos = known("#3", {0, 1});
  EXPECT_EQ(photos->photo_size(0).height, 20);
  EXPECT_EQ(photos->picture(0).pixels[0], 7);
  EXPECT_EQ((*photos->truth(0))[1].x2, 20);
}

}  // namespace

}  // namespace evener::detection
