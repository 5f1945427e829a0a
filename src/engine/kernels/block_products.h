// The dot products of a block of rows with any number of other rows, for comparing all embeddings with each other.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/memory.h"
#include "base/precision.h"
#include "engine/kernels/kernels.h"

namespace evener::engine::kernels {

/// Begins at a cache line: tile registers load and store whole ones, which takes twice the time across two.
template <class T>
using AlignedVector = std::vector<T, PageAllocator<T>>;

/// A packed block of rows. Computes in fp32, or many times as fast in bf16 with sums in fp32 where
/// has_bfloat16_tiles().
class BlockProducts {
 public:
  /// `rows`: the block's rows, one after the other, with `values` values each. `precision`: kFp32 or kBf16.
  BlockProducts(std::span<const float> rows, std::int64_t values, Precision precision);

  /// Floats from one row of results to the next: at least as many as the block has rows.
  std::int64_t stride() const;
  /// Writes the product of row i of `others` with row k of the block to out[i * stride() + k], at least for the first
  /// `columns` rows of the block. May be called by several threads at once.
  void multiply(std::span<const float> others, std::int64_t columns, AlignedVector<float>& out) const;

  /// The largest error of a product of two rows of length 1.
  static float largest_error(Precision precision);

 private:
  const std::int64_t values_, count_;
  std::variant<AlignedVector<float>, AlignedVector<BFloat16>> panels_;
};

}  // namespace evener::engine::kernels
