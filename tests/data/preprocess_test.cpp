// Preprocessing by every way to crop, and letterboxes.
#include "data/preprocess.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/paths.h"
#include "base/random.h"
#include "data/open/samples.h"

namespace evener::data {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

/// Every pixel tells where it is: red its column, green its row.
Picture map_of(std::int64_t height, std::int64_t width) {
  Picture picture = Picture::unset(3, height, width);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      std::uint8_t* pixel = picture.row(y) + 3 * x;
      pixel[0] = static_cast<std::uint8_t>(x);
      pixel[1] = static_cast<std::uint8_t>(y);
      pixel[2] = 255;
    }
  }
  return picture;
}

std::vector<std::uint8_t> prepared(Picture picture, const Preprocessing& steps) {
  std::vector<std::uint8_t> chw(steps.shape.bytes());
  preprocess(std::move(picture), steps, chw);
  return chw;
}

TEST(Preprocess, TheWholeOfAFractionIsNotRoundedDownByItsBinaryDigits) {
  const Preprocessing steps{.shape = {1, 28, 28}, .crop = CropMode::kCentre, .crop_fraction = 0.28};
  EXPECT_EQ(frame_of(100, 100, steps).scale_x, 1) << "28 is 28 % of 100, though 28 / 0.28 is 99.99999999999999";
}

TEST(Preprocess, CentreFillsAShapeThatIsNoSquare) {
  const auto chw = prepared(map_of(30, 30), {.shape = {3, 6, 12}, .crop = CropMode::kCentre});
  EXPECT_NEAR(chw[0], 0.75, 1);  // all columns
  EXPECT_NEAR(chw[11], 28.25, 1);
  EXPECT_NEAR(chw[72], 2.5 * 3 + 0.75, 1);  // the middle rows
  EXPECT_NEAR(chw[72 + 5 * 12], 2.5 * 8 + 0.75, 1);
}

Picture noise_of(std::int64_t height, std::int64_t width) {
  Picture picture = Picture::unset(3, height, width);
  Random random(5, Purpose::kSynthetic);
  for (std::size_t i = 0; i < picture.bytes(); ++i) picture.pixels[i] = static_cast<std::uint8_t>(random.below(256));
  return picture;
}

/// (C, height, width) of `picture`, of which row 0 and column 0 are `top` and `left`; black beside it.
std::vector<std::uint8_t> planes_of(const Picture& picture, std::int64_t top, std::int64_t left, std::int64_t height,
                                    std::int64_t width) {
  std::vector<std::uint8_t> planes;
  for (std::int64_t c = 0; c < picture.channels; ++c) {
    for (std::int64_t y = top; y < top + height; ++y) {
      for (std::int64_t x = left; x < left + width; ++x) {
        const bool is_on = y >= 0 && y < picture.height && x >= 0 && x < picture.width;
        planes.push_back(is_on ? picture.row(y)[x * picture.channels + c] : 0);
      }
    }
  }
  return planes;
}

// torchvision's Resize(shorter) makes the longer side int(shorter * long / short), and CenterCrop(side) begins at
// int(round((extent - side) / 2.0)), where Python rounds halves to even.
TEST(Preprocess, CentreIsTorchvisionsResizeAndCenterCropToThePixel) {
  const auto begin_of = [](std::int64_t extent, std::int64_t side) {
    const std::int64_t twice = extent - side, half = twice / 2;
    return twice % 2 == 0 || half % 2 == 0 ? half : half + 1;
  };
  const std::int64_t sides[][2] = {{28, 32}, {21, 24}, {10, 15}, {9, 12}, {16, 16}};  // of the crop, of the whole
  for (const auto& [side, shorter] : sides) {
    for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{37, 53},
                                        {53, 37},
                                        {40, 40},
                                        {21, 91},
                                        {91, 20},
                                        {9, 14},
                                        {32, 33},
                                        {28, 28}}) {
      for (const ResizeFilter filter : {ResizeFilter::kBilinear, ResizeFilter::kBicubic}) {
        const std::int64_t scaled_width = width <= height ? shorter : shorter * width / height;
        const std::int64_t scaled_height = width <= height ? shorter * height / width : shorter;
        const Picture scaled = resize(noise_of(height, width), scaled_height, scaled_width, filter);
        const Preprocessing steps{.shape = {3, side, side},
                                  .crop = CropMode::kCentre,
                                  .crop_fraction = static_cast<double>(side) / static_cast<double>(shorter),
                                  .filter = filter};
        EXPECT_EQ(prepared(noise_of(height, width), steps),
                  planes_of(scaled, begin_of(scaled_height, side), begin_of(scaled_width, side), side, side))
            << width << "x" << height << " to " << side << " of " << shorter;
      }
    }
  }
}

