// Brings batches to a device: as single blocks of bytes through pinned memory, while the device still computes on the
// batch before, or made of images that the device keeps.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "data/batch.h"
#include "data/dataset.h"
#include "engine/box_matching.h"
#include "engine/torch/activations.h"
#include "engine/torch/convert.h"
#include "engine/torch/criterion.h"
#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {

/// The parts of a batch as tensors that share one block, targets among them.
struct BatchTensors : TargetTensors {
  at::Tensor numbers;  // float32 (2): learning rate, weight of each sample's gradient
  at::Tensor images;   // uint8 (N, C, H, W); undefined where the device has all data
  at::Tensor samples;  // int64 (N), indices into the data set, or (2 N) with those of the images mixed into them;
                       // defined where `images` is not
  at::Tensor moves;    // int64 (3, samples); the pixel (row, column) comes from row + moves[0] and column * moves[1]
                       // + moves[2]; defined where images are moved
  at::Tensor colours;  // float32 (4, samples): data::ColourChange; defined where colours change
  DropoutMasks masks;  // empty in evaluation
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

/// Keeps all images of a data set on a device, and makes batches of them there, with augmentation by random numbers
/// that the host has drawn for each sample.
class ResidentImages {
 public:
  /// Reads all images with `threads` threads. Throws OutOfMemory when they don't fit, naming the memory needed and
  /// free.
  ResidentImages(const Streams& streams, const data::Dataset& dataset, int threads);

  /// The images of a batch as uint8 (N, C, H, W), changed as data::augment_image and data::mix_images do it, by the
  /// same operations in float32. Reads no value on the host.
  at::Tensor of(const BatchTensors& batch) const;

 private:
  at::Tensor moved(const at::Tensor& samples, const at::Tensor& moves) const;

  at::Tensor images_;                     // uint8 (samples, C, H, W)
  at::Tensor channels_, rows_, columns_;  // int64: 0, 1, 2, ... along their axis of (1, C, H, W)
};

/// Copies batches to a device through pinned memory, while the device still computes on the batch before.
class Feed {
 public:
  /// Steps that may be under way at once.
  static constexpr std::size_t kSlots = 3;

  /// A place for one batch, in pinned memory and on the device.
  struct Slot {
    explicit Slot(const Streams& streams);
    BatchLayout layout;
    at::Tensor host, device;         // blocks of layout.bytes() bytes
    BatchTensors host_batch, batch;  // their parts
    std::int64_t count = 0;          // of samples or anchors that the batch's sums are over
    Moment copied, used;             // the copy has ended; the device no longer reads the slot
    Moment copy_begin, copy_end;     // timed
  };

  /// `resident`: images that the device keeps; null = batches come with their pixels. `matcher`: a detector's, or null;
  /// outlives this.
  Feed(const Streams& streams, std::unique_ptr<const ResidentImages> resident, std::vector<DropoutLayer> dropout,
       std::uint64_t seed, const BoxMatcher* matcher = nullptr);

  /// Starts the copy of a batch; work enqueued afterwards on the compute stream, which must be the current one, sees
  /// it. `training`: with dropout masks. The slot keeps its batch until release() was called and put() has gone through
  /// all kSlots slots again.
  Slot& put(const data::Batch& batch, bool training, double learning_rate, double weight);
  /// To be called when all work that reads the slot has been enqueued on the compute stream.
  void release(Slot& slot) { slot.used.record(streams_.compute()); }

  /// Whether copies are timed, between copy_begin and copy_end.
  void time_copies(bool timed) { timed_ = timed; }

  /// The images of a batch as uint8 (N, C, H, W).
  at::Tensor images_of(const BatchTensors& batch) const { return resident_ ? resident_->of(batch) : batch.images; }

 private:
  void make_room(Slot& slot, BatchLayout layout);

  const Streams& streams_;
  std::unique_ptr<const ResidentImages> resident_;
  std::vector<DropoutLayer> dropout_;
  std::uint64_t seed_;
  const BoxMatcher* matcher_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;
  bool timed_ = false;
};

/// float32 (N, C, H, W) in `format`, normalised, on the images' device; `scale` and `shift` (1, C, 1, 1).
at::Tensor normalized_images(const at::Tensor& images, const at::Tensor& scale, const at::Tensor& shift,
                             at::MemoryFormat format);

}  // namespace evener::engine::torch_engine
