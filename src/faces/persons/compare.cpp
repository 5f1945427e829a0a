#include "faces/persons/compare.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/stop.h"
#include "data/each_index.h"
#include "engine/kernels/block_products.h"
#include "engine/kernels/kernels.h"

namespace evener::faces {
namespace {

constexpr std::size_t kMostBlockRows = 256, kLeastBlockRows = 16;  // of a block
constexpr std::size_t kBlockValues = std::size_t{64} << 20;
constexpr std::size_t kBlockColumns = 96;  // rows of the other side that are looked at together

/// Products from which on distances are computed from differences: below, a rounded product changes less than the sixth
/// digit behind the point.
constexpr float kNear = 0.95F;

/// Distances of `rows` (of length 1, one after the other) to all embeddings, row by row.
void distances_to_all(std::span<const float> rows, const Embeddings& embeddings, int threads,
                      std::vector<float>& distances) {
  const std::size_t all = embeddings.size(), dimensions = embeddings.dimensions, count = rows.size() / dimensions;
  distances.resize(count * all);
  const engine::kernels::BlockProducts block(rows, static_cast<std::int64_t>(dimensions), Precision::kFp32);
  const auto stride = static_cast<std::size_t>(block.stride());
  data::for_each_index((all + kBlockColumns - 1) / kBlockColumns, threads, [&](std::size_t part) {
    const std::size_t first = part * kBlockColumns, last = std::min(all, first + kBlockColumns);
    engine::kernels::AlignedVector<float> products;
    block.multiply(std::span(embeddings.values).subspan(first * dimensions, (last - first) * dimensions),
                   static_cast<std::int64_t>(count), products);
    for (std::size_t row = 0; row < count; ++row) {
      for (std::size_t other = first; other < last; ++other) {
        distances[row * all + other] = distance_of_rows(rows.subspan(row * dimensions, dimensions), embeddings[other],
                                                        products[(other - first) * stride + row]);
      }
    }
  });
}

}  // namespace

float distance_of_rows(std::span<const float> a, std::span<const float> b, float product) {
  if (product < kNear) return std::sqrt(2 - 2 * product);
  return std::sqrt(
      engine::kernels::product_kernels().squared_distance(a.data(), b.data(), static_cast<std::int64_t>(a.size())));
}

void Embeddings::add(std::span<const float> row) {
  dimensions = row.size();
  double squares = 0;
  for (const float value : row) squares += static_cast<double>(value) * value;
  // A row of zeros has no direction and stays as it is.
  const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
  for (const float value : row) values.push_back(static_cast<float>(value * scale));
}

void each_distance_block(const Embeddings& embeddings, int threads,
                         const std::function<void(std::size_t, std::size_t, std::span<const float>)>& tell) {
  if (embeddings.size() == 0) return;
  const std::size_t all = embeddings.size(), rows = std::clamp(kBlockValues / all, kLeastBlockRows, kMostBlockRows);
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

}  // namespace evener::faces
