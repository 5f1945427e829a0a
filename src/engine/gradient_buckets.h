// Gradients that are exchanged together, while a backward pass still computes those of earlier layers.
#pragma once

#include <cstddef>
#include <vector>

namespace evener::engine {

/// Gradients of one bucket: [first, last] of the trained parameters, in the engine's order.
struct Bucket {
  std::size_t first = 0, last = 0;
};

/// Buckets from the last parameter to the first, as their gradients become ready: 1 MiB first, so that the exchange
/// begins early, 25 MiB then (the sizes of PyTorch's DistributedDataParallel). `sizes`: values of each parameter.
std::vector<Bucket> make_buckets(const std::vector<std::size_t>& sizes);

/// Which buckets of a backward pass are complete. All replicas exchange them in one order, that of make_buckets.
class BucketProgress {
 public:
  explicit BucketProgress(const std::vector<std::size_t>& sizes);

  const std::vector<Bucket>& buckets() const { return buckets_; }
  void begin();
  void ready(std::size_t parameter) { --missing_[bucket_of_[parameter]]; }
  /// The next bucket that is complete and was not taken yet; null = none, or one before it is missing.
  const Bucket* take_complete();
  /// The next bucket that was not taken yet, complete or not; null = none.
  const Bucket* take_next();

 private:
  const std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;  // of each parameter
  std::vector<std::size_t> missing_;    // gradients of each bucket that aren't ready
  std::size_t taken_ = 0;
};

}  // namespace evener::engine
