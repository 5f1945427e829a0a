// Generated data: the same for the same seed, varied, of the shape asked for, and not trivially told apart.
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "data/boxes.h"
#include "data/data_helpers.h"
#include "data/open/open_data.h"
#include "data/resize.h"
#include "data/sources/drawings.h"
#include "data/sources/shapes.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::HasSubstr;
using Pixels = std::vector<std::uint8_t>;

std::shared_ptr<const Dataset> open(const std::string& location, int width = 0, int height = 0, std::uint64_t seed = 1,
                                    int channels = 1) {
  DataOptions options;
  options.location = location;
  if (width > 0) options.width = width;
  if (height > 0) options.height = height;
  options.channels = channels;
  options.seed = seed;
  options.cache_limit_bytes = 1 << 20;
  return open_data(options).dataset;
}

Pixels sample(const Dataset& dataset, std::size_t index) {
  Pixels pixels(dataset.shape().bytes());
  dataset.read(index, pixels);
  return pixels;
}

TEST(Synthetic, HasTheSizesOfItsModels) {
  const auto masks = open("synth:masks"), digits = open("synth:digits:50");
  EXPECT_EQ(masks->size(), 9000u);
  EXPECT_EQ(masks->shape(), (ImageShape{1, 445, 590}));
  EXPECT_EQ(masks->classes().size(), 9u);
  EXPECT_EQ(digits->size(), 50u);
  EXPECT_EQ(digits->shape(), (ImageShape{1, 28, 28}));
  EXPECT_EQ(digits->classes().size(), 10u);
  EXPECT_EQ(open("synth:digits")->size(), 12000u);
  EXPECT_EQ(label_of(*digits, 23), 3);
}

TEST(Synthetic, IsKeyedBySeedAndSample) {
  for (const char* location : {"synth:masks:90", "synth:digits:90"}) {
    const auto one = open(location, 60, 45), same = open(location, 60, 45), other = open(location, 60, 45, 2);
    EXPECT_EQ(sample(*one, 13), sample(*same, 13));
    EXPECT_EQ(sample(*one, 13), sample(*one, 13)) << "the second time from memory";
    EXPECT_NE(sample(*one, 13), sample(*other, 13));
    EXPECT_NE(sample(*one, 0), sample(*one, one->classes().size()));  // of the same class
  }
}

TEST(Synthetic, DrawsTheSameFishAtEverySize) {
  const auto large = open("synth:masks:90"), small = open("synth:masks:90", 118, 89);
  for (std::size_t i = 0; i < 9; ++i) {
    const Pixels drawn = sample(*small, i), full = sample(*large, i);
    Picture picture = Picture::unset(1, 445, 590);
    std::copy(full.begin(), full.end(), picture.pixels.get());
    const Picture resized = resize(std::move(picture), 89, 118);
    double difference = 0, white = 0;
    for (std::size_t p = 0; p < drawn.size(); ++p) {
      difference += std::abs(drawn[p] - resized.pixels[p]);
      white += drawn[p];
    }
    EXPECT_LT(difference, 0.1 * white);  // the resizing filter is a little wider than a pixel's area
    EXPECT_GT(white / 255, 0.02 * 118 * 89);
    EXPECT_LT(white / 255, 0.5 * 118 * 89);
  }
}

TEST(Synthetic, KeepsFishInsideThePicture) {
  const auto masks = open("synth:masks:180", 118, 89);
  for (std::size_t i = 0; i < 180; ++i) {
    const Pixels pixels = sample(*masks, i);
    int border = 0;
    for (int x = 0; x < 118; ++x) border += (pixels[x] > 0) + (pixels[88 * 118 + x] > 0);
    for (int y = 0; y < 89; ++y) border += (pixels[y * 118] > 0) + (pixels[y * 118 + 117] > 0);
    EXPECT_LT(border, 30) << i;
  }
}

/// The share of 450 new samples that the nearest mean of 900 others, a linear classifier, gets right.
double nearest_mean_accuracy(const std::string& kind, int width, int height) {
  const auto data = open("synth:" + kind + ":1350", width, height);
  const std::size_t classes = data->classes().size(), length = data->shape().bytes();
  std::vector<std::vector<double>> means(classes, std::vector<double>(length));
  for (std::size_t i = 0; i < 900; ++i) {
    const Pixels pixels = sample(*data, i);
    for (std::size_t p = 0; p < length; ++p)
      means[i % classes][p] += pixels[p] / (900.0 / static_cast<double>(classes));
  }
  int right = 0;
  for (std::size_t i = 900; i < 1350; ++i) {
    const Pixels pixels = sample(*data, i);
    std::vector<double> distance(classes);
    for (std::size_t c = 0; c < classes; ++c) {
      for (std::size_t p = 0; p < length; ++p) distance[c] += std::pow(pixels[p] - means[c][p], 2);
    }
    const auto nearest = std::min_element(distance.begin(), distance.end()) - distance.begin();
    right += nearest == static_cast<std::ptrdiff_t>(i % classes);
  }
  return right / 450.0;
}

