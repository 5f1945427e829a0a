// Divides a piece of work among replicas and threads.
#pragma once

#include <cstdint>

namespace evener::engine::native_mlp {

struct Range {
  std::int64_t begin, end;
};

/// The part [begin, end) of a piece of work that has the size `whole`.
struct Portion {
  std::int64_t begin = 0, end = 1, whole = 1;

  /// The range of `count` items that belongs to this portion; its bounds are multiples of `unit`, except at the last
  /// item. Portions that make up the whole get ranges without gaps.
  Range of(std::int64_t count, std::int64_t unit = 1) const;
  /// Part `index` of `parts` equal parts of this portion.
  Portion part(int index, int parts) const;
};

}  // namespace evener::engine::native_mlp
