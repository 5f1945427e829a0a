// How the devices of a run's ranks speak with each other, without their hosts: through NCCL.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace evener::comm {

/// By which the ranks of one group find each other: made by one of them and handed to the others.
using DeviceGroupId = std::array<std::byte, 128>;

/// Values of a device's memory, in place of which their sum over all ranks is put.
struct DeviceVector {
  void* values = nullptr;
  std::size_t count = 0;
  bool is_double = false;  // float64; otherwise float32
};

/// One rank's end of a group of devices. All ranks call the same things in the same order.
class DeviceCommunicator {
 public:
  virtual ~DeviceCommunicator() = default;

  /// Gives `stream` (a cudaStream_t of the device that was current when the group was joined) the work of summing the
  /// vectors, as one operation. May be captured. Throws Error.
  virtual void all_reduce(std::span<const DeviceVector> vectors, void* stream) = 0;
  /// Why the group can't go on; "" = it can.
  virtual std::string failure() = 0;
  /// What waits in streams for other ranks goes on with whatever is there, and nothing can be summed any more.
  virtual void abort() = 0;
};

/// Why devices can't speak with each other here: NCCL isn't there, or too old; "" = they can.
std::string why_no_device_groups();
/// NCCL's version, "2.28.9", where it is there.
std::string device_group_version();

/// Throws Error where NCCL can't be used.
DeviceGroupId make_device_group_id();
/// Returns when all `ranks` have called it, each with its own device current and a rank of its own. Throws Error.
std::unique_ptr<DeviceCommunicator> join_device_group(const DeviceGroupId& id, int rank, int ranks);

}  // namespace evener::comm
