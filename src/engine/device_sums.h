// Sums over replicas of values that lie in the memory of their devices.
#pragma once

#include <cstdint>
#include <span>

namespace evener::engine {

/// Values in a device's memory, one after the other.
struct DeviceValues {
  enum class Type : std::uint8_t { kFloat32, kFloat64 };
  void* data = nullptr;
  std::int64_t count = 0;
  Type type = Type::kFloat32;
};

/// One replica's way to the others' devices. What is asked for is work of a stream as any other: it is done later, and
/// may be captured in a graph. Every replica asks for the same things in the same order.
class DeviceSums {
 public:
  virtual ~DeviceSums() = default;

  /// Returns when every replica has called it: once, on the thread that drives the replica's device, which is the
  /// current one there. Throws Error.
  virtual void join() = 0;
  /// Gives `stream` (a cudaStream_t; null of a CPU that is driven as a device is) the work of putting the sums over all
  /// replicas in place of `values`. Throws Error.
  virtual void add_up(std::span<const DeviceValues> values, void* stream) = 0;
  /// Throws Error where a replica was lost, so that its values will never come. What waits for them on the device goes
  /// on with whatever is there. To be asked now and then while the host waits.
  virtual void require_whole() = 0;
};

}  // namespace evener::engine
