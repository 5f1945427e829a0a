// Anchors of detectors, by hand after torchvision's DefaultBoxGenerator.
#include "network/anchors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "network/zoo.h"

namespace evener::network {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

TEST(Anchors, ScalesAreEvenAndEndWithOne) {
  const std::vector<double> expected = {0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1};  // torchvision's SSDLite
  EXPECT_THAT(anchor_scales(6, 0.2, 0.95), Pointwise(DoubleNear(1e-12), expected));
  EXPECT_THAT(anchor_scales(2, 0.1, 0.1), ElementsAre(0.1, 0.1, 1));
  EXPECT_THAT(anchor_scales(1, 0.1, 0.3), ElementsAre(0.1, 0.3));
}

TEST(Anchors, ScalesThatCannotBeAreRefused) {
  EXPECT_THROW(anchor_scales(0, 0.2, 0.9), Error);
  EXPECT_THROW(anchor_scales(3, 0, 0.9), Error);
  EXPECT_THROW(anchor_scales(3, 0.9, 0.2), Error);
  EXPECT_THROW(anchor_scales(3, 0.2, std::numeric_limits<double>::infinity()), Error);
}

void expect_extents(const Anchor& anchor, double w, double h) {
  EXPECT_NEAR(anchor.w, w, 1e-6);
  EXPECT_NEAR(anchor.h, h, 1e-6);
}

TEST(Anchors, OfACellAreSquaresAndRectanglesOfItsScale) {
  const std::vector<Anchor> anchors =
      default_boxes({{.rows = 1, .columns = 2, .scale = 0.4, .next_scale = 0.9, .aspect_ratios = {4}}});
  ASSERT_EQ(anchors.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_FLOAT_EQ(anchors[i].cx, i < 4 ? 0.25F : 0.75F);
    EXPECT_FLOAT_EQ(anchors[i].cy, 0.5F);
  }
  expect_extents(anchors[0], 0.4, 0.4);
  expect_extents(anchors[1], 0.6, 0.6);  // the geometric mean
  expect_extents(anchors[2], 0.8, 0.2);
  expect_extents(anchors[3], 0.2, 0.8);
}

// The last level of a network is the one that the scale after all levels belongs to.
TEST(Anchors, OfADetectorsLastLevelAreNearlyTheWholeImage) {
  for (const char* name : {"ssdlite320_mobilenet_v3_large", "ssdlite_mobilenet_v2"}) {
    const Network network = build(name, {.input = Shape{3, 320, 320}, .classes = 3});
    const std::vector<Anchor>& anchors = network.anchors();
    ASSERT_GT(anchors.size(), 6U) << name;
    const std::size_t last = anchors.size() - 6;  // one cell
    expect_extents(anchors[last], 0.95, 0.95);
    expect_extents(anchors[last + 1], std::sqrt(0.95), std::sqrt(0.95));
    expect_extents(anchors[last + 2], 1, 0.95 / std::sqrt(2));  // clipped to the image
  }
}

}  // namespace
}  // namespace evener::network
