// The exchange of gradients between replicas: sums of values that lie in the memory of their devices, and buckets of
// gradients that are exchanged together, while the backward pass still computes the gradients of earlier layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace evener::engine {

/// A contiguous vector in a device's memory.
struct DeviceValues {
  enum class Type : std::uint8_t { kFloat32, kFloat64 };
  void* data = nullptr;
  std::int64_t count = 0;
  Type type = Type::kFloat32;
};

/// All-reduce between the replicas' devices. Sums are enqueued on a stream like any other work: they are done later,
/// and may be captured in a graph. Every replica makes the same calls in the same order.
class DeviceSums {
 public:
  virtual ~DeviceSums() = default;

  /// Forms the group; returns when every replica has called it. To be called once, on the thread that drives the
  /// replica's device, with that device current. Throws Error.
  virtual void join() = 0;
  /// Enqueues on `stream` the replacement of `values` by their sums over all replicas. `stream` is a cudaStream_t, or
  /// null for a CPU with TorchOptions::like_accelerator. Throws Error.
  virtual void add_up(std::span<const DeviceValues> values, void* stream) = 0;
  /// Throws Error when a replica was lost, so that its values will never come. Work on the device that waits for them
  /// then goes on with undefined values. To be called now and then while the host waits.
  virtual void require_whole() = 0;
};

/// The gradients of one bucket: indices [first, last] (both included) into the trained parameters, in the engine's
/// order.
struct Bucket {
  std::size_t first = 0, last = 0;
};

/// Divides the parameters into buckets, from the last parameter to the first, the order in which gradients become
/// ready. The first bucket has 1 MiB, so that the exchange begins early, later ones 25 MiB (the sizes of PyTorch's
/// DistributedDataParallel). `sizes`: the number of values of each parameter.
std::vector<Bucket> make_buckets(const std::vector<std::size_t>& sizes);

/// Tracks which buckets of a backward pass are complete. Buckets are taken in the order of make_buckets(), since all
/// replicas have to exchange them in one order.
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
