#include "task/faces/compare.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "engine/kernels/row_kernels.h"

namespace evener::task {
namespace {

constexpr std::size_t kMostRows = 256, kLeastRows = 16;  // of a block
constexpr std::size_t kBlockValues = std::size_t{64} << 20;
constexpr std::size_t kBlockColumns = 192;  // rows of the other side that are looked at together
constexpr double kLargestDistance = 2;

/// Calls work(i) for all i < count on so many threads, each of which takes the next.
template <class Work>
void share(std::size_t count, int threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto go = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(go);
  go();
}

/// Distances of rows begin..end-1 to all.
void fill_block(const Embeddings& embeddings, std::size_t begin, std::size_t end, int threads,
                std::vector<float>& distances) {
  const std::size_t all = embeddings.size(), dimensions = embeddings.dimensions;
  distances.resize((end - begin) * all);
  const engine::kernels::RowKernels& kernels = engine::kernels::row_kernels();
  share((all + kBlockColumns - 1) / kBlockColumns, threads, [&](std::size_t part) {
    const std::size_t first = part * kBlockColumns, last = std::min(all, first + kBlockColumns);
    kernels.products({embeddings.values.data() + begin * dimensions, static_cast<std::int64_t>(end - begin),
                      embeddings.values.data() + first * dimensions, static_cast<std::int64_t>(last - first),
                      static_cast<std::int64_t>(dimensions), distances.data() + first, static_cast<std::int64_t>(all)});
    for (std::size_t row = begin; row < end; ++row) {
      float* const of = distances.data() + (row - begin) * all;
      for (std::size_t other = first; other < last; ++other) {
        of[other] = std::sqrt(std::max(0.0F, 2 - 2 * of[other]));
      }
      if (row >= first && row < last) of[row] = 0;
    }
  });
}

bool nearer(const NearPair& a, const NearPair& b) {
  return std::tie(a.distance, a.first, a.second) < std::tie(b.distance, b.first, b.second);
}

/// Keeps the nearest.
void keep(std::vector<NearPair>& pairs, std::size_t most) {
  if (pairs.size() <= most) return;
  std::ranges::nth_element(pairs, pairs.begin() + static_cast<std::ptrdiff_t>(most), nearer);
  pairs.resize(most);
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
  if (embeddings.size() == 0) return;
  const std::size_t rows = std::clamp(kBlockValues / embeddings.size(), kLeastRows, kMostRows);
  std::vector<float> distances;
  for (std::size_t begin = 0; begin < embeddings.size(); begin += rows) {
    const std::size_t end = std::min(embeddings.size(), begin + rows);
    fill_block(embeddings, begin, end, threads, distances);
    tell(begin, end, distances);
  }
}

Comparison compare_all(const Embeddings& embeddings, const CompareOptions& options) {
  Comparison result;
  result.histogram.assign(options.bins, 0);
  const std::size_t all = embeddings.size();
  const auto bins_a_unit = static_cast<float>(static_cast<double>(options.bins) / kLargestDistance);
  std::vector<NearPair> of_row, of_rows;  // of each row the nearest
  each_distance_block(
      embeddings, options.threads, [&](std::size_t begin, std::size_t end, std::span<const float> distances) {
        for (std::size_t row = begin; row < end; ++row) {
          of_row.clear();
          for (std::size_t other = 0; other < all; ++other) {
            const float distance = distances[(row - begin) * all + other];
            if (distance <= options.limit && other != row) {
              of_row.push_back({std::min(row, other), std::max(row, other), distance});
            }
            if (other <= row) continue;
            ++result.histogram[std::min(static_cast<std::size_t>(distance * bins_a_unit), options.bins - 1)];
            if (distance > options.limit) continue;
            ++result.pairs_within;
            result.pairs.push_back({row, other, distance});
          }
          if (result.pairs.size() > 2 * options.most_pairs) keep(result.pairs, options.most_pairs);
          keep(of_row, options.most_of_each_face);
          of_rows.insert(of_rows.end(), of_row.begin(), of_row.end());
        }
      });
  keep(result.pairs, options.most_pairs);
  std::ranges::sort(result.pairs, nearer);
  if (result.pairs.size() == result.pairs_within) {
    result.to_group = result.pairs;
    return result;
  }
  std::ranges::sort(of_rows, nearer);
  const auto same = [](const NearPair& a, const NearPair& b) { return a.first == b.first && a.second == b.second; };
  of_rows.erase(std::ranges::unique(of_rows, same).begin(), of_rows.end());
  result.to_group = std::move(of_rows);
  return result;
}

Neighbours nearest_neighbours(const Embeddings& embeddings, std::size_t count, int threads) {
  const std::size_t all = embeddings.size();
  if (count >= all) {
    throw Error("the " + std::to_string(count) + " nearest of " + std::to_string(all) +
                " rows were asked for, of which each has fewer others");
  }
  Neighbours result{count, std::vector<std::uint32_t>(all * count), std::vector<float>(all * count)};
  each_distance_block(embeddings, threads, [&](std::size_t begin, std::size_t end, std::span<const float> distances) {
    share(end - begin, threads, [&](std::size_t i) {
      const float* const of = distances.data() + i * all;
      std::vector<std::pair<float, std::uint32_t>> nearest;  // a heap, the farthest on top
      for (std::size_t other = 0; other < all; ++other) {
        if (other == begin + i || (nearest.size() == count && of[other] >= nearest.front().first)) continue;
        if (nearest.size() == count) {
          std::ranges::pop_heap(nearest);
          nearest.pop_back();
        }
        nearest.emplace_back(of[other], static_cast<std::uint32_t>(other));
        std::ranges::push_heap(nearest);
      }
      std::ranges::sort_heap(nearest);
      for (std::size_t k = 0; k < count; ++k) {
        result.distances[(begin + i) * count + k] = nearest[k].first;
        result.rows[(begin + i) * count + k] = nearest[k].second;
      }
    });
  });
  return result;
}

}  // namespace evener::task
