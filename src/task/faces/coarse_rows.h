// Embeddings in 8 bits a value: a quarter of the memory that a comparison has to read. A cosine of two has an error of
// some 0.001, which is enough to find the way to those that are near.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/huge_pages.h"
#include "engine/kernels/product_kernels.h"
#include "task/faces/compare.h"

namespace evener::task {

class CoarseRows {
 public:
  CoarseRows(const Embeddings& embeddings, int threads);

  /// The cosine of two rows, nearly.
  float cosine(std::size_t a, std::size_t b) const;
  /// Asks the caches for a row that will be compared soon.
  void fetch(std::size_t row) const;

 private:
  const std::int8_t* at(std::size_t row) const { return values_.data() + row * blocks_ * kLine; }

  /// A line of the caches. A row has a multiple of it, the rest zeros.
  static constexpr auto kLine = static_cast<std::size_t>(engine::kernels::kBytesTogether);

  std::size_t blocks_;  // of kLine values
  std::vector<std::int8_t, PageAllocator<std::int8_t>> values_;
  std::vector<float> steps_;  // what 1 stands for in each row
};

}  // namespace evener::task
