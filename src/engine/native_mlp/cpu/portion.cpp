#include "engine/native_mlp/cpu/portion.h"

#include <algorithm>

namespace evener::engine::native_mlp {

Range Portion::of(std::int64_t count, std::int64_t unit) const {
  const std::int64_t units = (count + unit - 1) / unit;
  return {std::min(count, units * begin / whole * unit), std::min(count, units * end / whole * unit)};
}

Portion Portion::part(int index, int parts) const {
  const std::int64_t length = end - begin;
  return {begin * parts + length * index, begin * parts + length * (index + 1), whole * parts};
}

}  // namespace evener::engine::native_mlp
