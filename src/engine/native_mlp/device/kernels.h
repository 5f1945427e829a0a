// The kernels of a perceptron for accelerators: one text that is compiled at run time as OpenCL C (1.2 or newer) and as
// CUDA C++, after a prelude of macros for the one or the other.
//
// Products have their sums in registers: an item computes TILE_ROWS rows of VECTOR columns, a group ITEMS_Y x ITEMS_X
// times that, going through the summed dimension in pieces of DEPTH that lie in memory shared by the group. Weights are
// kept as (inputs, outputs), so that the two products of the first layer read all their operands row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/native_mlp/device/accelerator.h"

namespace evener::engine::native_mlp {

/// Macros that the kernels want, beside a prelude.
struct TileShape {
  int vector = 4, rows = 2, items_x = 8, items_y = 16, depth = 32;
  int load = 1;  // values that an item fetches at once: 1 where neighbouring items fetch together, or `vector`

  int tile_columns() const { return vector * items_x; }
  int tile_rows() const { return rows * items_y; }
};

/// Items of a group in kernels that aren't products.
constexpr int kItems = 128;

/// 32-bit words before the arrays of a block of work (Header), which are: the samples' indices in the data, their
/// labels, their second labels, the first labels' shares, each `count` long; then pixels.
constexpr int kHeaderWords = 8, kBlockArrays = 4;

/// Words at the begin of a block. A step is told by the block alone what changes from step to step, so that it can be
/// replayed.
struct Header {
  float rate = 0, weight = 0, average_share = 0;
  std::int32_t result = 0;  // place of its result
  std::int32_t unused[4] = {};
};
static_assert(sizeof(Header) == kHeaderWords * 4);

/// What a kernel `loss` leaves: sum of the losses, correct ones, 1 if a step before or this one had a loss that isn't
/// finite.
struct DeviceResult {
  float loss = 0, correct = 0, stopped = 0, unused = 0;
};

// Purposes of the kernel `loss`, modes of `weight_gradient`.
constexpr int kLossOnly = 0, kLossAndSlopes = 1, kLossOfStep = 2;
constexpr int kUpdateAtOnce = 0, kWriteGradient = 1, kAddGradient = 2;

/// The text without a prelude (opencl/prelude.h, cuda/prelude.h).
const std::string& device_kernels();

/// A CPU has few items with wide registers and no use for neighbours that fetch together; a GPU the opposite, and for
/// small batches as many groups as can be had.
TileShape tile_shape_for(const DeviceFacts& device);
/// A product of few tiles leaves most of a device without work: its summed dimension is divided then. How much of that
/// a part has, a multiple of the tiles' depth; `summed` or more: it stays whole.
std::int64_t part_length_for(const TileShape& tile, const DeviceFacts& device, std::int64_t rows, std::int64_t columns,
                             std::int64_t summed);
/// float32 values that all parts of any such product have at most.
std::size_t most_part_values(const TileShape& tile, const DeviceFacts& device);
/// Throws Error with what the compiler says.
void build_device_kernels(Accelerator& accelerator, const TileShape& tile);
/// Groups, of which each has `in_one`, for so many.
std::size_t groups_for(std::int64_t count, std::int64_t in_one);
/// For a kernel that computes a matrix of so many rows and columns.
Grid tiles_of(const TileShape& tile, std::int64_t rows, std::int64_t columns);

}  // namespace evener::engine::native_mlp
