#include "engine/native_mlp/sample_images.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace evener::engine::native_mlp {
namespace {

template <class Value>
Value* as(const Array& array) {
  return reinterpret_cast<Value*>(array.data());
}

template <class Value>
void put_at(const Array& array, std::int64_t begin, std::span<const Value> values) {
  std::ranges::copy(values, as<Value>(array) + begin);
}

template <class Value>
std::span<const Value> first(const Array& array, std::int64_t count) {
  return {as<Value>(array), static_cast<std::size_t>(count)};
}

}  // namespace

const std::uint8_t* SampleImages::in_memory(std::uint32_t sample) const {
  if (!dataset_) throw Error("a batch came without pixels, and there is no data to take them from");
  if (sample >= dataset_->size()) {
    throw Error("a batch has image " + std::to_string(sample) + ", but the data has " +
                std::to_string(dataset_->size()));
  }
  return dataset_->pixels(sample);
}

const std::uint8_t* SampleImages::pixels(const data::Batch& batch, std::size_t index) {
  const std::size_t bytes = batch.shape.bytes();
  if (!batch.images.empty()) return batch.images.data() + index * bytes;
  const std::uint32_t sample = batch.samples[index];
  if (const std::uint8_t* place = in_memory(sample); place != nullptr) return place;
  // Makes room for all samples at once, so that pixels read for earlier samples don't move.
  made_.resize(std::max(made_.size(), batch.samples.size() * bytes));
  const auto place = std::span(made_).subspan(index * bytes, bytes);
  read(sample, place);
  return place.data();
}

Samples SampleImages::of(const data::Batch& batch) {
  places_.resize(static_cast<std::size_t>(batch.count));
  for (std::size_t i = 0; i < places_.size(); ++i) places_[i] = pixels(batch, i);
  return {batch, places_.data()};
}

SharedBatch::SharedBatch(std::int64_t samples, std::size_t image_bytes, Arena& arena)
    : image_bytes_(image_bytes),
      mixed_(arena.take(1)),
      samples_(arena.take(samples)),
      labels_(arena.take(samples)),
      second_labels_(arena.take(samples)),
      label_weights_(arena.take(samples)),
      has_pixels_(arena.take((samples + 3) / 4)),
      pixels_(arena.take((samples * static_cast<std::int64_t>(image_bytes) + 3) / 4)) {}

void SharedBatch::put(const data::Batch& share, std::int64_t begin, const SampleImages& images) {
  put_at(samples_, begin, share.samples);
  put_at(labels_, begin, data::class_labels(share.targets));
  const auto* mixed = std::get_if<data::MixedClassTargets>(&share.targets);
  if (mixed != nullptr) {
    put_at(second_labels_, begin, mixed->second_labels);
    put_at(label_weights_, begin, mixed->label_weights);
  }
  // All shares with samples agree on this, so that one of them suffices.
  if (share.count > 0 && begin == 0) *as<std::int32_t>(mixed_) = mixed != nullptr ? 1 : 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(share.count); ++i) {
    const std::size_t place = static_cast<std::size_t>(begin) + i;
    const bool given = !share.images.empty();
    const bool brings = given || images.in_memory(share.samples[i]) == nullptr;
    as<std::uint8_t>(has_pixels_)[place] = brings ? 1 : 0;
    const std::span to(as<std::uint8_t>(pixels_) + place * image_bytes_, image_bytes_);
    if (given) {
      std::ranges::copy(share.images.subspan(i * image_bytes_, image_bytes_), to.begin());
    } else if (brings) {
      images.read(share.samples[i], to);
    }
  }
}

Samples SharedBatch::whole(std::int64_t count, const data::Batch& share, SampleImages& images) {
  const auto labels = first<std::int32_t>(labels_, count);
  data::Targets targets = data::ClassTargets{labels};
  if (*as<std::int32_t>(mixed_) != 0) {
    targets = data::MixedClassTargets{labels, first<std::int32_t>(second_labels_, count),
                                      first<float>(label_weights_, count)};
  }
  whole_ = {count, share.shape, {}, targets, first<std::uint32_t>(samples_, count), share.epoch};
  places_.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const bool here = as<std::uint8_t>(has_pixels_)[i] != 0;
    places_[i] = here ? as<std::uint8_t>(pixels_) + i * image_bytes_ : images.pixels(whole_, i);
  }
  return {whole_, places_.data()};
}

}  // namespace evener::engine::native_mlp