TEST(Synthetic, IsNotTriviallyToldApart) {
  const double masks = nearest_mean_accuracy("masks", 59, 45), digits = nearest_mean_accuracy("digits", 28, 28);
  EXPECT_GT(masks, 0.15);  // chance is 0.11
  EXPECT_LT(masks, 0.60);
  EXPECT_GT(digits, 0.50);
  EXPECT_LT(digits, 0.95);
}

TEST(Synthetic, RepeatsGreyForThreeChannels) {
  const auto grey = open("synth:digits:20"), colour = open("synth:digits:20", 0, 0, 1, 3);
  const Pixels one = sample(*grey, 5), three = sample(*colour, 5);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_TRUE(std::equal(one.begin(), one.end(), three.begin() + c * one.size()));
}

TEST(Synthetic, NamesTheNearestKindAndRefusesOddCounts) {
  EXPECT_THAT(error_of([] { open("synth:mask"); }), HasSubstr("did you mean 'masks'"));
  for (const char* location : {"synth:masks:", "synth:masks:8", "synth:masks:x", "synth:masks:90x", "synth:masks:-9",
                               "synth:digits:99999999999999999999"}) {
    EXPECT_THROW(open(location), UsageError) << location;
  }
}

std::vector<LabelledBox> boxes_on(const Dataset& dataset, std::size_t index) {
  return std::get<std::vector<LabelledBox>>(dataset.targets(index));
}

TEST(SyntheticShapes, HaveBoxesAndColours) {
  const auto shapes = open("synth:shapes:300", 0, 0, 1, 3);
  EXPECT_EQ(shapes->shape(), (ImageShape{3, 128, 128}));
  EXPECT_EQ(shapes->target_kind(), TargetKind::kBoxes);
  EXPECT_THAT(shapes->classes(), ::testing::ElementsAre("circle", "square", "triangle"));
  std::vector<int> per_class(3);
  int empty = 0, truncated = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    const auto boxes = boxes_on(*shapes, i);
    EXPECT_LE(boxes.size(), 6u);
    empty += boxes.empty();
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      const LabelledBox& box = boxes[k];
      ++per_class.at(static_cast<std::size_t>(box.label));
      truncated += box.is_truncated;
      EXPECT_GE(box.x1, 0);
      EXPECT_GE(box.y1, 0);
      EXPECT_LE(box.x2, 128);
      EXPECT_LE(box.y2, 128);
      EXPECT_GT(box.x2 - box.x1, 8);
      EXPECT_GT(box.y2 - box.y1, 8);
      for (std::size_t other = 0; other < k; ++other) EXPECT_LE(intersection_over_union(box, boxes[other]), 0.2F);
    }
  }
  for (const int count : per_class) EXPECT_GT(count, 200);
  EXPECT_GT(empty, 2);
  EXPECT_LT(empty, 30);
  EXPECT_GT(truncated, 50);
}

TEST(SyntheticShapes, HaveExactBoxes) {
  for (std::uint64_t i = 0; i < 50; ++i) {
    for (const PlacedShape& placed : lay_out_shapes(Random(i, Purpose::kSynthetic), 150, 90)) {
      Pixels coverage(150 * 90);
      fill_polygon(placed.outline, 150, 90, coverage);
      float x1 = 150, y1 = 90, x2 = 0, y2 = 0;
      for (std::size_t p = 0; p < coverage.size(); ++p) {
        if (coverage[p] == 0) continue;
        const auto x = static_cast<float>(p % 150), y = static_cast<float>(p / 150);
        x1 = std::min(x1, x), x2 = std::max(x2, x + 1), y1 = std::min(y1, y), y2 = std::max(y2, y + 1);
      }
      // Lit are the pixels that the box touches; of the outermost one only a hundredth may be covered, and that is 2.
      EXPECT_NEAR(placed.box.x1, x1 + 0.5, 1);
      EXPECT_NEAR(placed.box.x2, x2 - 0.5, 1);
      EXPECT_NEAR(placed.box.y1, y1 + 0.5, 1);
      EXPECT_NEAR(placed.box.y2, y2 - 0.5, 1);
      const bool is_cut = std::ranges::any_of(placed.outline, [](const Point& point) {
        return point.x < 0 || point.y < 0 || point.x > 150 || point.y > 90;
      });
      EXPECT_EQ(placed.box.is_truncated, is_cut);
    }
  }
}

