#include "data/dataset.h"

#include <string>
#include <utility>

#include "base/content_hash.h"
#include "base/error.h"
#include "data/batch.h"
#include "data/targets.h"

namespace evener::data {

namespace {

template <class Value>
std::span<const Value> some_of(std::span<const Value> all, std::size_t first, std::size_t count) {
  return all.empty() ? all : all.subspan(first, count);
}

ImageChanges some_of(const ImageChanges& changes, std::size_t first, std::size_t count) {
  return {some_of(changes.moves, first, count), some_of(changes.colours, first, count)};
}

}  // namespace

Batch part_of(const Batch& batch, std::int64_t begin, std::int64_t end) {
  const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
  Batch part = batch;
  part.count = end - begin;
  if (!batch.images.empty()) {
    part.images = batch.images.subspan(first * batch.shape.bytes(), count * batch.shape.bytes());
  }
  part.targets = part_of(batch.targets, first, first + count);
  part.samples = batch.samples.subspan(first, count);
  part.changes = some_of(batch.changes, first, count);
  part.partners = some_of(batch.partners, first, count);
  part.partner_changes = some_of(batch.partner_changes, first, count);
  return part;
}

const char* targets_name(const Targets& targets) {
  if (std::holds_alternative<ClassTargets>(targets)) return "classes";
  return std::holds_alternative<MixedClassTargets>(targets) ? "mixed classes" : "boxes";
}

std::span<const std::int32_t> class_labels(const Targets& targets) {
  if (const auto* classes = std::get_if<ClassTargets>(&targets)) return classes->labels;
  if (const auto* mixed = std::get_if<MixedClassTargets>(&targets)) return mixed->labels;
  throw Error(std::string("this loss compares outputs with a class for each image, but the batch has ") +
              targets_name(targets) + "; give data that has classes");
}

std::span<const std::vector<LabelledBox>> box_lists(const Targets& targets) {
  if (const auto* boxes = std::get_if<BoxTargets>(&targets)) return boxes->boxes;
  throw Error(std::string("this loss compares outputs with the boxes on each image, but the batch has ") +
              targets_name(targets) + "; give data that has boxes");
}

Targets part_of(const Targets& targets, std::size_t begin, std::size_t end) {
  const std::size_t count = end - begin;
  if (const auto* classes = std::get_if<ClassTargets>(&targets)) {
    return ClassTargets{classes->labels.subspan(begin, count)};
  }
  if (const auto* mixed = std::get_if<MixedClassTargets>(&targets)) {
    return MixedClassTargets{mixed->labels.subspan(begin, count), mixed->second_labels.subspan(begin, count),
                             mixed->label_weights.subspan(begin, count)};
  }
  return BoxTargets{std::get<BoxTargets>(targets).boxes.subspan(begin, count)};
}

void TargetStore::reset(TargetKind kind, bool is_mixed, std::size_t count) {
  kind_ = kind;
  is_mixed_ = is_mixed;
  const bool has_classes = kind == TargetKind::kClasses;
  labels_.resize(has_classes ? count : 0);
  second_labels_.resize(has_classes && is_mixed ? count : 0);
  label_weights_.resize(has_classes && is_mixed ? count : 0);
  boxes_.resize(has_classes ? 0 : count);
}

void TargetStore::set(std::size_t place, SampleTargets targets) {
  auto* boxes = std::get_if<std::vector<LabelledBox>>(&targets);
  const TargetKind kind = boxes != nullptr ? TargetKind::kBoxes : TargetKind::kClasses;
  if (kind != kind_) {
    throw Error(std::string("a sample has ") + (boxes != nullptr ? "boxes" : "a class") +
                ", but the others of its data " + (boxes != nullptr ? "have classes" : "have boxes"));
  }
  if (boxes != nullptr) {
    boxes_[place] = std::move(*boxes);
  } else {
    labels_[place] = std::get<std::int32_t>(targets);
  }
}

void TargetStore::mix(std::size_t place, std::int32_t second_label, float weight) {
  second_labels_[place] = second_label;
  label_weights_[place] = weight;
}

Targets TargetStore::view() const {
  if (kind_ == TargetKind::kBoxes) return BoxTargets{boxes_};
  if (is_mixed_) return MixedClassTargets{labels_, second_labels_, label_weights_};
  return ClassTargets{labels_};
}

std::optional<std::uint64_t> Dataset::content(std::size_t index) const {
  std::vector<std::uint8_t> made;
  const std::uint8_t* values = pixels(index);
  if (values == nullptr) {
    made.resize(shape().bytes());
    read(index, made);
    values = made.data();
  }
  return content_hash({reinterpret_cast<const char*>(values), shape().bytes()});
}

std::int32_t label_of(const Dataset& dataset, std::size_t index) {
  const SampleTargets targets = dataset.targets(index);
  if (const auto* label = std::get_if<std::int32_t>(&targets)) return *label;
  throw Error("'" + dataset.source(index) + "' has boxes, not one class; this needs data with a class for each image");
}

}  // namespace evener::data
