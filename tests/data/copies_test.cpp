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

}  // namespace
}  // namespace evener::data
