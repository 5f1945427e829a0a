// The kernels of a perceptron for accelerators: one source text that is compiled at run time as OpenCL C (1.2 or newer)
// or as CUDA C++, after a prelude of macros for either language.
//
// Products keep their sums in registers: an item computes TILE_ROWS rows of VECTOR columns, and a group ITEMS_Y x
// ITEMS_X times that. A group goes through the summed dimension in pieces of DEPTH, which it loads into memory shared
// by its items. Weights are kept as (inputs, outputs), so that the two products of the first layer read all their
// operands row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/native_mlp/device/accelerator.h"

namespace evener::engine::native_mlp {

/// Values of the macros that the kernels need beside a prelude.
struct TileShape {
  int vector = 4, rows = 2, items_x = 8, items_y = 16, depth = 32;
  int load = 1;  // values that an item fetches at once: 1 where neighbouring items fetch together, or `vector`

  int tile_columns() const { return vector * items_x; }
  int tile_rows() const { return rows * items_y; }
};

/// Items of a group in kernels that aren't products.
constexpr int kItems = 128;

/// A block of work is a Header of kHeaderWords 32-bit words, then kBlockArrays arrays of `count` words each: the
/// samples' indices in the data, their labels, their second labels, and the first labels' shares; then pixels.
constexpr int kHeaderWords = 8, kBlockArrays = 4;

/// The first words of a block. All that changes from step to step is in the block and not in kernel arguments, so that
/// recorded steps can be replayed.
struct Header {
  float rate = 0, weight = 0, average_share = 0;
  std::int32_t result = 0;  // index of the step's result
  std::int32_t unused[4] = {};
};
static_assert(sizeof(Header) == kHeaderWords * 4);

/// The result of the kernel `loss`: the sum of the losses, the number of correct predictions, and 1 if the loss of this
/// step or an earlier one was not finite.
struct DeviceResult {
  float loss = 0, correct = 0, stopped = 0, unused = 0;
};

// Purposes of the kernel `loss`, modes of `weight_gradient`.
constexpr int kLossOnly = 0, kLossAndSlopes = 1, kLossOfStep = 2;
constexpr int kUpdateAtOnce = 0, kWriteGradient = 1, kAddGradient = 2;

/// The source text without a prelude (opencl/module.cpp, cuda/libraries.cpp).
const std::string& device_kernels();

/// The tile shape for a device. CPUs get few items with wide registers, whose fetches needn't be coalesced; GPUs get
/// many items with coalesced fetches, and as many groups as possible for small batches.
TileShape tile_shape_for(const DeviceFacts& device);
/// The length of the parts that a product's summed dimension is divided into, a multiple of the tiles' depth; `summed`
/// or more: it isn't divided. A product of few tiles would otherwise leave most of a device idle.
std::int64_t part_length_for(const TileShape& tile, const DeviceFacts& device, std::int64_t rows, std::int64_t columns,
                             std::int64_t summed);
/// The largest number of float32 values in the partial results of any such product.
std::size_t most_part_values(const TileShape& tile, const DeviceFacts& device);
/// Compiles the kernels for the accelerator. Throws Error with the compiler's log.
void build_device_kernels(Accelerator& accelerator, const TileShape& tile);
/// The number of groups for `count` items, with `in_one` items each.
std::size_t groups_for(std::int64_t count, std::int64_t in_one);
/// The grid of a kernel that computes a matrix of `rows` rows and `columns` columns.
Grid tiles_of(const TileShape& tile, std::int64_t rows, std::int64_t columns);

}  // namespace evener::engine::native_mlp
