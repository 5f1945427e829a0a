// The targets (ground truth) of images: a class for each, a mixture of two classes, or boxes with their classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace evener::data {

/// The kinds of targets that data can have. All samples of a dataset have the same kind.
enum class TargetKind : std::uint8_t { kClasses, kBoxes };

/// The box of an object on an image. The corners are in pixels of the image as the dataset serves it, from its upper
/// left corner: an image of width W reaches from x = 0 to x = W.
struct LabelledBox {
  float x1 = 0, y1 = 0;  // the upper left corner
  float x2 = 0, y2 = 0;  // the lower right corner
  std::int32_t label = 0;
  bool is_difficult = false;  // evaluations may leave it out (PASCAL VOC's flag)
  bool is_truncated = false;  // more of the object lies beyond the edge of the image (PASCAL VOC's flag)
  bool is_crowd = false;      // the box holds several objects that were not labelled one by one (COCO's iscrowd)

  bool operator==(const LabelledBox&) const = default;
};

/// The targets of one sample: its class, or the boxes on it (maybe none).
using SampleTargets = std::variant<std::int32_t, std::vector<LabelledBox>>;

/// The class of each image of a batch: (count).
struct ClassTargets {
  std::span<const std::int32_t> labels;
};

/// The classes of a batch of mixed images (--augment mixup), each (count): image i is label_weights[i] parts of class
/// labels[i] and the rest of class second_labels[i].
struct MixedClassTargets {
  std::span<const std::int32_t> labels, second_labels;
  std::span<const float> label_weights;
};

/// The boxes on each image of a batch: (count) lists.
struct BoxTargets {
  std::span<const std::vector<LabelledBox>> boxes;
};

/// A view on the targets of a batch's images. By default: classes of no image.
using Targets = std::variant<ClassTargets, MixedClassTargets, BoxTargets>;

/// "classes", "mixed classes", "boxes": what messages call them.
const char* targets_name(const Targets& targets);

/// The class of each image, the main one where images are mixed; for losses that take classes. Throws Error naming what
/// the batch has instead.
std::span<const std::int32_t> class_labels(const Targets& targets);

/// The boxes on each image; for losses that take boxes. Throws Error naming what the batch has instead.
std::span<const std::vector<LabelledBox>> box_lists(const Targets& targets);

/// The targets of images begin..end-1.
Targets part_of(const Targets& targets, std::size_t begin, std::size_t end);

/// Owns the memory of a batch's targets; used by loaders.
class TargetStore {
 public:
  /// Makes room for the targets of `count` samples of one kind, and drops those stored before. `is_mixed`: each sample
  /// gets a second class and a weight.
  void reset(TargetKind kind, bool is_mixed, std::size_t count);
  /// Stores the targets of the sample at `place`. Throws Error when they are of another kind than reset() was called
  /// with.
  void set(std::size_t place, SampleTargets targets);
  /// Sets the second class of the mixed sample at `place`, and the weight of its own class.
  void mix(std::size_t place, std::int32_t second_label, float weight);

  /// Valid until the next reset().
  Targets view() const;

 private:
  TargetKind kind_ = TargetKind::kClasses;
  bool is_mixed_ = false;
  std::vector<std::int32_t> labels_, second_labels_;
  std::vector<float> label_weights_;
  std::vector<std::vector<LabelledBox>> boxes_;
};

}  // namespace evener::data
