// Searching for near faces by a graph, against comparing all with all.
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "base/random.h"
#include "task/faces/coarse_rows.h"
#include "task/faces/compare_graph.h"
#include "task/faces/neighbour_graph.h"

namespace evener::task {
namespace {

/// Faces of persons, of whom each has `faces` that are near each other.
Embeddings persons(std::size_t count, std::size_t faces, std::size_t dimensions) {
  Random random(7, Purpose::kInit);
  Embeddings embeddings;
  std::vector<float> person(dimensions), face(dimensions);
  for (std::size_t i = 0; i < count; ++i) {
    for (float& value : person) value = static_cast<float>(random.normal());
    for (std::size_t k = 0; k < faces; ++k) {
      std::ranges::transform(person, face.begin(),
                             [&](float value) { return value + 0.4F * static_cast<float>(random.normal()); });
      embeddings.add(face);
    }
  }
  return embeddings;
}

TEST(CoarseRows, CosinesAreNearlyThoseOfTheRows) {
  Embeddings embeddings = persons(20, 5, 100);
  std::vector<float> peak(100, 0.001F);
  peak[99] = 1;
  embeddings.add(peak);
  const CoarseRows rows(embeddings, 2);
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    for (std::size_t k = 0; k < embeddings.size(); ++k) {
      double cosine = 0;
      for (std::size_t d = 0; d < 100; ++d) cosine += static_cast<double>(embeddings[i][d]) * embeddings[k][d];
      ASSERT_NEAR(rows.cosine(i, k), cosine, 0.006) << i << " " << k;
    }
  }
}

TEST(CoarseRows, LongRowsAreNotTooMuchForTheirSums) {
  Embeddings embeddings;
  embeddings.add(std::vector<float>(200'000, 1));
  EXPECT_NEAR(CoarseRows(embeddings, 1).cosine(0, 0), 1, 0.03);
}

TEST(NeighbourGraph, LeadsToTheNearest) {
  const Embeddings embeddings = persons(300, 6, 32);
  const NeighbourGraph graph(embeddings, {.threads = 2});
  std::vector<float> distances;
  std::size_t found = 0;
  for (std::uint32_t row = 0; row < embeddings.size(); row += 7) {
    distances_to_all(embeddings[row], embeddings, 1, distances);
    distances[row] = 3;
    const auto near = graph.nearest(row, 5, 64);
    ASSERT_EQ(near.size(), 5U);
    EXPECT_TRUE(std::ranges::is_sorted(near));
    std::set<std::uint32_t> rows;
    for (const auto& [distance, other] : near) {
      EXPECT_NEAR(distance, distances[other], 1e-3);
      EXPECT_NE(other, row);
      rows.insert(other);
    }
    EXPECT_EQ(rows.size(), 5U);
    std::ranges::sort(distances);
    found += static_cast<std::size_t>(
        std::ranges::count_if(near, [&](const auto& one) { return one.first <= distances[4] + 1e-5F; }));
  }
  EXPECT_GT(static_cast<double>(found) / (5.0 * std::ceil(1800 / 7.0)), 0.98);
}

TEST(NeighbourGraph, EqualRowsAndFewRows) {
  Embeddings same;
  for (int i = 0; i < 200; ++i) same.add(std::vector<float>{1, 2, 3});
  const NeighbourGraph graph(same, {});
  EXPECT_EQ(graph.nearest(5, 10, 32).size(), 10U);
  Embeddings two = persons(1, 2, 8);
  EXPECT_EQ(NeighbourGraph(two, {}).nearest(0, 10, 32).size(), 1U);
  const Embeddings one = persons(1, 1, 8), none;
  EXPECT_TRUE(NeighbourGraph(one, {}).nearest(0, 10, 32).empty());
  EXPECT_NO_THROW(NeighbourGraph(none, {}));
}

TEST(CompareByGraph, FindsWhatComparingAllFinds) {
  const Embeddings embeddings = persons(200, 5, 24);
  CompareOptions options{.limit = 0.9F, .bins = 8, .neighbours = 4, .threads = 2};
  std::size_t rows = 0;
  options.on_neighbours = [&](const Neighbours& block) { rows += block.rows.size() / block.count; };
  const Comparison exact = compare_all(embeddings, options);
  EXPECT_EQ(rows, 1000U);
  const GraphComparison found = compare_by_graph(embeddings, options, {.threads = 2});
  EXPECT_EQ(rows, 2000U);
  EXPECT_EQ(found.sample, 1000U);
  EXPECT_EQ(found.nearest, 4U);
  EXPECT_GT(found.recall, 0.98);
  EXPECT_LE(found.recall, 1);
  EXPECT_GT(found.all_s, 0);
  EXPECT_GT(static_cast<double>(found.comparison.pairs.size()), 0.98 * static_cast<double>(exact.pairs.size()));
  for (std::size_t i = 1; i < found.comparison.to_group.size(); ++i) {
    const NearPair &a = found.comparison.to_group[i - 1], &b = found.comparison.to_group[i];
    EXPECT_LE(a.distance, b.distance);
    EXPECT_FALSE(a.first == b.first && a.second == b.second) << "a pair is told once";
  }
  // All rows were in the sample, so that the histogram is exact.
  EXPECT_EQ(found.comparison.histogram, exact.histogram);
}

}  // namespace
}  // namespace evener::task
