#include "data/pixel_cache.h"

#include <algorithm>
#include <cstring>

#include "base/memory.h"

namespace evener::data {

PixelCache::PixelCache(std::size_t samples, std::size_t bytes_per_sample, std::size_t limit_bytes)
    : bytes_per_sample_(bytes_per_sample),
      capacity_(std::min(samples, limit_bytes / std::max<std::size_t>(bytes_per_sample, 1))),
      pixels_(static_cast<std::uint8_t*>(allocate_pages(capacity_ * bytes_per_sample)), &std::free),
      states_(std::make_unique<std::atomic<State>[]>(capacity_)) {}

const std::uint8_t* PixelCache::find(std::size_t sample) const {
  if (sample >= capacity_ || states_[sample].load(std::memory_order_acquire) != State::kReady) return nullptr;
  return pixels_.get() + sample * bytes_per_sample_;
}

bool PixelCache::load(std::size_t sample, std::span<std::uint8_t> out) const {
  const std::uint8_t* pixels = find(sample);
  if (pixels == nullptr) return false;
  std::memcpy(out.data(), pixels, bytes_per_sample_);
  return true;
}

void PixelCache::store(std::size_t sample, std::span<const std::uint8_t> pixels) {
  if (sample >= capacity_) return;
  State expected = State::kEmpty;
  if (!states_[sample].compare_exchange_strong(expected, State::kFilling)) return;
  std::memcpy(pixels_.get() + sample * bytes_per_sample_, pixels.data(), bytes_per_sample_);
  states_[sample].store(State::kReady, std::memory_order_release);
}

}  // namespace evener::data
