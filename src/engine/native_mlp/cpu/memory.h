// Memory of the kernels: aligned, zeroed, in huge pages where the system has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "base/memory.h"

namespace evener::engine::native_mlp {

struct FreeUnlessForeign {
  bool owns = true;
  void operator()(float* values) const {
    if (owns) std::free(values);
  }
};

/// An array of float32 (or of units) that begins at a multiple of 64 bytes; all zero at first.
class Array {
 public:
  Array() = default;
  explicit Array(std::size_t count) : count_(count) {
    if (count == 0) return;
    // Huge pages: the weight gradient walks down columns of the inputs, where each sample is in another page of 4 KiB.
    const std::size_t whole_lines = (count + kLine - 1) / kLine * kLine;
    values_.reset(static_cast<float*>(allocate_pages(whole_lines * sizeof(float))));
    std::fill_n(values_.get(), whole_lines, 0.0F);
  }

  /// An array on foreign memory, which has to outlive it.
  Array(float* values, std::size_t count) : values_(values, FreeUnlessForeign{false}), count_(count) {}

  float* data() const { return values_.get(); }
  std::size_t size() const { return count_; }
  explicit operator bool() const { return count_ > 0; }

 private:
  static constexpr std::size_t kLine = 16;  // values of a cache line
  std::unique_ptr<float, FreeUnlessForeign> values_;
  std::size_t count_ = 0;
};

/// Hands out arrays: each with memory of its own, or all from one piece that replicas share, which is zero at first.
class Arena {
 public:
  Arena() = default;
  explicit Arena(std::span<std::byte> shared) : shared_(shared), shares_(true) {}
  /// An arena that only counts bytes: its arrays are empty.
  static Arena counting() { return Arena(std::span<std::byte>()); }

  Array take(std::int64_t count) {
    if (!shares_) return Array(static_cast<std::size_t>(count));
    const std::size_t begin = taken_bytes_, size = static_cast<std::size_t>(count);
    taken_bytes_ += (size * sizeof(float) + kAlignment_bytes - 1) / kAlignment_bytes * kAlignment_bytes;
    if (shared_.empty() || count == 0) return {};
    return {reinterpret_cast<float*>(shared_.data() + begin), size};
  }
  /// Bytes of the shared piece that were handed out.
  std::size_t taken_bytes() const { return taken_bytes_; }

 private:
  static constexpr std::size_t kAlignment_bytes = 128;  // processors fetch lines in pairs
  std::span<std::byte> shared_;
  bool shares_ = false;
  std::size_t taken_bytes_ = 0;
};

}  // namespace evener::engine::native_mlp
