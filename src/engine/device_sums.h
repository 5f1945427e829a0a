// Sums over replicas of values that lie in the memory of their devices.
#pragma once

#include <cstdint>
#include <span>

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

}  // namespace evener::engine
