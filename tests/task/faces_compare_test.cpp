// Distances of all faces to all, against a plain loop.
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "cli/run_program.h"
#include "task/faces/compare.h"

namespace evener::task {
namespace {

/// `middle`: how far each number is from 0 on average, beside a deviation of 1; large: all rows are near each other.
Embeddings random_embeddings(std::size_t count, std::size_t dimensions, double middle = 0) {
  Random random(3, Purpose::kInit);
  Embeddings embeddings;
  std::vector<float> row(dimensions);
  for (std::size_t i = 0; i < count; ++i) {
    for (float& value : row) value = static_cast<float>(middle + random.normal());
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

TEST(CompareAll, TellsThePairsWithinTheLimitNearestFirst) {
  const Embeddings embeddings = random_embeddings(290, 24);
  constexpr float kLimit = 1.1F;
  const Comparison compared = compare_all(embeddings, {.limit = kLimit, .bins = 4, .threads = 2});
  std::size_t expected = 0;
  std::vector<std::size_t> histogram(4);
  for (std::size_t a = 0; a < embeddings.size(); ++a) {
    for (std::size_t b = a + 1; b < embeddings.size(); ++b) {
      const double apart = distance(embeddings[a], embeddings[b]);
      expected += apart <= kLimit ? 1 : 0;
      ++histogram[std::min<std::size_t>(3, static_cast<std::size_t>(2 * apart))];
    }
  }
  EXPECT_EQ(compared.pairs.size(), expected);
  EXPECT_EQ(compared.pairs_within, expected);
  EXPECT_EQ(compared.histogram, histogram);
  EXPECT_EQ(compared.to_group.size(), expected);
  EXPECT_GT(expected, 50U);
  EXPECT_TRUE(std::ranges::is_sorted(compared.pairs, {}, &NearPair::distance));
  for (const NearPair& pair : compared.pairs) {
    EXPECT_LT(pair.first, pair.second);
    EXPECT_NEAR(pair.distance, distance(embeddings[pair.first], embeddings[pair.second]), 1e-5);
  }
}

TEST(CompareAll, OfVeryManyPairsTheNearestAreKept) {
  const Embeddings embeddings = random_embeddings(60, 8);
  const Comparison all = compare_all(embeddings, {.limit = 2, .threads = 1});
  ASSERT_EQ(all.pairs.size(), 60U * 59 / 2);
  const Comparison few = compare_all(embeddings, {.limit = 2, .most_pairs = 100, .most_of_each_face = 3, .threads = 1});
  EXPECT_EQ(few.pairs_within, all.pairs.size());
  ASSERT_EQ(few.pairs.size(), 100U);
  for (std::size_t i = 0; i < few.pairs.size(); ++i) EXPECT_EQ(few.pairs[i].distance, all.pairs[i].distance);
  std::vector<std::size_t> seen(60);
  for (const NearPair& pair : few.to_group) ++seen[pair.first], ++seen[pair.second];
  EXPECT_GE(*std::ranges::min_element(seen), 3U) << "each face has its nearest";
  EXPECT_LE(few.to_group.size(), 180U);
  EXPECT_TRUE(std::ranges::is_sorted(few.to_group, {}, &NearPair::distance));
}

TEST(CompareAll, FewerRowsAreToldTogetherWhereTheyHaveManyPairs) {
  const auto largest_block = [](float limit) {
    std::size_t largest = 0;
    CompareOptions options{.limit = limit, .most_pairs_at_once = 20'000, .neighbours = 1, .threads = 2};
    options.on_neighbours = [&](const Neighbours& block) { largest = std::max(largest, block.rows.size()); };
    compare_all(random_embeddings(700, 16), options);
    return largest;
  };
  EXPECT_GE(largest_block(0.05F), 256U) << "as many as were looked at before";
  EXPECT_LE(largest_block(2), 120U) << "all of the others are within the limit";
}

TEST(CompareAll, NothingAndOneFaceHaveNoPairs) {
  EXPECT_TRUE(compare_all({}, {.limit = 2}).pairs.empty());
  EXPECT_TRUE(compare_all(random_embeddings(1, 8), {.limit = 2}).pairs.empty());
}

/// Rows 2i and 2i + 1 are some 0.05 apart, and far from all others.
Embeddings twins(std::size_t pairs, std::size_t dimensions) {
  constexpr double kApart = 0.05;
  Random random(4, Purpose::kInit);
  Embeddings embeddings;
  std::vector<float> row(dimensions);
  for (std::size_t i = 0; i < pairs; ++i) {
    for (float& value : row) value = static_cast<float>(random.normal());
    embeddings.add(row);
    for (float& value : row) value += static_cast<float>(kApart * random.normal());
    embeddings.add(row);
  }
  return embeddings;
}

// So many that products are first rounded to bfloat16 on processors with tiles of it.
TEST(CompareAll, OfMoreRowsThanAreLookedAtInFp32AloneEachFindsItsTwin) {
  const Embeddings embeddings = twins(10'050, 16);
  const std::size_t all = embeddings.size();
  ASSERT_GT(all, CompareOptions().most_in_fp32);
  std::vector<std::uint32_t> nearest;
  const Comparison compared =
      compare_all(embeddings, {.limit = 0.15F,
                               .most_of_each_face = 2,
                               .neighbours = 1,
                               .threads = 2,
                               .on_neighbours = [&](const Neighbours& block) {
                                 nearest.insert(nearest.end(), block.rows.begin(), block.rows.end());
                               }});
  ASSERT_EQ(compared.pairs.size(), all / 2);
  EXPECT_EQ(compared.pairs_within, all / 2);
  EXPECT_EQ(compared.to_group.size(), all / 2);
  for (const NearPair& pair : compared.pairs) {
    ASSERT_EQ(pair.second, pair.first ^ 1U);
    ASSERT_NEAR(pair.distance, distance(embeddings[pair.first], embeddings[pair.second]), 1e-6);
  }
  ASSERT_EQ(nearest.size(), all);
  for (std::size_t row = 0; row < all; ++row) ASSERT_EQ(nearest[row], row ^ 1U);
  EXPECT_EQ(std::accumulate(compared.histogram.begin(), compared.histogram.end(), std::size_t{0}), all * (all - 1) / 2)
      << "every pair is counted once";
}

/// What is told of 900 rows is what a plain loop finds. They are so near each other that bfloat16 can't tell them
/// apart.
void expect_nearest_neighbours(std::size_t most_in_fp32) {
  const Embeddings embeddings = random_embeddings(900, 33, 20);
  constexpr float kLimit = 0.045F;
  Neighbours found;
  std::size_t pairs = 0, expected_twice = 0;
  const Comparison compared = compare_all(
      embeddings, {.limit = kLimit,
                   .most_of_each_face = 5,
                   .most_in_fp32 = most_in_fp32,
                   .neighbours = 5,
                   .threads = 2,
                   .on_neighbours =
                       [&](const Neighbours& block) {
                         EXPECT_EQ(block.begin * 5, found.rows.size()) << "blocks come in their order";
                         found.rows.insert(found.rows.end(), block.rows.begin(), block.rows.end());
                         found.distances.insert(found.distances.end(), block.distances.begin(), block.distances.end());
                       },
                   .on_pairs = [&](std::span<const NearPair> of_row) { pairs += of_row.size(); }});
  EXPECT_EQ(pairs, compared.pairs_within);
  EXPECT_GT(pairs, 0U);
  ASSERT_EQ(found.rows.size(), embeddings.size() * 5);
  for (std::size_t row = 0; row < embeddings.size(); ++row) {
    std::vector<std::pair<double, std::size_t>> others;
    for (std::size_t other = 0; other < embeddings.size(); ++other) {
      if (other != row) others.emplace_back(distance(embeddings[row], embeddings[other]), other);
    }
    std::ranges::sort(others);
    expected_twice += static_cast<std::size_t>(
        std::ranges::count_if(others, [](const auto& other) { return other.first <= kLimit; }));
    for (std::size_t k = 0; k < 5; ++k) {
      ASSERT_NEAR(found.distances[row * 5 + k], others[k].first, 1e-5) << row;
      ASSERT_NEAR(distance(embeddings[row], embeddings[found.rows[row * 5 + k]]), others[k].first, 1e-5) << row;
    }
  }
  EXPECT_EQ(2 * pairs, expected_twice);
}

TEST(NearestNeighbours, AreTheNearestOfAllOthers) {
  expect_nearest_neighbours(1000);
  EXPECT_THROW(compare_all(random_embeddings(5, 4), {.neighbours = 5}), Error);
}

// Where processors have tiles of bfloat16; elsewhere this is the test above once more.
TEST(NearestNeighbours, AreTheSameWhereProductsAreFirstComputedInBfloat16) {
  expect_nearest_neighbours(0);
}

// A process finds out once which instructions it may use.
TEST(CompareAll, IsTheSameOnNarrowerProcessors) {
  for (const char* level : {"avx2", "baseline"}) {
    const test::ProgramResult result =
        test::RunningProgram("/proc/self/exe",
                             {"--gtest_filter=Distances.*:CompareAll.TellsThePairs*:CompareAll.OfMoreRows*"},
                             {.environment = {{"EVENER_SIMD", level}}})
            .finish();
    EXPECT_EQ(result.exit_code, 0) << level << ": " << result.out;
    EXPECT_THAT(result.out, testing::HasSubstr("[  PASSED  ] 3 tests"));
  }
}

}  // namespace
}  // namespace evener::task
