// Extents as LibTorch takes them.
#pragma once

#include <array>
#include <cstdint>

#include "network/network.h"

namespace evener::engine::torch_engine {

/// Height and width.
inline std::array<std::int64_t, 2> sides(const network::Extent2d& extent) {
  return {extent.height, extent.width};
}

}  // namespace evener::engine::torch_engine