TEST(SyntheticShapes, AreKeyedBySeedAndSample) {
  const auto one = open("synth:shapes:20", 0, 0, 1, 3), same = open("synth:shapes:20", 0, 0, 1, 3);
  const auto other = open("synth:shapes:20", 0, 0, 2, 3), half = open("synth:shapes:20", 64, 64, 1, 3);
  EXPECT_EQ(sample(*one, 7), sample(*same, 7));
  EXPECT_NE(sample(*one, 7), sample(*other, 7));
  EXPECT_NE(sample(*one, 7), sample(*one, 8));
  for (std::size_t i = 0; i < 20; ++i) {
    const auto boxes = boxes_on(*one, i), halves = boxes_on(*half, i);
    EXPECT_EQ(boxes, boxes_on(*same, i));
    ASSERT_EQ(boxes.size(), halves.size()) << "the same picture at another size";
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      EXPECT_NEAR(boxes[k].x1 / 2, halves[k].x1, 1e-4);
      EXPECT_NEAR(boxes[k].y2 / 2, halves[k].y2, 1e-4);
      EXPECT_EQ(boxes[k].label, halves[k].label);
    }
  }
}

TEST(SyntheticShapes, StandOutFromTheBackgroundInGreyToo) {
  const auto grey = open("synth:shapes:30", 0, 0, 1, 1);
  int seen = 0;
  for (std::size_t i = 0; i < 30; ++i) {
    const Pixels pixels = sample(*grey, i);
    for (const LabelledBox& box : boxes_on(*grey, i)) {
      const auto column = static_cast<std::size_t>((box.x1 + box.x2) / 2), row = static_cast<std::size_t>(box.y2) - 3;
      const auto above = static_cast<std::size_t>(std::max(box.y1 - 4, 0.0F));
      seen += std::abs(pixels[row * 128 + column] - pixels[above * 128 + column]) > 15;
    }
  }
  EXPECT_GT(seen, 40);
}

TEST(SyntheticShapes, AreDividedWithoutRegardToClasses) {
  DataOptions options;
  options.location = "synth:shapes:200";
  const OpenedData opened = open_data(options);
  EXPECT_EQ(opened.split.train.size(), 170u);
  EXPECT_EQ(opened.split.val.size(), 4u);
  EXPECT_EQ(opened.split.test.size(), 26u);
  EXPECT_EQ(opened.dataset->shape().channels, 3);
}

TEST(Polygon, CoversExactlyItsArea) {
  // A square of 2.5 x 1.5 pixels at (1.25, 1).
  const std::vector<Point> square{{1.25, 1}, {3.75, 1}, {3.75, 2.5}, {1.25, 2.5}};
  Pixels pixels(5 * 4);
  fill_polygon(square, 5, 4, pixels);
  EXPECT_EQ(pixels, (Pixels{0, 0,   0,   0,   0,  //
                            0, 191, 255, 191, 0,  //
                            0, 96,  128, 96,  0,  //
                            0, 0,   0,   0,   0}));
  // A triangle seen from either side covers half of its square.
  for (const std::vector<Point>& triangle :
       {std::vector<Point>{{0, 0}, {40, 0}, {0, 40}}, std::vector<Point>{{0, 0}, {0, 40}, {40, 0}}}) {
    Pixels half(40 * 40);
    fill_polygon(triangle, 40, 40, half);
    EXPECT_NEAR(std::accumulate(half.begin(), half.end(), 0.0) / 255, 800, 1);
  }
}

TEST(Polygon, IsClippedAtThePicture) {
  const std::vector<Point> large{{-50, -50}, {90, -50}, {90, 90}, {-50, 90}};
  Pixels pixels(6 * 7);
  fill_polygon(large, 6, 7, pixels);
  EXPECT_THAT(pixels, ::testing::Each(255));
  const std::vector<Point> outside{{-50, 1}, {-20, 1}, {-20, 5}, {-50, 5}};
  fill_polygon(outside, 6, 7, pixels);
  EXPECT_THAT(pixels, ::testing::Each(0));
}

}  // namespace
}  // namespace evener::data
