#include "task/faces/compare.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/stop.h"
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

std::size_t bin_of(float distance, float bins_a_unit, std::size_t bins) {
  return std::min(static_cast<std::size_t>(distance * bins_a_unit), bins - 1);
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

void distances_to_all(std::span<const float> rows, const Embeddings& embeddings, int threads,
                      std::vector<float>& distances) {
  const std::size_t all = embeddings.size(), dimensions = embeddings.dimensions, count = rows.size() / dimensions;
  distances.resize(count * all);
  const engine::kernels::RowKernels& kernels = engine::kernels::row_kernels();
  share((all + kBlockColumns - 1) / kBlockColumns, threads, [&](std::size_t part) {
    const std::size_t first = part * kBlockColumns, last = std::min(all, first + kBlockColumns);
    kernels.products({rows.data(), static_cast<std::int64_t>(count), embeddings.values.data() + first * dimensions,
                      static_cast<std::int64_t>(last - first), static_cast<std::int64_t>(dimensions),
                      distances.data() + first, static_cast<std::int64_t>(all)});
    for (std::size_t row = 0; row < count; ++row) {
      float* const of = distances.data() + row * all;
      for (std::size_t other = first; other < last; ++other) of[other] = std::sqrt(std::max(0.0F, 2 - 2 * of[other]));
    }
  });
}

void each_distance_block(const Embeddings& embeddings, int threads,
                         const std::function<void(std::size_t, std::size_t, std::span<const float>)>& tell) {
  if (embeddings.size() == 0) return;
  const std::size_t all = embeddings.size(), rows = std::clamp(kBlockValues / all, kLeastRows, kMostRows);
  std::vector<float> distances;
  for (std::size_t begin = 0; begin < all; begin += rows) {
    if (stop_requested()) throw Interrupted("interrupted while faces were compared");
    const std::size_t end = std::min(all, begin + rows);
    distances_to_all(
        std::span(embeddings.values).subspan(begin * embeddings.dimensions, (end - begin) * embeddings.dimensions),
        embeddings, threads, distances);
    for (std::size_t row = begin; row < end; ++row) distances[(row - begin) * all + row] = 0;
    tell(begin, end, distances);
  }
}

namespace {

/// What the distances of one row to all others say.
struct OfRow {
  std::vector<std::size_t> histogram;  // of the rows behind it
  std::vector<NearPair> pairs;         // within the limit, with the rows behind it
  std::vector<NearPair> nearest;       // within the limit, some of all rows
};

class AllWithAll {
 public:
  AllWithAll(const Embeddings& embeddings, const CompareOptions& options)
      : embeddings_(embeddings), options_(options), of_rows_(static_cast<std::size_t>(4 * options.threads)) {
    result_.histogram.assign(options.bins, 0);
  }

  Comparison run() {
    each_distance_block(embeddings_, options_.threads,
                        [&](std::size_t begin, std::size_t end, std::span<const float> distances) {
                          take_block(begin, end, distances);
                        });
    keep(result_.pairs, options_.most_pairs);
    std::ranges::sort(result_.pairs, nearer);
    if (result_.pairs.size() == result_.pairs_within) {
      result_.to_group = result_.pairs;
      return std::move(result_);
    }
    std::ranges::sort(nearest_, nearer);
    const auto same = [](const NearPair& a, const NearPair& b) { return a.first == b.first && a.second == b.second; };
    nearest_.erase(std::ranges::unique(nearest_, same).begin(), nearest_.end());
    result_.to_group = std::move(nearest_);
    return std::move(result_);
  }

 private:
  void take_block(std::size_t begin, std::size_t end, std::span<const float> distances) {
    const std::size_t all = embeddings_.size(), count = options_.neighbours;
    Neighbours neighbours{begin, count, std::vector<std::uint32_t>((end - begin) * count),
                          std::vector<float>((end - begin) * count)};
    // A few rows at a time, as a row of a million faces may have a million pairs.
    for (std::size_t first = begin; first < end; first += of_rows_.size()) {
      const std::size_t rows = std::min(of_rows_.size(), end - first);
      share(rows, options_.threads, [&](std::size_t i) {
        const std::size_t row = first + i;
        const auto of = distances.subspan((row - begin) * all, all);
        look_at(row, of, of_rows_[i]);
        if (count > 0) find_nearest(row, of, neighbours);
      });
      for (std::size_t i = 0; i < rows; ++i) take(of_rows_[i]);
    }
    if (count > 0) options_.on_neighbours(neighbours);
  }

  void look_at(std::size_t row, std::span<const float> distances, OfRow& of) const {
    const auto bins_a_unit = static_cast<float>(static_cast<double>(options_.bins) / kLargestDistance);
    of.histogram.assign(options_.bins, 0);
    of.pairs.clear();
    of.nearest.clear();
    for (std::size_t other = 0; other < distances.size(); ++other) {
      const float distance = distances[other];
      if (distance <= options_.limit && other != row) {
        of.nearest.push_back({std::min(row, other), std::max(row, other), distance});
        if (other > row) of.pairs.push_back(of.nearest.back());
      }
      if (other > row) ++of.histogram[bin_of(distance, bins_a_unit, options_.bins)];
    }
    keep(of.nearest, options_.most_of_each_face);
  }

  void find_nearest(std::size_t row, std::span<const float> distances, Neighbours& neighbours) const {
    const std::size_t count = options_.neighbours;
    std::vector<std::pair<float, std::uint32_t>> nearest;  // a heap, the farthest on top
    for (std::size_t other = 0; other < distances.size(); ++other) {
      if (other == row || (nearest.size() == count && distances[other] >= nearest.front().first)) continue;
      if (nearest.size() == count) {
        std::ranges::pop_heap(nearest);
        nearest.pop_back();
      }
      nearest.emplace_back(distances[other], static_cast<std::uint32_t>(other));
      std::ranges::push_heap(nearest);
    }
    std::ranges::sort_heap(nearest);
    const std::size_t at = (row - neighbours.begin) * count;
    for (std::size_t k = 0; k < count; ++k) {
      neighbours.distances[at + k] = nearest[k].first;
      neighbours.rows[at + k] = nearest[k].second;
    }
  }

  void take(const OfRow& of) {
    for (std::size_t bin = 0; bin < of.histogram.size(); ++bin) result_.histogram[bin] += of.histogram[bin];
    result_.pairs_within += of.pairs.size();
    if (options_.on_pairs) options_.on_pairs(of.pairs);
    result_.pairs.insert(result_.pairs.end(), of.pairs.begin(), of.pairs.end());
    if (result_.pairs.size() > 2 * options_.most_pairs) keep(result_.pairs, options_.most_pairs);
    nearest_.insert(nearest_.end(), of.nearest.begin(), of.nearest.end());
  }

  const Embeddings& embeddings_;
  const CompareOptions& options_;
  std::vector<OfRow> of_rows_;
  std::vector<NearPair> nearest_;  // of each row
  Comparison result_;
};

}  // namespace

Comparison compare_all(const Embeddings& embeddings, const CompareOptions& options) {
  if (options.neighbours > 0 && options.neighbours >= embeddings.size()) {
    throw Error("the " + std::to_string(options.neighbours) + " nearest of " + std::to_string(embeddings.size()) +
                " rows were asked for, of which each has fewer others");
  }
  return AllWithAll(embeddings, options).run();
}

}  // namespace evener::task
