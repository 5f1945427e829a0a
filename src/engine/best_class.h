// The predicted class of a network's scores: one rule for engines on the CPU and for readers of a runner's outputs, so
// that accuracies agree. Device code has the same rule.
#pragma once

#include <cstdint>

namespace evener::engine {

/// The index of the highest of `classes` scores, at least one; the lowest index of equal ones. Always inlined, for it
/// is compiled into kernels for several instruction sets, which a linker must not merge.
[[gnu::always_inline]] inline std::int32_t best_class(const float* scores, std::int64_t classes) {
  std::int32_t best = 0;
  for (std::int32_t c = 1; c < classes; ++c) {
    if (scores[c] > scores[best]) best = c;
  }
  return best;
}

}  // namespace evener::engine
