// The products of a block of rows with any number of others: what comparing all embeddings with all consists of.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/huge_pages.h"
#include "base/precision.h"
#include "engine/kernels/kernels.h"

namespace evener::engine::kernels {

/// Begins at a cache line: tile registers load and store whole ones, which takes twice the time across two.
template <class T>
using AlignedVector = std::vector<T, PageAllocator<T>>;

/// In fp32, or, many times as fast, in bf16 with sums in fp32 where the processor has_bfloat16_tiles().
class BlockProducts {
 public:
  /// `rows` one after the other, each of so many values. `precision`: kFp32 or kBf16.
  BlockProducts(std::span<const float> rows, std::int64_t values, Precision precision);

  /// Floats from one row of results to the next: at least as many as the block has rows.
  std::int64_t stride() const;
  /// The product of row i of `others` with row k of the block comes to out[i * stride() + k], for the first `columns`
  /// rows of the block or some more. May be called by several threads at once.
  void multiply(std::span<const float> others, std::int64_t columns, AlignedVector<float>& out) const;

  /// How far a product of two rows of length 1 may be from the true one.
  static float largest_error(Precision precision);

 private:
  const std::int64_t values_, count_;
  std::variant<AlignedVector<float>, AlignedVector<BFloat16>> panels_;
};

}  // namespace evener::engine::kernels
