// Distances of all faces to all, against a plain loop.
#include <gmock/gmock.h>

#include <cmath>

#include "base/random.h"
#include "task/faces/compare.h"

namespace evener::task {
namespace {

Embeddings random_embeddings(std::size_t count, std::size_t dimensions) {
  Random random(3, Purpose::kInit);
  Embeddings embeddings;
  std::vector<float> row(dimensions);
  for (std::size_t i = 0; i < count; ++i) {
    for (float& value : row) value = static_cast<float>(random.normal());
    embeddings.add(row);
  }
  return embeddings;
}

double distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return std::sqrt(sum);
}

TEST(Embeddings, HaveLengthOne) {
  Embeddings embeddings;
  embeddings.add(std::vector<float>{3, 0, -4});
  embeddings.add(std::vector<float>{0, 0, 0});
  EXPECT_EQ(embeddings.size(), 2U);
  EXPECT_THAT(embeddings.values, testing::ElementsAre(0.6F, 0, -0.8F, 0, 0, 0)) << "no direction stays none";
}

// More rows than a block has, in dimensions that no vector of the processor divides.
TEST(Distances, BlocksAreWhatAPlainLoopGives) {
  const Embeddings embeddings = random_embeddings(300, 19);
  for (const int threads : {1, 3}) {
    std::size_t rows = 0;
    each_distance_block(embeddings, threads, [&](std::size_t begin, std::size_t end, std::span<const float> block) {
      EXPECT_EQ(begin, rows) << "in their order";
      rows = end;
      ASSERT_EQ(block.size(), (end - begin) * embeddings.size());
      for (std::size_t row = begin; row < end; ++row) {
        for (std::size_t other = 0; other < embeddings.size(); ++other) {
          // 2 - 2 c loses digits where two rows are near each other; these are not.
          ASSERT_NEAR(block[(row - begin) * embeddings.size() + other], distance(embeddings[row], embeddings[other]),
                      1e-5);
        }
      }
    });
    EXPECT_EQ(rows, embeddings.size());
  }
}

TEST(NearPairs, AreThoseWithinTheLimitNearestFirst) {
  const Embeddings embeddings = random_embeddings(290, 24);
  constexpr float kLimit = 1.1F;
  const std::vector<NearPair> pairs = near_pairs(embeddings, kLimit, 2);
  std::size_t expected = 0;
  for (std::size_t a = 0; a < embeddings.size(); ++a) {
    for (std::size_t b = a + 1; b < embeddings.size(); ++b) {
      expected += distance(embeddings[a], embeddings[b]) <= kLimit ? 1 : 0;
    }
  }
  EXPECT_EQ(pairs.size(), expected);
  EXPECT_GT(expected, 50U);
  EXPECT_TRUE(std::ranges::is_sorted(pairs, {}, &NearPair::distance));
  for (const NearPair& pair : pairs) {
    EXPECT_LT(pair.first, pair.second);
    EXPECT_NEAR(pair.distance, distance(embeddings[pair.first], embeddings[pair.second]), 1e-5);
  }
}

TEST(NearPairs, NothingAndOneFaceHaveNone) {
  EXPECT_TRUE(near_pairs({}, 2, 2).empty());
  EXPECT_TRUE(near_pairs(random_embeddings(1, 8), 2, 2).empty());
}

}  // namespace
}  // namespace evener::task
