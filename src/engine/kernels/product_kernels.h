// Our own CPU kernels for products of rows with rows, of which embeddings are compared (block_products.h). A block of
// rows lies in panels, so that its rows are the columns of the results. No library in here.
#pragma once

#include <cstdint>

#include "engine/kernels/kernels.h"

namespace evener::engine::kernels {

/// Each of so many values, one after the other.
struct RowBlock {
  const float* at;
  std::int64_t count;
  std::int64_t values;
};

/// How products are computed. T is what panels consist of.
template <class T>
struct PanelKernels {
  std::int64_t columns;  // of a panel
  std::int64_t rows;     // of the others are done together: the room for results is for a multiple of it
  std::int64_t values;   // a row in a panel has a multiple of so many, the last ones zeros
  /// Brings a block's rows into panels; columns behind the last row are zeros.
  void (*pack)(const RowBlock& block, T* panels);
  /// out (others.count, panel_count * columns), rows out_stride floats apart; what is behind the others' last row is of
  /// no use. `scratch` has room for `rows` rows of values.
  void (*multiply)(const RowBlock& others, const T* panels, std::int64_t panel_count, float* out,
                   std::int64_t out_stride, T* scratch);
};

struct ProductKernels {
  PanelKernels<float> fp32;
  /// Of two rows alone.
  float (*product)(const float* a, const float* b, std::int64_t values);
  /// The sum of the squares of what two rows differ by: exact where they are near each other.
  float (*squared_distance)(const float* a, const float* b, std::int64_t values);
  /// Stores the places of those of `count` values that are not below `least`, or not below what least_of has there;
  /// returns how many they are.
  std::int64_t (*places_not_below)(const float* values, const float* least_of, float least, std::int64_t count,
                                   std::int32_t* places);
};

/// The kernels for this processor: the widest of AVX-512, AVX2 and plain x86-64 that it has.
const ProductKernels& product_kernels();

}  // namespace evener::engine::kernels
