// All-reduce among the devices of a run's ranks through NCCL, without copies through the hosts.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace evener::comm {

/// Identifies a group of devices: one rank makes it, and all ranks join the group with it.
using DeviceGroupId = std::array<std::byte, 128>;

/// A vector in a device's memory, which is replaced by its sum over all ranks.
struct DeviceVector {
  void* values = nullptr;
  std::size_t count = 0;
  bool is_double = false;  // float64; otherwise float32
};

/// One rank's end of a group of devices. All ranks make the same calls in the same order.
class DeviceCommunicator {
 public:
  virtual ~DeviceCommunicator() = default;

  /// Enqueues the sum of the vectors over all ranks, as one operation, on `stream` (a cudaStream_t of the device that
  /// was current when the group was joined). May be captured in a graph. Throws Error.
  virtual void all_reduce(std::span<const DeviceVector> vectors, void* stream) = 0;
  /// Why the group can't go on; "" = it can.
  virtual std::string failure() = 0;
  /// Ends the group: streams that wait for other ranks go on with undefined values, and nothing can be summed any more.
  virtual void abort() = 0;
};

/// Why there can be no groups of devices here: NCCL is missing or too old; "" = there can.
std::string why_no_device_groups();
/// NCCL's version, such as "2.28.9"; "" where it is missing.
std::string device_group_version();

/// Throws Error where NCCL can't be used.
DeviceGroupId make_device_group_id();
/// Returns when all `ranks` have called it, each with its own device current and a rank of its own. Throws Error.
std::unique_ptr<DeviceCommunicator> join_device_group(const DeviceGroupId& id, int rank, int ranks);

}  // namespace evener::comm
