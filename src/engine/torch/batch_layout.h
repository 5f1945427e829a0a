// Packs a batch into a single block of bytes, so that it goes to a device in one copy.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "data/batch.h"
#include "engine/box_matching.h"
#include "engine/torch/dropout.h"
#include "engine/torch/multi_box.h"

namespace evener::engine::torch_engine {

/// The parts of a batch as tensors that share one block.
struct BatchTensors {
  at::Tensor numbers;  // float32 (2): learning rate, weight of each sample's gradient
  at::Tensor images;   // uint8 (N, C, H, W); undefined where the device has all data
  at::Tensor samples;  // int64 (N), indices into the data set, or (2 N) with those of the images mixed into them;
                       // defined where `images` is not
  at::Tensor moves;    // int64 (3, samples); the pixel (row, column) comes from row + moves[0] and column * moves[1]
                       // + moves[2]; defined where images are moved
  at::Tensor colours;  // float32 (4, samples): data::ColourChange; defined where colours change
  at::Tensor labels;   // int64 (N); undefined where there are boxes
  at::Tensor second_labels, label_weights;  // int64 and float32 (N) of mixed images; otherwise undefined
  AnchorTargets anchors;                    // where there are boxes
  DropoutMasks masks;                       // empty in evaluation
};

/// The layout of the block: the offset, type and shape of each part.
class BatchLayout {
 public:
  BatchLayout() = default;
  /// `with_images`: the block contains the pixels; otherwise the samples' indices. `dropout`: layers whose masks it
  /// contains. `anchors`: the number of a detector's anchors; 0: samples have classes.
  BatchLayout(const data::Batch& batch, bool with_images, const std::vector<DropoutLayer>& dropout,
              std::size_t anchors = 0);

  std::int64_t bytes() const { return bytes_; }
  /// The parts as views of `block`, uint8 with at least bytes() values.
  BatchTensors parts_of(const at::Tensor& block) const;

  bool operator==(const BatchLayout&) const = default;

 private:
  struct Part {
    at::ScalarType type = at::kByte;
    std::vector<std::int64_t> shape;
    std::int64_t offset = 0, bytes = 0;
    bool operator==(const Part&) const = default;
  };
  Part add(at::ScalarType type, std::vector<std::int64_t> shape);
  static at::Tensor view(const at::Tensor& block, const Part& part);

  Part numbers_, images_, samples_, moves_, colours_, labels_, second_labels_, label_weights_, anchor_classes_,
      anchor_offsets_;
  std::vector<std::pair<int, Part>> masks_;  // by index of the layer
  std::int64_t bytes_ = 0;
};

/// Writes a batch into the parts of a block in host memory. `matcher`: a detector's, or null. Returns the count that
/// sums over the batch have: of samples, or of matched anchors.
std::int64_t fill(BatchTensors& parts, const data::Batch& batch, double learning_rate, double weight,
                  std::uint64_t seed, const std::vector<DropoutLayer>& dropout, const BoxMatcher* matcher = nullptr);

/// Writes the targets of the anchors of each image. Returns how many anchors are matched. Throws Error if the batch has
/// no boxes, naming what it has instead.
std::int64_t fill_anchors(const AnchorTargets& targets, const data::Batch& batch, const BoxMatcher& matcher);

}  // namespace evener::engine::torch_engine
