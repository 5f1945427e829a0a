// Images that are in two parts of the data.
#include "data/copies.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/random.h"
#include "data/data_helpers.h"

namespace evener::data {
namespace {

/// Pictures of random blots, some of which are another one changed a little.
class Blots : public test::CountingDataset {
 public:
  Blots() : CountingDataset(8, {3, 80, 96}) {}

  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    const std::size_t of = index == 6 ? 0 : index == 7 ? 1 : index;  // 6 is 0, and 7 nearly 1
    Random random(5, Purpose::kSynthetic, of);
    const double x = random.uniform() * 6, y = random.uniform() * 6, turn = random.uniform() * 6;
    for (std::size_t i = 0; i < chw.size(); ++i) {
      const auto row = static_cast<double>(i / 96 % 80) / 80, column = static_cast<double>(i % 96) / 96;
      const double value = 120 + 100 * std::sin(x * row * 3 + turn) * std::cos(y * column * 3 + turn);
      chw[i] = static_cast<std::uint8_t>(value + (index == 7 && i % 2 == 0 ? 2 : 0));
    }
  }
};

TEST(FindCopies, TellsExactAndNearOnes) {
  const Blots blots;
  const std::vector<std::uint32_t> trained = {0, 1, 2, 3}, judged = {4, 5, 6, 7};
  for (const int threads : {1, 3}) {
    const std::vector<CopiedImage> found = find_copies(blots, trained, judged, threads);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].judged, 6U);
    EXPECT_EQ(found[0].trained, 0U);
    EXPECT_TRUE(found[0].is_exact);
    EXPECT_EQ(found[1].judged, 7U);
    EXPECT_EQ(found[1].trained, 1U);
    EXPECT_FALSE(found[1].is_exact);
  }
  EXPECT_TRUE(find_copies(blots, {}, judged, 1).empty());
}

// Their small pictures would be alike.
TEST(FindCopies, OfPlainOrTinyImagesAreExactOnesAlone) {
  const test::CountingDataset plain(251 + 2, {1, 70, 70}), tiny(251 + 2, {1, 4, 4});
  for (const Dataset* dataset : {static_cast<const Dataset*>(&plain), static_cast<const Dataset*>(&tiny)}) {
    const std::vector<std::uint32_t> trained = {0, 2}, judged = {1, 251};  // 251 has the value of 0
    const std::vector<CopiedImage> found = find_copies(*dataset, trained, judged, 1);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].judged, 251U);
    EXPECT_TRUE(found[0].is_exact);
  }
}

/// What an image of bright and dark bars is like.
struct Bars {
  int off = 60;          // bars are so much brighter and darker than the middle
  int brighter_by = 0;   // all of it
  int marked_cells = 0;  // one in each of so many bars is brighter than its neighbours: as many gradients are others
};

/// Each of the bars is a row of the 8x9 cells that gradients are taken of.
class BarImages : public test::CountingDataset {
 public:
  explicit BarImages(std::vector<Bars> images) : CountingDataset(images.size(), {1, 80, 144}), images_(images) {}

  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    const Bars& bars = images_[index];
    for (std::size_t i = 0; i < chw.size(); ++i) {
      const std::size_t row = i / 144 / 10, column = i % 144 / 16;
      const bool is_marked = column == 4 && row < static_cast<std::size_t>(bars.marked_cells);
      const int value = 128 + (row % 2 == 0 ? -bars.off : bars.off) + bars.brighter_by + (is_marked ? 1 : 0);
      chw[i] = static_cast<std::uint8_t>(value);
    }
  }

 private:
  std::vector<Bars> images_;
};

bool is_near_copy(const Bars& judged, const Bars& trained) {
  const BarImages images({judged, trained});
  const std::vector<std::uint32_t> first = {0}, second = {1};
  const std::vector<CopiedImage> found = find_copies(images, second, first, 1);
  EXPECT_FALSE(!found.empty() && found.front().is_exact);
  return !found.empty();
}

TEST(FindCopies, NearOnesDifferInFourGradientsAtMost) {
  EXPECT_TRUE(is_near_copy({.marked_cells = 1}, {}));
  EXPECT_TRUE(is_near_copy({.marked_cells = 4}, {}));
  EXPECT_FALSE(is_near_copy({.marked_cells = 5}, {}));
  EXPECT_FALSE(is_near_copy({}, {.marked_cells = 5}));
  EXPECT_TRUE(is_near_copy({.marked_cells = 8}, {.marked_cells = 4})) << "of those that are others";
}

TEST(FindCopies, NearOnesDifferByLessThanThreeInTheMean) {
  EXPECT_TRUE(is_near_copy({.brighter_by = 2}, {}));
  EXPECT_TRUE(is_near_copy({}, {.brighter_by = 2}));
  EXPECT_FALSE(is_near_copy({.brighter_by = 3}, {}));
  EXPECT_FALSE(is_near_copy({}, {.brighter_by = 3}));
}

// Bars that are 12 brighter and 12 darker have a deviation of 12.
TEST(FindCopies, DullImagesAreNotLookedFor) {
  EXPECT_TRUE(is_near_copy({.off = 12, .brighter_by = 1}, {.off = 12}));
  EXPECT_FALSE(is_near_copy({.off = 11, .brighter_by = 1}, {.off = 11}));
  EXPECT_FALSE(is_near_copy({.off = 11}, {.off = 12}));
  EXPECT_FALSE(is_near_copy({.off = 12}, {.off = 11}));
}

}  // namespace
}  // namespace evener::data
