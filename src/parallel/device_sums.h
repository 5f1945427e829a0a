// Sums over the devices of a group's ranks, for their trainers.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/device_communicator.h"
#include "engine/device_sums.h"

namespace evener::parallel {

/// The ranks find each other through their hosts' channel, which also tells when one is lost.
class GroupDeviceSums : public engine::DeviceSums {
 public:
  /// `channel` outlives this.
  explicit GroupDeviceSums(comm::Communicator& channel) : channel_(channel) {}

  void join() override;
  void add_up(std::span<const engine::DeviceValues> values, void* stream) override;
  void require_whole() override;

  /// While silent, nothing is added up: replicas compute something each by itself.
  void be_silent(bool silent) { silent_ = silent; }

 private:
  comm::Communicator& channel_;
  std::unique_ptr<comm::DeviceCommunicator> devices_;
  bool silent_ = false;
};

}  // namespace evener::parallel
