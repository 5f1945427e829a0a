// Our own CPU kernels for dot products of rows with rows, by which embeddings are compared (block_products.h). A block
// of rows is packed into panels, whose columns are the block's rows. No library is used here.
#pragma once

#include <cstdint>

#include "engine/kernels/kernels.h"

namespace evener::engine::kernels {

/// A block of rows, which lie one after the other.
struct RowBlock {
  const float* at;
  std::int64_t count;
  std::int64_t values;
};

/// The kernels of products. T: the type of the values in panels.
template <class T>
struct PanelKernels {
  std::int64_t columns;  // of a panel
  std::int64_t rows;     // rows of `others` that are done together; `out` must have room for a multiple of it
  std::int64_t values;   // rows in panels are filled up with zeros to a multiple of this many values
  /// Packs a block's rows into panels; columns after the last row are zeros.
  void (*pack)(const RowBlock& block, T* panels);
  /// Writes all products to `out` (others.count, panel_count * columns), with rows out_stride floats apart; rows after
  /// others.count are garbage. `scratch` has room for `rows` rows of values.
  void (*multiply)(const RowBlock& others, const T* panels, std::int64_t panel_count, float* out,
                   std::int64_t out_stride, T* scratch);
};

struct ProductKernels {
  PanelKernels<float> fp32;
  /// The dot product of two rows.
  float (*product)(const float* a, const float* b, std::int64_t values);
  /// The squared distance of two rows, from their differences: accurate also where they are near each other.
  float (*squared_distance)(const float* a, const float* b, std::int64_t values);
  /// Stores the indices of those of `count` values that are at least `least`, or at least the element of `least_of`
  /// with the same index; returns their number.
  std::int64_t (*places_not_below)(const float* values, const float* least_of, float least, std::int64_t count,
                                   std::int32_t* places);
};

/// The kernels for this processor: the widest of AVX-512, AVX2 and plain x86-64 that it has.
const ProductKernels& product_kernels();

}  // namespace evener::engine::kernels
