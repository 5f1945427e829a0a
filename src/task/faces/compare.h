// Which embeddings are near each other. All have length 1, so that the Euclidean distance d and the cosine c of two say
// the same: d^2 = 2 - 2 c.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace evener::task {

/// Rows of `dimensions` numbers.
struct Embeddings {
  std::size_t dimensions = 0;
  std::vector<float> values;

  std::size_t size() const { return dimensions == 0 ? 0 : values.size() / dimensions; }
  std::span<const float> operator[](std::size_t i) const { return {values.data() + i * dimensions, dimensions}; }
  /// Appends a row, brought to length 1.
  void add(std::span<const float> row);
};

/// Two different rows, the first one's index being the smaller.
struct NearPair {
  std::size_t first = 0, second = 0;
  float distance = 0;
};

/// Calls `tell` with the distances of rows begin..end-1 to all rows, row by row: blocks that stay in the cache, on
/// `threads` threads, so that memory is bounded however many there are. Blocks come in their order.
void each_distance_block(const Embeddings& embeddings, int threads,
                         const std::function<void(std::size_t begin, std::size_t end, std::span<const float>)>& tell);

/// All pairs that are at most `limit` apart, the nearest first.
std::vector<NearPair> near_pairs(const Embeddings& embeddings, float limit, int threads);

}  // namespace evener::task
