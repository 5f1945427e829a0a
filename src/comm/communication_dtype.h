// Converts float32 and double values to and from their form in staging memory (bfloat16 or unchanged), and sums them
// there. The loops are plain so that compilers vectorise them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace evener::comm {

/// A bfloat16: the upper half of a float32.
struct BFloat16 {
  std::uint16_t bits;
};

/// The nearest bfloat16, ties to even; NaN stays NaN.
inline BFloat16 narrowed(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const std::uint32_t nan = (bits >> 16) | 0x40;  // adding could carry a NaN's bits into infinity
  return {static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded)};
}

inline float widened(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

template <typename Value, typename Slot>
void to_communicated(const Value* __restrict from, std::size_t count, Slot* __restrict to) {
  if constexpr (std::is_same_v<Value, Slot>) {
    std::copy_n(from, count, to);
  } else {
    for (std::size_t i = 0; i < count; ++i) to[i] = narrowed(from[i]);
  }
}

template <typename Slot, typename Value>
void from_communicated(const Slot* __restrict from, std::size_t count, Value* __restrict to) {
  if constexpr (std::is_same_v<Value, Slot>) {
    std::copy_n(from, count, to);
  } else {
    for (std::size_t i = 0; i < count; ++i) to[i] = widened(from[i]);
  }
}

template <typename Slot, typename Value>
void add_communicated(const Slot* __restrict from, std::size_t count, Value* __restrict to) {
  if constexpr (std::is_same_v<Value, Slot>) {
    for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
  } else {
    for (std::size_t i = 0; i < count; ++i) to[i] += widened(from[i]);
  }
}

/// `sum`, which may be one of `parts`, becomes the sum of the parts, added up as `Value` in their order.
template <typename Value, typename Slot>
void sum_in_order(std::span<const Slot* const> parts, std::size_t count, Slot* sum) {
  constexpr std::size_t kBlock = 1024;  // stays in the nearest cache
  Value block[kBlock];
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t size = std::min(kBlock, count - begin);
    from_communicated(parts[0] + begin, size, block);
    for (const Slot* part : parts.subspan(1)) add_communicated(part + begin, size, block);
    to_communicated(block, size, sum + begin);
  }
}

/// Walks through `parts` as if they were one long vector.
template <typename Value>
class PartsWalk {
 public:
  explicit PartsWalk(std::span<const std::span<Value>> parts) : parts_(parts) {}

  /// Calls use(values, their count, how many came before) for the next `count` values, run by run.
  void next(std::size_t count, const auto& use) {
    for (std::size_t done = 0; done < count;) {
      const std::span<Value> rest = parts_[part_].subspan(offset_);
      const std::size_t size = std::min(rest.size(), count - done);
      if (size > 0) use(rest.data(), size, done);
      done += size;
      offset_ += size;
      if (offset_ == parts_[part_].size()) {
        ++part_;
        offset_ = 0;
      }
    }
  }

 private:
  std::span<const std::span<Value>> parts_;
  std::size_t part_ = 0, offset_ = 0;
};

}  // namespace evener::comm