TEST(Preprocess, BorderIsTheScaledPictureInTheMiddleToThePixel) {
  struct Case {
    std::int64_t width, height, to_width, to_height;      // of the picture, of the input
    std::int64_t scaled_width, scaled_height, left, top;  // where the picture then is
  };
  // Halves of pixels are rounded up where sizes are scaled; of an odd number of black lines more are behind.
  for (const Case& c :
       {Case{60, 20, 30, 30, 30, 10, 0, 10}, Case{60, 21, 30, 30, 30, 11, 0, 9}, Case{21, 60, 30, 30, 11, 30, 9, 0},
        Case{7, 5, 30, 30, 30, 21, 0, 4}, Case{50, 50, 40, 24, 24, 24, 8, 0}, Case{40, 24, 40, 24, 40, 24, 0, 0},
        Case{1000, 1, 20, 20, 20, 1, 0, 9}}) {
    const Preprocessing steps{.shape = {3, c.to_height, c.to_width}, .crop = CropMode::kLetterbox};
    const Picture scaled = resize(noise_of(c.height, c.width), c.scaled_height, c.scaled_width);
    EXPECT_EQ(prepared(noise_of(c.height, c.width), steps), planes_of(scaled, -c.top, -c.left, c.to_height, c.to_width))
        << c.width << "x" << c.height << " to " << c.to_width << "x" << c.to_height;
  }
}

// What torchvision itself makes of pictures of noise (tests/golden/make_crop_golden.py).
TEST(Preprocess, CropsAreTorchvisionsToThePixel) {
  std::ifstream file(evener::test::source_folder() / "tests/golden/crops.json");
  const nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_EQ(cases.size(), 192U);
  for (const nlohmann::json& one : cases) {
    const std::int64_t width = one["picture"][0], height = one["picture"][1];
    Random random(7, Purpose::kSynthetic, static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(height));
    Picture picture = Picture::unset(3, height, width);
    for (std::size_t i = 0; i < picture.bytes(); ++i) picture.pixels[i] = static_cast<std::uint8_t>(random.below(256));
    Preprocessing steps{.shape = {3, one["input"][1], one["input"][0]},
                        .crop = parse_crop_mode(one["crop"]),
                        .filter = parse_resize_filter(one["filter"])};
    if (one.contains("shorter")) steps.crop_fraction = one["input"][0].get<double>() / one["shorter"].get<double>();
    const PictureFrame frame = frame_of(width, height, steps);
    EXPECT_NEAR(frame.scale_x * static_cast<double>(width), one["scaled"][0].get<double>(), 1e-9) << one;
    EXPECT_NEAR(frame.scale_y * static_cast<double>(height), one["scaled"][1].get<double>(), 1e-9) << one;
    const auto chw = prepared(std::move(picture), steps);
    const auto first = one["first"].get<std::vector<std::uint8_t>>();
    EXPECT_THAT(std::vector<std::uint8_t>(chw.begin(), chw.begin() + std::ssize(first)), ElementsAreArray(first))
        << one;
    EXPECT_EQ(crc32(0, chw.data(), static_cast<uInt>(chw.size())), one["crc32"].get<std::uint32_t>()) << one;
  }
}

TEST(Preprocess, CentreMakesOnlyTheMiddleOfAThinPicture) {
  // Scaled as a whole these would have 13 GB. Of a line of 65500 pixels less than one is seen, black or white.
  for (const bool is_high : {true, false}) {
    Picture line = is_high ? Picture::unset(3, 65500, 1) : Picture::unset(3, 1, 65500);
    for (std::size_t i = 0; i < line.bytes(); ++i) line.pixels[i] = i / 3 < 32750 ? 0 : 255;
    const auto chw =
        prepared(std::move(line), {.shape = {3, 224, 224}, .crop = CropMode::kCentre, .crop_fraction = 0.875});
    EXPECT_LT(chw[is_high ? 0 : 112 * 224], 128) << "the upper or left end of the middle";
    EXPECT_GT(chw[is_high ? 223 * 224 : 112 * 224 + 223], 128) << "the other end of it";
  }
}

