// What is refused before the work starts: batches that can't fit into memory or that batch-norm can't take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/precision.h"
#include "data/augment.h"
#include "data/open_data.h"
#include "engine/engine.h"
#include "network/network.h"
#include "placement/plan.h"

namespace evener::task {

/// Fewer images than this tell little: a share of 29 is uncertain by 18 points (95 %).
constexpr std::size_t kFewJudged = 30;

/// The most images at once that fit into the memory that is available, by the same estimate as require_memory; 0 =
/// none.
std::int64_t predicted_largest_batch(const network::Network& network, const engine::TrainerOptions& trainer);

/// Throws Error naming the largest batch that fits when training with `batch`, computed in `accumulate` parts, would
/// need more than the memory that is available. An estimate (network/cost.h), so it refuses only what is clearly too
/// large. `smaller_size`: of images, such as "299x224", to recommend; empty = none in particular.
void require_memory(const network::Network& network, std::size_t train_images, std::int64_t batch, int accumulate,
                    const engine::TrainerOptions& trainer, const std::string& smaller_size = "");

/// What a training on CPUs takes of memory at its peak, estimated, and what of that is still to come.
struct MemoryEstimate {
  std::int64_t program_bytes = 0;  // the program with its libraries
  std::int64_t image_bytes = 0;    // decoded images that stay in memory
  std::int64_t weight_bytes = 0;   // weights, gradients, the optimiser's values and running statistics, of all replicas
  std::int64_t activation_bytes = 0;  // of the images that are computed at once, over all replicas
  std::int64_t images_at_once = 0;
  std::int64_t free_bytes = 0;     // now
  std::int64_t to_come_bytes = 0;  // of what is estimated, what isn't there yet

  std::int64_t total_bytes() const { return program_bytes + image_bytes + weight_bytes + activation_bytes; }
  /// Whether so much is to come that little would be left free.
  bool is_tight() const;
  /// Whether it is worth a word: much in itself, or a good part of what is free.
  bool is_much() const;
};

struct TrainingSize {
  std::size_t train_images = 0, images = 0;  // images: of all parts
  std::int64_t batch = 1;
  int accumulate = 1, replicas = 1;
  bool images_are_loaded = true;
};

/// See MemoryEstimate; `image` is the shape of the decoded ones.
MemoryEstimate estimated_memory(const network::Network& network, const engine::TrainerOptions& trainer,
                                const TrainingSize& size, const data::ImageShape& image);

/// "memory: about 4.9 GB at the peak: 4.49 GB for the activations of 64 images at once, ...; 23 GB are free"; of a
/// tight one a warning that tells what to do.
std::string memory_text(const MemoryEstimate& estimate);

/// Throws Error when `out` can't be written to or has no room for the checkpoints of a run: last, best, the optimiser's
/// state, and a second copy of the largest while it is replaced.
void require_disk_space(const std::filesystem::path& out, const network::Network& network,
                        const engine::OptimizerOptions& optimizer);

/// Throws UsageError when some batch of an epoch, or one of the `accumulate` parts that it is computed in, would have
/// one value per channel in a batch-norm layer, whose variance is then undefined: one image where the layer sees one
/// pixel.
void require_trainable_batch(const network::Network& network, std::size_t train_images, std::int64_t batch,
                             int accumulate);

/// How few samples of what is computed at once (a batch, or a micro-batch) a replica can train on: 2 where it takes a
/// batch-norm layer's statistics from its own samples and these have one value per channel each, else 1.
std::int64_t least_share(const network::Network& network, bool local_batch_norm);

/// Whether a replica of `plan` computes elsewhere than on the CPU.
bool uses_accelerator(const placement::Plan& plan);

/// Throws UsageError where an augmentation could move all of an image out of sight.
void require_visible_crop(const data::AugmentOptions& augment, const data::ImageShape& image);

/// Throws UsageError where images can't stay on the devices of `plan`: there are none but CPUs, or each epoch changes
/// the images.
void require_data_on_device(const placement::Plan& plan, const data::AugmentOptions& augment);

/// Throws UsageError where the data has boxes and the network is a classifier, or the other way round.
void require_same_kind(const network::Network& network, bool data_has_boxes, const std::string& data);

/// Throws Error where none of the images to train a detector on has an object.
void require_objects(const data::OpenedData& data, const std::string& name);

}  // namespace evener::task
