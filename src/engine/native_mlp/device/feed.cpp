#include "engine/native_mlp/device/feed.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/names.h"
#include "base/phase.h"
#include "engine/engine.h"

namespace evener::engine::native_mlp {
namespace {

/// Bytes of images that are uploaded at once.
constexpr std::size_t kUpload_bytes = std::size_t{16} << 20;

}  // namespace

DeviceFeed::DeviceFeed(Accelerator& accelerator, const data::Dataset* resident) : accelerator_(accelerator) {
  if (resident != nullptr) upload(*resident);
}

void DeviceFeed::upload(const data::Dataset& dataset) {
  const PhaseMark mark(Phase::kH2D);
  const std::size_t image_bytes = dataset.shape().bytes(), bytes = dataset.size() * image_bytes;
  try {
    images_ = accelerator_.allocate(bytes);
  } catch (const OutOfMemory& error) {
    throw OutOfMemory("--data-on device: the images take " + bytes_text(bytes) + ": " + error.what() +
                      "; use --data-on host, or a smaller --size");
  }
  images_bytes_ = bytes;
  resident_count_ = dataset.size();
  const std::size_t together = std::clamp<std::size_t>(kUpload_bytes / image_bytes, 1, dataset.size());
  const auto staging = accelerator_.allocate_host(together * image_bytes);
  for (std::size_t begin = 0; begin < dataset.size(); begin += together) {
    const std::size_t count = std::min(together, dataset.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      auto* to = reinterpret_cast<std::uint8_t*>(staging->data()) + i * image_bytes;
      dataset.read(begin + i, {to, image_bytes});
    }
    accelerator_.copy_in(*images_, begin * image_bytes, staging->data(), count * image_bytes);
    accelerator_.finish();
  }
}

void DeviceFeed::check(const data::Batch& batch) const {
  if (!images_) {
    const std::size_t wanted = static_cast<std::size_t>(batch.count) * batch.shape.bytes();
    if (batch.images.size() == wanted) return;
    throw Error("a batch of " + std::to_string(batch.count) + " images came with " +
                std::to_string(batch.images.size()) + " bytes of pixels instead of " + std::to_string(wanted) +
                ", and the device keeps no data (--data-on device)");
  }
  for (const std::uint32_t sample : batch.samples) {
    if (sample < resident_count_) continue;
    throw Error("a batch has image " + std::to_string(sample) + ", but the device keeps " +
                std::to_string(resident_count_) + " images");
  }
}

std::byte* DeviceFeed::room(std::size_t bytes) {
  if (block_bytes_ < bytes) {
    accelerator_.finish();
    block_.reset();
    block_bytes_ = 0;
    block_ = accelerator_.allocate(bytes);
    block_bytes_ = bytes;
    ++moves_;
  }
  Slot& slot = slots_[next_];
  if (slot.copied) slot.copied->wait();
  if (slot.bytes < bytes) {
    slot.memory.reset();
    slot.memory = accelerator_.allocate_host(bytes);
    slot.bytes = bytes;
  }
  return slot.memory->data();
}

void DeviceFeed::send(std::size_t bytes) {
  Slot& slot = slots_[next_];
  accelerator_.copy_in(*block_, 0, slot.memory->data(), bytes);
  slot.copied = accelerator_.mark();
  next_ = (next_ + 1) % slots_.size();
}

DeviceBatch DeviceFeed::put(const data::Batch& batch, const Header& header) {
  const PhaseMark mark(Phase::kH2D);
  check(batch);
  const auto count = static_cast<std::size_t>(batch.count);
  const auto* mixed = std::get_if<data::MixedClassTargets>(&batch.targets);
  const std::size_t words = kHeaderWords + kBlockArrays * count;
  const std::size_t bytes = words * 4 + (images_ ? 0 : batch.images.size());
  std::byte* block = room(bytes);
  std::memcpy(block, &header, sizeof header);
  const auto put_words = [&](std::size_t array, const auto& values) {
    std::memcpy(block + (kHeaderWords + array * count) * 4, values.data(), values.size() * 4);
  };
  if (images_) put_words(0, batch.samples);
  put_words(1, data::class_labels(batch.targets));
  if (mixed != nullptr) put_words(2, mixed->second_labels);
  if (mixed != nullptr) put_words(3, mixed->label_weights);
  if (!images_) std::memcpy(block + words * 4, batch.images.data(), batch.images.size());
  send(bytes);
  return {batch.count, mixed != nullptr, block_.get(), images_.get()};
}

const DeviceMemory& DeviceFeed::put(const Header& header) {
  std::memcpy(room(sizeof header), &header, sizeof header);
  send(sizeof header);
  return *block_;
}

}  // namespace evener::engine::native_mlp
