// An estimate of the memory that a training takes on CPUs. plan, info, --dry-run, --batch max and refusals all use it,
// so that they agree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "data/codecs/picture.h"
#include "engine/engine.h"
#include "network/network.h"
#include "train/steps/train.h"

namespace evener::training {

/// What the estimate depends on beside the network.
struct TrainingWork {
  std::string engine = "torch";
  engine::TrainerOptions trainer = {};
  data::ImageShape image = {};  // of the decoded images
  std::size_t images = 0;       // of all parts
  std::size_t train_images = 0;
  std::int64_t batch = 1;
  int accumulate = 1, replicas = 1;  // of them on all hosts
  int local_replicas = 1;            // on this one
  int threads = 1;                   // of a replica
  int processes = 1;              // of the ranks on this host; where there are several, they are children of one that
                                  // has loaded the data
  bool shares_arrays = true;      // of weights and gradients, among the processes of whole replicas
  std::int64_t stages_bytes = 0;  // of the tensors of a replica's stages together; 0: it is not divided
  bool images_are_loaded = true;  // the decoded images are in memory now
  bool loads_batches = true;      // false: the engine reads the images in place, without batches in memory
};
/// What a training with `options` on `plan` has to do, before the data and the engine are known.
TrainingWork training_work(const TrainOptions& options, const placement::Plan& plan);
/// The same where the data and the engine are known.
TrainingWork training_work(const TrainOptions& options, const placement::Plan& plan, const TrainSetup& setup);

/// What a training takes at its peak, and what of that is still to come. The parts are sums of what is resident in each
/// process, as a run's record has it: what several of them share, as libraries, counts in each.
struct MemoryEstimate {
  std::int64_t program_bytes = 0;  // the program with its libraries
  std::int64_t image_bytes = 0;    // decoded images that stay in memory
  std::int64_t batch_bytes = 0;    // pixels of batches that loaders hold
  std::int64_t weight_bytes = 0;   // weights, the optimiser's values, running statistics, and the best weights so far
  std::int64_t step_bytes = 0;     // values and gradients of a step, or the copies that a checkpoint is written from
  bool is_checkpoint = false;      // step_bytes are the copies of a checkpoint, as those are more
  std::int64_t images_at_once = 0;
  int processes = 1;               // which share pages
  std::int64_t shared_bytes = 0;   // of the parts above, pages that were counted in another process already
  std::int64_t free_bytes = 0;     // now
  std::int64_t to_come_bytes = 0;  // the part of the estimate that isn't allocated yet

  std::int64_t total_bytes() const { return program_bytes + image_bytes + batch_bytes + weight_bytes + step_bytes; }
  /// Whether to_come_bytes would leave little memory free.
  bool is_tight() const;
  /// Whether it is worth telling: much in itself, or a good part of what is free.
  bool is_much() const;
};
MemoryEstimate estimated_memory(const network::Network& network, const TrainingWork& work);

/// "memory: about 4.9 GB at the peak: 4.49 GB for gradients and the activations of 64 images at once, ...; 23 GB are
/// free"; of a tight one a warning that tells what to do.
std::string memory_text(const MemoryEstimate& estimate);
/// The same without the decoded images, for when the data isn't known.
std::string memory_without_images_text(const MemoryEstimate& estimate);

/// The largest batch that takes no more than is available; 0 = none.
std::int64_t predicted_largest_batch(const network::Network& network, TrainingWork work);

/// Throws Error naming the largest batch that fits when the training would need more than the memory that is
/// available. `smaller_size`: of images, such as "299x224", to recommend; empty = none in particular.
void require_memory(const network::Network& network, const TrainingWork& work, const std::string& smaller_size = "");

}  // namespace evener::training
