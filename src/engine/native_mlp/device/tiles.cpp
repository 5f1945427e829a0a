#include <algorithm>

#include "engine/native_mlp/device/kernels.h"

namespace evener::engine::native_mlp {

TileShape tile_shape_for(const DeviceFacts& device) {
  if (!device.is_cpu) return {};
  const int vector = device.vector_floats >= 16 ? 16 : 8;
  return {vector, /*rows=*/8, /*items_x=*/64 / vector, /*items_y=*/8, /*depth=*/64, /*load=*/vector};
}

void build_device_kernels(Accelerator& accelerator, const TileShape& tile) {
  accelerator.build(device_kernels(), {{"VECTOR", tile.vector},
                                       {"TILE_ROWS", tile.rows},
                                       {"ITEMS_X", tile.items_x},
                                       {"ITEMS_Y", tile.items_y},
                                       {"DEPTH", tile.depth},
                                       {"LOAD", tile.load},
                                       {"SINGLE_ITEMS", kItems}});
}

std::size_t groups_for(std::int64_t count, std::int64_t in_one) {
  return static_cast<std::size_t>((count + in_one - 1) / in_one);
}

Grid tiles_of(const TileShape& tile, std::int64_t rows, std::int64_t columns) {
  return {{groups_for(columns, tile.tile_columns()), groups_for(rows, tile.tile_rows())},
          {static_cast<std::size_t>(tile.items_x), static_cast<std::size_t>(tile.items_y)}};
}

std::int64_t part_length_for(const TileShape& tile, const DeviceFacts& device, std::int64_t rows, std::int64_t columns,
                             std::int64_t summed) {
  constexpr std::int64_t kLeastPieces = 4;  // with fewer pieces, adding up the parts costs more than it saves
  const auto count = [](std::int64_t value, std::int64_t in_one) { return (value + in_one - 1) / in_one; };
  const std::int64_t tiles = count(rows, tile.tile_rows()) * count(columns, tile.tile_columns());
  const std::int64_t pieces = count(summed, tile.depth);
  const std::int64_t parts =
      std::max<std::int64_t>(1, std::min<std::int64_t>(device.multiprocessors / tiles, pieces / kLeastPieces));
  return count(pieces, parts) * tile.depth;
}

std::size_t most_part_values(const TileShape& tile, const DeviceFacts& device) {
  // There are at most as many parts as multiprocessors, each with the size of a tile.
  return static_cast<std::size_t>(std::max(1, device.multiprocessors)) * static_cast<std::size_t>(tile.tile_rows()) *
         static_cast<std::size_t>(tile.tile_columns());
}

}  // namespace evener::engine::native_mlp