TEST(Preprocess, BorderIsBlackAndKeepsTheWholePicture) {
  const auto chw = prepared(map_of(10, 20), {.shape = {3, 20, 20}, .crop = CropMode::kLetterbox});
  const std::uint8_t* blue = chw.data() + 2 * 400;
  EXPECT_THAT(std::vector<std::uint8_t>(blue, blue + 5 * 20), Each(0));
  EXPECT_THAT(std::vector<std::uint8_t>(blue + 5 * 20, blue + 15 * 20), Each(255));
  EXPECT_THAT(std::vector<std::uint8_t>(blue + 15 * 20, blue + 400), Each(0));
}

TEST(Preprocess, SquashSeesEverything) {
  const auto chw = prepared(map_of(64, 128), {.shape = {3, 16, 16}});
  EXPECT_NEAR(chw[0], 3.5, 1);
  EXPECT_NEAR(chw[15], 123.5, 1);
  EXPECT_NEAR(chw[256 + 15 * 16], 61.5, 1);
}

TEST(Preprocess, ColoursBecomeGrey) {
  EXPECT_THAT(prepared(map_of(1, 1), {.shape = {1, 2, 2}}), Each(29));  // 0.114 * 255
}

TEST(Preprocess, WhatIsSeenIsTold) {
  Preprocessing steps{.shape = {3, 6, 12}};
  const auto told = [&](CropMode crop) {
    steps.crop = crop;
    return seen_text(steps);
  };
  EXPECT_EQ(told(CropMode::kStretch), "whole images, stretched to 12x6");
  EXPECT_EQ(told(CropMode::kLetterbox), "whole images, with black beside them to fill 12x6");
  EXPECT_EQ(told(CropMode::kYolo), "whole images, with grey 114 beside them to fill 12x6");
  EXPECT_EQ(told(CropMode::kYolox), "whole images in the upper left corner of 12x6, on grey 114");
  EXPECT_EQ(told(CropMode::kInsightface), "whole images in the upper left corner of 12x6, on black");
  EXPECT_EQ(told(CropMode::kCentre), "the middle of images, of their shorter side all, resized to 12x6");
  steps.crop_fraction = 0.875;
  EXPECT_EQ(told(CropMode::kCentre), "the middle 87.5 % of each image, resized to 12x6");
  steps.keeps_fitting = true;
  EXPECT_EQ(told(CropMode::kCentre), "the middle 87.5 % of each image, resized to 12x6 (images of 12x6 whole)");
}

TEST(Preprocess, NamesAreReadAndNearOnesOffered) {
  for (const CropMode mode : {CropMode::kStretch, CropMode::kLetterbox, CropMode::kCentre}) {
    EXPECT_EQ(parse_crop_mode(crop_mode_name(mode)), mode);
  }
  EXPECT_EQ(find_crop_mode("fit"), std::nullopt);
  EXPECT_EQ(parse_resize_filter("bicubic"), ResizeFilter::kBicubic);
  try {
    parse_crop_mode("letterbx");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'letterbox'"));
  }
}

TEST(Samples, RandomOnesAreKeyedByTheirNumber) {
  const auto samples = random_samples(3, {3, 5, 7}, 1), again = random_samples(3, {3, 5, 7}, 1);
  std::vector<std::uint8_t> first(105), second(105), repeated(105);
  samples->read(0, std::span(first));
  samples->read(1, std::span(second));
  again->read(1, std::span(repeated));
  EXPECT_NE(first, second);
  EXPECT_EQ(second, repeated);
  random_samples(3, {3, 5, 7}, 2)->read(1, std::span(repeated));
  EXPECT_NE(second, repeated) << "another seed gives other images";
  EXPECT_GT(std::ranges::count_if(second, [](std::uint8_t value) { return value != 0; }), 95);
  EXPECT_NE(second.back(), 0) << "the last byte, which is no part of eight, is random too";
  std::vector<float> floats(105);
  EXPECT_THROW(samples->read(0, std::span(floats)), Error);
}

TEST(PreprocessFitting, APictureOfTheNetworksSizeIsShownWhole) {
  const auto shown = [](bool keeps_fitting) {
    Picture picture = Picture::unset(1, 8, 8);
    for (std::size_t i = 0; i < 64; ++i) picture.pixels[i] = static_cast<std::uint8_t>(4 * i);
    Preprocessing steps;
    steps.shape = {1, 8, 8};
    steps.crop = CropMode::kCentre;
    steps.crop_fraction = 0.875;
    steps.keeps_fitting = keeps_fitting;
    std::vector<std::uint8_t> values(64);
    preprocess(std::move(picture), steps, values);
    return values;
  };
  std::vector<std::uint8_t> whole;
  for (int i = 0; i < 64; ++i) whole.push_back(static_cast<std::uint8_t>(4 * i));
  EXPECT_EQ(shown(true), whole);
  EXPECT_NE(shown(false), whole);
}

