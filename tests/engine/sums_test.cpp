#include "engine/sums.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"

namespace evener::engine {
namespace {

TEST(Sums, AddUpUnderTheirNames) {
  Sums sums;
  sums += classification_sums(1.5, 2, 4);
  sums += Sums();
  sums += classification_sums(0.5, 1, 6);
  EXPECT_EQ(sums, classification_sums(2, 3, 10));
  EXPECT_EQ(sums.mean("loss"), 0.2);
  EXPECT_EQ(sums.mean("correct"), 0.3);
  EXPECT_EQ(sums.count("loss"), 10);
}

TEST(Sums, OfNothingHaveNoMean) {
  EXPECT_FALSE(Sums().mean("loss").has_value());
  EXPECT_FALSE(Sums::zeros({"loss"}).mean("loss").has_value());
  EXPECT_FALSE(classification_sums(1, 1, 1).mean("box_loss").has_value());
  EXPECT_EQ(Sums().total("loss"), 0);
}

TEST(Sums, OfOtherCriteriaAreRefused) {
  Sums sums = Sums::zeros({"loss", "box_loss"});
  EXPECT_THROW(sums += classification_sums(1, 1, 1), Error);
}

// Each sum has a count of its own: a detector's boxes are fewer than its images.
TEST(Sums, TravelAsPlainNumbers) {
  const Sums own(std::vector<Sums::Entry>{{"loss", 0.1 + 0.2, 7}, {"box_loss", 2.5, 3}});
  std::array<double, 4> numbers{};
  ASSERT_EQ(own.packed_size(), numbers.size());
  own.pack(numbers);
  for (double& number : numbers) number *= 2;  // another replica's are the same
  Sums all = Sums::zeros({"loss", "box_loss"});
  all.unpack(numbers);
  Sums expected = own;
  expected += own;
  EXPECT_EQ(all, expected);
}

}  // namespace
}  // namespace evener::engine
