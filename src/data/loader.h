// Loader threads assemble batches ahead of the training step; all threads work on the same batch. The sequence of
// batches depends on (seed, epoch) alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/augment.h"
#include "data/batch.h"
#include "data/dataset.h"

namespace evener::data {

/// The order of samples in an epoch: a permutation keyed by (seed, epoch).
std::vector<std::uint32_t> epoch_order(std::span<const std::uint32_t> samples, std::uint64_t seed, std::uint64_t epoch);

/// Random changes of the images that a loader serves; for training only.
struct Augmentation {
  AugmentOptions options;
  std::uint64_t seed = 1;
  std::vector<std::uint32_t> partners;  // samples that mixup and mosaics draw from: the whole training part, also where
                                        // this loader serves a share of it
};

struct LoaderOptions {
  std::int64_t batch = 32;
  int threads = 1;   // that assemble each batch together
  int prefetch = 2;  // batches ready ahead of the step
  Augmentation augmentation = {};
  /// False: batches hold no pixels, only the samples and their augmentation, for devices that have the images already.
  bool pixels = true;
};

/// Samples begin..end-1 of the order in which samples are served.
struct Stretch {
  std::int64_t begin = 0, end = 0;
};

/// Serves a list of samples batch by batch; the last batch may be short. One consumer thread. Boxes move along with the
/// pixels that augmentation moves.
class Loader {
 public:
  /// Throws UsageError for an impossible batch, for mixup where the data has boxes, and for mosaics and iou-crop where
  /// it has classes; Error for partners that the data doesn't have, and without LoaderOptions::pixels for augmentations
  /// that only the host can do (done_on_host).
  Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options);
  ~Loader();

  /// Begins to serve `order` (from batch `first_batch` on), dropping what was being served.
  void start(std::vector<std::uint32_t> order, std::uint64_t epoch, std::int64_t first_batch = 0);
  /// Begins to serve the parts of `order` that add_part() will name, dropping what was being served.
  void start_parts(std::vector<std::uint32_t> order, std::uint64_t epoch);
  /// Adds a batch behind those added before: the samples of these stretches of the order, one after the other; it may
  /// be empty. Throws Error when a stretch lies outside of the order.
  void add_part(std::vector<Stretch> stretches);
  /// Returns the next batch, or nullptr after the last (or last added) one; valid until the next call. Waits (phase
  /// "read") until it is ready. Rethrows an Error of a loader thread.
  const Batch* next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evener::data