constexpr Letterbox kYolo{.grey = 114, .rounding = LetterboxRounding::kNearestEven, .one_scale = true};
constexpr Letterbox kYolox{.upper_left = true, .grey = 114, .rounding = LetterboxRounding::kDown, .one_scale = true};
constexpr Letterbox kInsightface{.upper_left = true, .rounding = LetterboxRounding::kDownFromRatio, .one_scale = true};

/// {width, height, left, top} of a picture of that size on a square.
std::vector<std::int64_t> layout(std::int64_t width, std::int64_t height, std::int64_t side, const Letterbox& box) {
  const PictureLayout layout = letterbox_layout(width, height, {3, side, side}, box);
  return {layout.width, layout.height, layout.left, layout.top};
}

TEST(Letterbox, OfUltralyticsRoundsToTheNearestAndLiesInTheMiddle) {
  EXPECT_THAT(layout(500, 375, 416, kYolo), ElementsAre(416, 312, 0, 52));
  EXPECT_THAT(layout(333, 500, 416, kYolo), ElementsAre(277, 416, 69, 0)) << "139 free: the smaller half";
  EXPECT_THAT(layout(17, 1000, 640, kYolo), ElementsAre(11, 640, 314, 0));
  EXPECT_THAT(layout(640, 427, 416, kYolo), ElementsAre(416, 278, 0, 69));
  EXPECT_THAT(layout(97, 31, 416, kYolo), ElementsAre(416, 133, 0, 141)) << "small pictures grow";
}

TEST(Letterbox, OfYoloxRoundsDownInTheUpperLeftCorner) {
  EXPECT_THAT(layout(17, 1000, 640, kYolox), ElementsAre(10, 640, 0, 0));
  EXPECT_THAT(layout(97, 31, 416, kYolox), ElementsAre(416, 132, 0, 0));
  EXPECT_THAT(layout(640, 427, 416, kYolox), ElementsAre(416, 277, 0, 0));
}

TEST(Letterbox, OfInsightFaceIsComputedFromTheRatioOfSides) {
  EXPECT_THAT(layout(97, 31, 640, kInsightface), ElementsAre(640, 204, 0, 0));
  EXPECT_THAT(layout(17, 1000, 640, kInsightface), ElementsAre(10, 640, 0, 0));
  EXPECT_THAT(layout(303, 300, 640, kInsightface), ElementsAre(640, 633, 0, 0));
  EXPECT_THAT(layout(303, 300, 640, kYolox), ElementsAre(639, 633, 0, 0)) << "303 * (640 / 303) is less than 640";
}

TEST(Letterbox, OursHasBlackOnBothSidesAndAScaleForEach) {
  EXPECT_THAT(layout(97, 31, 416, {}), ElementsAre(416, 133, 0, 141));
  EXPECT_THAT(layout(1, 1000, 8, {}), ElementsAre(1, 8, 3, 0)) << "a side has a pixel at least";
  const PictureLayout ours = letterbox_layout(97, 31, {3, 416, 416}, {});
  EXPECT_DOUBLE_EQ(ours.scale_y, 133.0 / 31);
  const PictureLayout theirs = letterbox_layout(97, 31, {3, 416, 416}, kYolox);
  EXPECT_DOUBLE_EQ(theirs.scale_y, 416.0 / 97);
  EXPECT_DOUBLE_EQ(theirs.scale_x, 416.0 / 97);
}

TEST(Letterbox, HasItsColourBesideThePicture) {
  for (const auto& [mode, first, last] :
       {std::tuple(CropMode::kYolo, 114, 114), {CropMode::kYolox, 200, 114}, {CropMode::kInsightface, 200, 0}}) {
    SCOPED_TRACE(crop_mode_name(mode));
    EXPECT_EQ(parse_crop_mode(crop_mode_name(mode)), mode);
    Picture picture = Picture::unset(3, 4, 8);
    std::fill_n(picture.pixels.get(), picture.bytes(), std::uint8_t{200});
    std::vector<std::uint8_t> chw(3 * 16 * 16);
    preprocess(std::move(picture), {.shape = {3, 16, 16}, .crop = mode, .filter = usual_filter(mode)}, chw);
    EXPECT_EQ(chw.front(), first);
    EXPECT_EQ(chw.back(), last);
    EXPECT_EQ(std::ranges::count(chw, 200), 3 * 16 * 8);
  }
}

}  // namespace
}  // namespace evener::data
