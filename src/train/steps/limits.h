// What is refused, or told, before the work starts: batches that can't fit into memory or that batch-norm can't take,
// parts of the data that lack a class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/precision.h"
#include "data/augment.h"
#include "data/open/open_data.h"
#include "engine/engine.h"
#include "network/network.h"
#include "placement/plan.h"

namespace evener::training {

/// Throws Error when `out` can't be written to or has no room for the checkpoints of a run: last, best, the optimiser's
/// state, and a second copy of the largest while it is replaced.
void require_disk_space(const std::filesystem::path& out, const network::Network& network,
                        const engine::OptimizerOptions& optimizer);

/// Throws UsageError when a batch-norm layer would see a single value per channel, whose variance is undefined: that
/// is, one image of one pixel at that layer, in the last batch of an epoch or in one of the `accumulate` parts of a
/// batch.
void require_trainable_batch(const network::Network& network, std::size_t train_images, std::int64_t batch,
                             int accumulate);

/// The least number of samples of a batch or micro-batch that a replica can train on: 2 where a batch-norm layer takes
/// its statistics from the replica's own samples and sees one value per channel of each, else 1.
std::int64_t least_share(const network::Network& network, bool local_batch_norm);

/// Throws UsageError where --augment crop could shift an image out of sight altogether.
void require_visible_crop(const data::AugmentOptions& augment, const data::ImageShape& image);

/// Throws UsageError where --data-on device is impossible: `plan` has CPUs only, or the engine can't do this
/// augmentation on the device.
void require_data_on_device(const placement::Plan& plan, const data::AugmentOptions& augment,
                            const std::string& engine);

/// The default number of threads that prepare the batches of a rank: beside a GPU half of the cores that no CPU replica
/// computes on, divided among the GPUs, but 16 at most; beside a CPU, which computes on all cores, one.
int usual_loader_threads(const placement::Plan& plan, int rank);

/// Throws UsageError where the data has boxes and the network is a classifier, or the other way round.
void require_same_kind(const network::Network& network, bool data_has_boxes, const std::string& data);

/// The number of images of each class among `samples`; of data with boxes that of the boxes.
std::vector<std::int64_t> class_counts(const data::Dataset& dataset, std::span<const std::uint32_t> samples);

/// A sentence for each part of the data that lacks a class, or has one class alone, with the classes and how many
/// images (boxes) of them the other parts have. `trains`: false where nothing is trained, and only the other parts
/// matter.
std::vector<std::string> lacking_classes(const data::OpenedData& data, bool trains);

/// Throws Error where none of the images to train a detector on has an object.
void require_objects(const data::OpenedData& data, const std::string& name);

}  // namespace evener::training
