#include "data/sample_reader.h"

#include <string>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/phase.h"

namespace evener::data {
namespace {

void make_room_for(const AugmentOptions& options, std::size_t count, BatchMemory::Changes& changes) {
  changes.moves.resize(options.has_moves() ? count : 0);
  changes.colours.resize(options.colour > 0 ? count : 0);
}

}  // namespace

Batch BatchMemory::view(const ImageShape& shape, std::uint64_t epoch) const {
  const auto of = [](const Changes& of_images) { return ImageChanges{of_images.moves, of_images.colours}; };
  return {static_cast<std::int64_t>(samples.size()),
          shape,
          images,
          targets.view(),
          samples,
          epoch,
          of(changes),
          partners,
          of(partner_changes)};
}

SampleReader::SampleReader(std::shared_ptr<const Dataset> dataset, Augmentation augmentation, bool pixels)
    : dataset_(std::move(dataset)), augmentation_(std::move(augmentation)), pixels_(pixels) {
  const AugmentOptions& changes = augmentation_.options;
  if (changes.mixup > 0 && dataset_->target_kind() != TargetKind::kClasses) {
    throw UsageError("--augment mixup mixes the classes of images, but the data has boxes; leave mixup out");
  }
  if ((changes.mosaic > 0 || changes.iou_crop) && dataset_->target_kind() != TargetKind::kBoxes) {
    throw UsageError("--augment mosaic and iou-crop are for data with boxes, but the data has classes; leave them out");
  }
  if ((changes.mixup > 0 || changes.mosaic > 0) && augmentation_.partners.empty()) {
    throw Error("mixup and mosaics have no samples to mix with");
  }
  for (const std::uint32_t partner : augmentation_.partners) {
    if (partner < dataset_->size()) continue;
    throw Error("sample " + std::to_string(partner) + " is to be mixed in, but the data has " +
                std::to_string(dataset_->size()));
  }
  if (const std::string names = done_on_host(changes); !pixels && !names.empty()) {
    throw Error("augmentation needs the pixels of images: " + names);
  }
}

void SampleReader::make_room(BatchMemory& batch) const {
  const AugmentOptions& options = augmentation_.options;
  const std::size_t count = batch.samples.size();
  const bool is_mixed = options.mixup > 0;
  batch.images.resize(pixels_ ? count * dataset_->shape().bytes() : 0);
  batch.targets.reset(dataset_->target_kind(), is_mixed, count);
  if (pixels_) return;
  batch.partners.resize(is_mixed ? count : 0);
  make_room_for(options, count, batch.changes);
  make_room_for(options, batch.partners.size(), batch.partner_changes);
}

void SampleReader::read(std::size_t place, std::uint64_t epoch, BatchMemory& batch) const {
  if (!pixels_) {
    read_targets(place, epoch, batch);
    return;
  }
  const std::uint32_t sample = batch.samples[place];
  const std::size_t bytes = dataset_->shape().bytes();
  const auto chw = std::span(batch.images).subspan(place * bytes, bytes);
  if (dataset_->target_kind() == TargetKind::kBoxes) {
    batch.targets.set(place, read_boxed(sample, epoch, chw));
    return;
  }
  batch.targets.set(place, dataset_->targets(sample));
  read_augmented(sample, epoch, chw);
  if (augmentation_.options.mixup > 0) mix(place, epoch, batch, chw);
}

/// Reads the targets and draws the augmentation of a sample, without its pixels.
void SampleReader::read_targets(std::size_t place, std::uint64_t epoch, BatchMemory& batch) const {
  const AugmentOptions& options = augmentation_.options;
  const std::uint32_t sample = batch.samples[place];
  SampleTargets targets = dataset_->targets(sample);
  if (!options.any()) {
    batch.targets.set(place, std::move(targets));
    return;
  }
  const PhaseMark mark(Phase::kAugment);
  if (auto* boxes = std::get_if<std::vector<LabelledBox>>(&targets)) {
    augment_boxes(options, dataset_->shape(), augmentation_.seed, epoch, sample, *boxes);
  }
  batch.targets.set(place, std::move(targets));
  draw_changes(place, sample, epoch, batch.changes);
  if (options.mixup == 0) return;
  const Mixture mixture = mixture_of(sample, epoch);
  batch.partners[place] = mixture.partner;
  draw_changes(place, mixture.partner, epoch, batch.partner_changes);
  batch.targets.mix(place, label_of(*dataset_, mixture.partner), mixture.weight);
}

void SampleReader::draw_changes(std::size_t place, std::uint32_t sample, std::uint64_t epoch,
                                BatchMemory::Changes& changes) const {
  const AugmentOptions& options = augmentation_.options;
  if (options.has_moves()) changes.moves[place] = draw_move(options, augmentation_.seed, epoch, sample);
  if (options.colour == 0) return;
  changes.colours[place] = draw_colours(options, dataset_->shape(), augmentation_.seed, epoch, sample);
}

void SampleReader::read_augmented(std::uint32_t sample, std::uint64_t epoch, std::span<std::uint8_t> chw) const {
  dataset_->read(sample, chw);
  if (!augmentation_.options.any()) return;
  const PhaseMark mark(Phase::kAugment);
  augment_image(augmentation_.options, dataset_->shape(), augmentation_.seed, epoch, sample, chw);
}

/// An image and its boxes, both changed alike.
SampleTargets SampleReader::read_boxed(std::uint32_t sample, std::uint64_t epoch, std::span<std::uint8_t> chw) const {
  const AugmentOptions& options = augmentation_.options;
  std::vector<LabelledBox> boxes;
  Mosaic mosaic;
  if (options.mosaic > 0 &&
      draw_mosaic(options.mosaic, augmentation_.partners, augmentation_.seed, epoch, sample, mosaic)) {
    boxes = read_mosaic(mosaic, chw);
  } else {
    dataset_->read(sample, chw);
    boxes = std::get<std::vector<LabelledBox>>(dataset_->targets(sample));
  }
  if (!options.any()) return boxes;
  const PhaseMark mark(Phase::kAugment);
  augment_image(options, dataset_->shape(), augmentation_.seed, epoch, sample, chw, boxes);
  augment_boxes(options, dataset_->shape(), augmentation_.seed, epoch, sample, boxes);
  return boxes;
}

std::vector<LabelledBox> SampleReader::read_mosaic(const Mosaic& mosaic, std::span<std::uint8_t> chw) const {
  std::vector<LabelledBox> boxes;
  thread_local std::vector<std::uint8_t> image;
  image.resize(chw.size());
  for (std::size_t corner = 0; corner < mosaic.samples.size(); ++corner) {
    const std::uint32_t sample = mosaic.samples[corner];
    dataset_->read(sample, image);
    const auto own = std::get<std::vector<LabelledBox>>(dataset_->targets(sample));
    const PhaseMark mark(Phase::kAugment);
    paste_into_mosaic(mosaic, corner, dataset_->shape(), image, chw);
    add_to_mosaic(mosaic, corner, dataset_->shape(), own, boxes);
  }
  return boxes;
}

Mixture SampleReader::mixture_of(std::uint32_t sample, std::uint64_t epoch) const {
  return draw_mixture(augmentation_.options.mixup, augmentation_.partners, augmentation_.seed, epoch, sample);
}

/// Mixes another sample, changed by its own random numbers, into an image.
void SampleReader::mix(std::size_t place, std::uint64_t epoch, BatchMemory& batch, std::span<std::uint8_t> chw) const {
  const Mixture mixture = mixture_of(batch.samples[place], epoch);
  thread_local std::vector<std::uint8_t> other;
  other.resize(chw.size());
  read_augmented(mixture.partner, epoch, other);
  const PhaseMark mark(Phase::kAugment);
  mix_images(mixture.weight, other, chw);
  batch.targets.mix(place, label_of(*dataset_, mixture.partner), mixture.weight);
}

}  // namespace evener::data
