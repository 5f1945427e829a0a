#include "task/faces/compare.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

namespace evener::task {
namespace {

constexpr std::size_t kBlockRows = 256;
constexpr std::size_t kBlockColumns = 64;  // rows of the other side that are looked at together

float product(std::span<const float> a, std::span<const float> b) {
  constexpr std::size_t kLanes = 16;  // sums side by side, so that the compiler can use whole vectors
  float sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= a.size(); i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) sums[k] += a[i + k] * b[i + k];
  }
  float sum = 0;
  for (const float part : sums) sum += part;
  for (; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Distances of rows begin..end-1 to all.
std::vector<float> block_of(const Embeddings& embeddings, std::size_t begin, std::size_t end, int threads) {
  const std::size_t all = embeddings.size();
  std::vector<float> distances((end - begin) * all);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t column = next.fetch_add(kBlockColumns); column < all; column = next.fetch_add(kBlockColumns)) {
      for (std::size_t row = begin; row < end; ++row) {
        for (std::size_t other = column; other < std::min(all, column + kBlockColumns); ++other) {
          const float squared = 2 - 2 * product(embeddings[row], embeddings[other]);
          distances[(row - begin) * all + other] = row == other ? 0 : std::sqrt(std::max(0.0F, squared));
        }
      }
    }
  };
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  others.clear();  // joins
  return distances;
}

}  // namespace

void Embeddings::add(std::span<const float> row) {
  dimensions = row.size();
  double squares = 0;
  for (const float value : row) squares += static_cast<double>(value) * value;
  // A row of zeros has no direction; it stays as it is, far from all others.
  const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
  for (const float value : row) values.push_back(static_cast<float>(value * scale));
}

void each_distance_block(const Embeddings& embeddings, int threads,
                         const std::function<void(std::size_t, std::size_t, std::span<const float>)>& tell) {
  for (std::size_t begin = 0; begin < embeddings.size(); begin += kBlockRows) {
    const std::size_t end = std::min(embeddings.size(), begin + kBlockRows);
    tell(begin, end, block_of(embeddings, begin, end, threads));
  }
}

std::vector<NearPair> near_pairs(const Embeddings& embeddings, float limit, int threads) {
  std::vector<NearPair> pairs;
  const std::size_t all = embeddings.size();
  each_distance_block(embeddings, threads, [&](std::size_t begin, std::size_t end, std::span<const float> distances) {
    for (std::size_t row = begin; row < end; ++row) {
      for (std::size_t other = row + 1; other < all; ++other) {
        const float distance = distances[(row - begin) * all + other];
        if (distance <= limit) pairs.push_back({row, other, distance});
      }
    }
  });
  std::ranges::stable_sort(pairs, {}, &NearPair::distance);
  return pairs;
}

}  // namespace evener::task
