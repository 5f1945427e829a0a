// Finds embeddings that are near each other. All have length 1, so that the Euclidean distance d and the cosine c of
// two are equivalent: d^2 = 2 - 2 c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace evener::faces {

/// Rows of `dimensions` numbers.
struct Embeddings {
  std::size_t dimensions = 0;
  std::vector<float> values;

  std::size_t size() const { return dimensions == 0 ? 0 : values.size() / dimensions; }
  std::span<const float> operator[](std::size_t i) const { return {values.data() + i * dimensions, dimensions}; }
  /// Appends a row, scaled to length 1.
  void add(std::span<const float> row);
};

/// The Euclidean distance of two rows of length 1 with the given dot product. Small distances are computed from the
/// difference of the rows, since sqrt(2 - 2 c) loses their digits.
float distance_of_rows(std::span<const float> a, std::span<const float> b, float product);

/// Two different rows, with first < second.
struct NearPair {
  std::size_t first = 0, second = 0;
  float distance = 0;
};

/// Calls `tell` with the distances of rows begin..end-1 to all rows, row by row: blocks of a quarter of a gigabyte at
/// most, computed on `threads` threads. Blocks come in their order.
void each_distance_block(const Embeddings& embeddings, int threads,
                         const std::function<void(std::size_t begin, std::size_t end, std::span<const float>)>& tell);

/// The nearest others of some rows, one after the other: `count` of each, nearest first.
struct Neighbours {
  std::size_t begin = 0;  // the first of those rows
  std::size_t count = 0;
  std::vector<std::uint32_t> rows;
  std::vector<float> distances;
};

struct CompareOptions {
  float limit = 1;                                        // the largest distance of pairs that are told
  std::size_t bins = 100;                                 // number of bins of the histogram
  std::size_t most_pairs = 1'000'000;                     // how many of the nearest pairs are kept
  std::size_t most_pairs_at_once = std::size_t{8} << 20;  // limit of the pairs in one call of on_pairs
  std::size_t most_of_each_face = 64;                     // see Comparison::to_group
  std::size_t most_in_fp32 = 20'000;                      // with more rows products may be computed in bf16
  std::size_t neighbours = 0;  // how many nearest neighbours of each row are told; at most as many as there are other
                               // rows
  int threads = 1;
  /// Called block by block, in the order of the rows: with neighbours, and with all pairs within the limit, sorted by
  /// first and second row.
  std::function<void(const Neighbours&)> on_neighbours = {};
  std::function<void(std::span<const NearPair>)> on_pairs = {};
  /// Called by compare_all: how many rows' worth of the work is done.
  std::function<void(std::size_t done, std::size_t all)> on_progress = {};
};

/// Rows compared with each other, in memory that grows with the rows and not with the pairs.
struct Comparison {
  /// The histogram of all distances, from 0 to 2. With more than 90,000 rows, counts beyond the limit are estimated
  /// from a part of the rows; with more than most_in_fp32 rows, distances may be computed in bf16.
  std::vector<std::size_t> histogram;
  std::vector<NearPair> pairs;   // at most `limit` apart, the nearest first; no more than most_pairs
  std::size_t pairs_within = 0;  // the number of all pairs within the limit
  /// The pairs from which groups grow, the nearest first: all within the limit, or where those are too many the
  /// nearest of each row.
  std::vector<NearPair> to_group;
};
/// Compares all rows with all others. Throws Error where more neighbours are asked for than there are other rows,
/// Interrupted when a stop is requested.
Comparison compare_all(const Embeddings& embeddings, const CompareOptions& options);

}  // namespace evener::faces
