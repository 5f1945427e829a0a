#include "task/faces/compare_graph.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/clock.h"
#include "base/random.h"

namespace evener::task {
namespace {

constexpr std::size_t kBlock = 8192;                       // rows whose neighbours are told together
constexpr std::size_t kSample = 1000, kSampleAtOnce = 64;  // rows that are compared with all
constexpr std::size_t kUsualNearest = 10;
constexpr std::size_t kLeastBreadth = 96;
constexpr float kGraphRounding = 1e-5F;  // of a distance: which of two that are equally far is found doesn't matter

using Near = std::pair<float, std::uint32_t>;

bool nearer(const NearPair& a, const NearPair& b) {
  return std::tie(a.distance, a.first, a.second) < std::tie(b.distance, b.first, b.second);
}

/// How many of the `count` nearest of a row the graph led to.
std::size_t hits(std::span<float> distances, std::uint32_t row, const std::vector<Near>& found, std::size_t count) {
  distances[row] = 3;  // farther than any
  std::ranges::nth_element(distances, distances.begin() + static_cast<std::ptrdiff_t>(count - 1));
  const float farthest = distances[count - 1] + kGraphRounding;
  return static_cast<std::size_t>(
      std::count_if(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(std::min(count, found.size())),
                    [&](const Near& one) { return one.first <= farthest; }));
}

/// Compares a sample with all: the histogram, and what the graph misses.
void look_at_sample(const Embeddings& embeddings, const CompareOptions& options, const NeighbourGraph& graph,
                    std::size_t breadth, GraphComparison& result) {
  const std::size_t all = embeddings.size();
  const std::vector<std::uint32_t> order = permutation(static_cast<std::uint32_t>(all), Random(1, Purpose::kSplit));
  result.sample = std::min(kSample, all);
  result.nearest = std::min(options.neighbours > 0 ? options.neighbours : kUsualNearest, all - 1);
  std::vector<double> histogram(options.bins);
  std::vector<float> rows, distances;
  std::size_t found = 0;
  double compared_s = 0;
  for (std::size_t first = 0; first < result.sample; first += kSampleAtOnce) {
    const std::size_t count = std::min(kSampleAtOnce, result.sample - first);
    rows.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = embeddings[order[first + i]];
      rows.insert(rows.end(), row.begin(), row.end());
    }
    const Stopwatch clock;
    distances_to_all(rows, embeddings, options.threads, distances);
    compared_s += clock.seconds();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t row = order[first + i];
      const std::span<float> of = std::span(distances).subspan(i * all, all);
      for (std::size_t other = 0; other < all; ++other) {
        if (other == row) continue;
        const auto bin = static_cast<std::size_t>(of[other] / 2 * static_cast<float>(options.bins));
        ++histogram[std::min(bin, options.bins - 1)];
      }
      found += hits(of, row, graph.nearest(row, result.nearest, breadth), result.nearest);
    }
  }
  result.all_s = compared_s / static_cast<double>(result.sample) * static_cast<double>(all) / 2;
  result.recall = static_cast<double>(found) / static_cast<double>(result.sample * result.nearest);
  // Each pair of two rows of all stands for how often a sampled row was in one.
  const double scale = static_cast<double>(all) / 2 / static_cast<double>(result.sample);
  result.comparison.histogram.clear();
  for (const double count : histogram) {
    result.comparison.histogram.push_back(static_cast<std::size_t>(std::llround(count * scale)));
  }
}

}  // namespace

GraphComparison compare_by_graph(const Embeddings& embeddings, const CompareOptions& options,
                                 const GraphOptions& graph_options, const data::Progress& progress) {
  GraphComparison result;
  result.comparison.histogram.assign(options.bins, 0);
  const std::size_t all = embeddings.size();
  if (all < 2) return result;
  const Stopwatch clock;
  const NeighbourGraph graph(embeddings, graph_options, progress);
  const std::size_t count = std::min(std::max(options.neighbours, options.most_of_each_face), all - 1);
  const std::size_t breadth = std::max(kLeastBreadth, 2 * count);
  std::vector<NearPair>& pairs = result.comparison.to_group;
  std::vector<std::vector<Near>> found;
  for (std::size_t begin = 0; begin < all; begin += kBlock) {
    const std::size_t rows = std::min(kBlock, all - begin), told = options.neighbours;
    found.assign(rows, {});
    data::for_each_index(rows, options.threads, [&](std::size_t i) {
      found[i] = graph.nearest(static_cast<std::uint32_t>(begin + i), count, breadth);
    });
    Neighbours block{begin, told, std::vector<std::uint32_t>(rows * told, Neighbours::kNobody),
                     std::vector<float>(rows * told)};
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < found[i].size(); ++k) {
        const auto& [distance, other] = found[i][k];
        if (k < told) {
          block.rows[i * told + k] = other;
          block.distances[i * told + k] = distance;
        }
        const std::size_t row = begin + i;
        if (distance <= options.limit) {
          pairs.push_back({std::min<std::size_t>(row, other), std::max<std::size_t>(row, other), distance});
        }
      }
    }
    if (told > 0) options.on_neighbours(block);
  }
  std::ranges::sort(pairs, nearer);
  // Each of two rows may have led to the other.
  const auto same = [](const NearPair& a, const NearPair& b) { return a.first == b.first && a.second == b.second; };
  pairs.erase(std::unique(pairs.begin(), pairs.end(), same), pairs.end());
  result.comparison.pairs_within = pairs.size();
  result.comparison.pairs.assign(
      pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(std::min(pairs.size(), options.most_pairs)));
  result.seconds = clock.seconds();
  look_at_sample(embeddings, options, graph, breadth, result);
  return result;
}

}  // namespace evener::task
