#include "task/faces/coarse_rows.h"

#include <algorithm>
#include <cmath>

#include "data/each_index.h"

namespace evener::task {
namespace {

constexpr float kMost = 127;
constexpr float kLongest = 40'000;  // of a row in steps: products of two fit into 32 bits

}  // namespace

CoarseRows::CoarseRows(const Embeddings& embeddings, int threads)
    : blocks_((embeddings.dimensions + kLine - 1) / kLine),
      values_(embeddings.size() * blocks_ * kLine),
      steps_(embeddings.size()) {
  data::for_each_index(embeddings.size(), threads, [&](std::size_t row) {
    const auto from = embeddings[row];
    float largest = 0;
    for (const float value : from) largest = std::max(largest, std::abs(value));
    steps_[row] = std::max(largest / kMost, 1 / kLongest);
    std::ranges::transform(from, values_.begin() + static_cast<std::ptrdiff_t>(row * blocks_ * kLine),
                           [&](float value) { return static_cast<std::int8_t>(std::lround(value / steps_[row])); });
  });
}

float CoarseRows::cosine(std::size_t a, std::size_t b) const {
  const std::int32_t product =
      engine::kernels::product_kernels().byte_product(at(a), at(b), static_cast<std::int64_t>(blocks_));
  return static_cast<float>(product) * (steps_[a] * steps_[b]);  // the same of b and a
}

void CoarseRows::fetch(std::size_t row) const {
  const std::int8_t* const values = at(row);
  for (std::size_t block = 0; block < blocks_; ++block) __builtin_prefetch(values + block * kLine);
  __builtin_prefetch(&steps_[row]);
}

}  // namespace evener::task
