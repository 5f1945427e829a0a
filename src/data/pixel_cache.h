// Decoded samples kept in memory, filled as they are first read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

namespace evener::data {

/// A cache for the pixels of the first samples of a dataset, as many as the limit allows. Thread-safe; takes memory
/// only as it is filled.
class PixelCache {
 public:
  PixelCache(std::size_t samples, std::size_t bytes_per_sample, std::size_t limit_bytes);

  /// The pixels of a sample; null if it is not in the cache.
  const std::uint8_t* find(std::size_t sample) const;
  /// Copies a sample into `out`; false if it is not in the cache.
  bool load(std::size_t sample, std::span<std::uint8_t> out) const;
  /// Stores a sample, if the cache has room for it and it isn't stored yet.
  void store(std::size_t sample, std::span<const std::uint8_t> pixels);

 private:
  enum class State : std::uint8_t { kEmpty, kFilling, kReady };

  std::size_t bytes_per_sample_;
  std::size_t capacity_;
  std::unique_ptr<std::uint8_t, decltype(&std::free)> pixels_;
  std::unique_ptr<std::atomic<State>[]> states_;
};

}  // namespace evener::data
