// Generated portraits: a person is the same on all of its own, differs from the others, and depends on the seed.
#include "data/sources/portraits.h"

#include <gmock/gmock.h>

#include <cmath>

#include "data/codecs/colour.h"
#include "data/open/open_data.h"
#include "data/resize.h"

namespace evener::data {
namespace {

using Portrait = std::vector<std::uint8_t>;

constexpr std::size_t kPersons = 12;

Portrait portrait(std::int32_t person, std::uint64_t seed, std::uint64_t moment, const ImageShape& shape) {
  Portrait pixels(shape.bytes());
  draw_portrait(person, seed, Random(7, Purpose::kSynthetic, moment), shape, pixels);
  return pixels;
}

double mean_difference(const Portrait& one, const Portrait& other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += std::abs(one[i] - other[i]);
  return sum / static_cast<double>(one.size());
}

DataOptions portraits(const std::string& location, std::uint64_t seed = 1) {
  DataOptions options;
  options.location = location;
  options.seed = seed;
  return options;
}

TEST(Portraits, AreOfTwelvePersonsByTurns) {
  const OpenedData opened = open_data(portraits("synth:portraits"));
  const Dataset& data = *opened.dataset;
  EXPECT_EQ(data.size(), 600u);
  EXPECT_EQ(data.shape(), (ImageShape{3, 160, 160}));
  ASSERT_EQ(data.classes().size(), kPersons);
  EXPECT_EQ(data.classes().front(), "person-01");
  EXPECT_EQ(data.classes().back(), "person-12");
  EXPECT_EQ(label_of(data, 27), 3);
}

TEST(Portraits, AreKeyedBySeedAndSample) {
  const auto drawn = [](std::uint64_t seed, std::size_t index) {
    const auto data = open_data(portraits("synth:portraits:24", seed)).dataset;
    Portrait pixels(data->shape().bytes());
    data->read(index, pixels);
    return pixels;
  };
  EXPECT_EQ(drawn(1, 5), drawn(1, 5));
  EXPECT_NE(drawn(1, 5), drawn(2, 5));
  EXPECT_NE(drawn(1, 5), drawn(1, 17)) << "of the same person";
}

// On the same background, in the same light and place.
TEST(Portraits, HaveOtherPersonsForAnotherSeed) {
  const ImageShape shape{3, 80, 80};
  for (std::int32_t person = 0; person < static_cast<std::int32_t>(kPersons); ++person) {
    const Portrait one = portrait(person, 1, 3, shape), other = portrait(person, 2, 3, shape);
    EXPECT_EQ(one[0], other[0]) << "the background is the moment's";
    EXPECT_GT(mean_difference(one, other), 4) << person;
    EXPECT_GT(mean_difference(one, portrait((person + 1) % 12, 1, 3, shape)), 4) << person;
  }
}

/// The mean colour around the middle of a person's portraits, which is skin and hair more than anything else.
std::array<double, 3> mean_colour(std::int32_t person, std::uint64_t first, std::uint64_t count) {
  constexpr std::int64_t kExtent = 40;
  std::array<double, 3> sum{};
  for (std::uint64_t moment = first; moment < first + count; ++moment) {
    const Portrait pixels = portrait(person, 1, moment, {3, kExtent, kExtent});
    for (std::int64_t y = 8; y < 28; ++y) {
      for (std::int64_t x = 12; x < 28; ++x) {
        for (std::int64_t c = 0; c < 3; ++c) {
          const auto at = static_cast<std::size_t>((c * kExtent + y) * kExtent + x);
          sum[static_cast<std::size_t>(c)] += pixels[at] / (20.0 * 16 * static_cast<double>(count));
        }
      }
    }
  }
  return sum;
}

TEST(Portraits, ShowThePersonAgain) {
  constexpr std::uint64_t kMoments = 40;
  std::array<std::array<double, 3>, kPersons> some{}, others{};
  for (std::size_t i = 0; i < kPersons; ++i) {
    const auto person = static_cast<std::int32_t>(i);
    some[i] = mean_colour(person, 1000 * i, kMoments), others[i] = mean_colour(person, 1000 * i + 500, kMoments);
  }
  double same = 0, different = 0;
  for (std::size_t i = 0; i < kPersons; ++i) {
    for (std::size_t k = 0; k < kPersons; ++k) {
      double distance = 0;
      for (std::size_t c = 0; c < 3; ++c) distance += std::abs(some[i][c] - others[k][c]);
      (i == k ? same : different) += distance / (i == k ? kPersons : kPersons * (kPersons - 1));
    }
  }
  EXPECT_LT(same, different / 3);
}

TEST(Portraits, HaveTheLumaOfTheirColoursInGrey) {
  const Portrait grey = portrait(4, 1, 9, {1, 48, 64}), colours = portrait(4, 1, 9, {3, 48, 64});
  for (std::size_t i = 0; i < grey.size(); ++i) {
    EXPECT_EQ(grey[i], luma(colours[i], colours[grey.size() + i], colours[2 * grey.size() + i])) << i;
  }
}

TEST(Portraits, AreTheSamePictureAtEverySize) {
  constexpr std::int64_t kLarge = 160, kSmall = 40;
  for (std::int32_t person = 0; person < 6; ++person) {
    const Portrait full = portrait(person, 1, 2, {1, kLarge, kLarge});
    Picture picture = Picture::unset(1, kLarge, kLarge);
    std::copy(full.begin(), full.end(), picture.pixels.get());
    const Picture resized = resize(std::move(picture), kSmall, kSmall);
    const Portrait expected(resized.pixels.get(), resized.pixels.get() + kSmall * kSmall);
    EXPECT_LT(mean_difference(portrait(person, 1, 2, {1, kSmall, kSmall}), expected), 6) << "noise included";
    EXPECT_GT(mean_difference(portrait(person, 1, 8, {1, kSmall, kSmall}), expected), 12) << "another moment";
  }
}

// Two persons at the same moment differ where the head is, whose size follows the shorter side.
TEST(Portraits, KeepTheHeadOnPicturesOfAnyShape) {
  for (const auto& [height, width] : {std::pair(48, 64), {64, 48}, {30, 200}, {200, 31}}) {
    const ImageShape shape{3, height, width};
    const Portrait one = portrait(0, 1, 1, shape), other = portrait(1, 1, 1, shape);
    int differing = 0;
    for (int i = 0; i < height * width; ++i) {
      differing += one[static_cast<std::size_t>(i)] != other[static_cast<std::size_t>(i)];
    }
    const int square = std::min(height, width) * std::min(height, width);
    EXPECT_GT(differing, square / 6) << width << 'x' << height;
    EXPECT_LT(differing, square) << width << 'x' << height;
  }
  EXPECT_EQ(portrait(0, 1, 1, {3, 1, 1}).size(), 3u);
}

}  // namespace
}  // namespace evener::data
