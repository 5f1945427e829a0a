// How a piece of work is divided among those who do it.
#pragma once

#include <cstdint>

namespace evener::engine::native_mlp {

struct Range {
  std::int64_t begin, end;
};

/// A part of some work: [begin, end) of `whole`.
struct Portion {
  std::int64_t begin = 0, end = 1, whole = 1;

  /// What of `count` things belongs to it: [begin, end), multiples of `unit` but for the end. Those of portions that
  /// make up the whole follow each other without a gap.
  Range of(std::int64_t count, std::int64_t unit = 1) const;
  /// One of `parts` equal parts of it.
  Portion part(int index, int parts) const;
};

}  // namespace evener::engine::native_mlp
