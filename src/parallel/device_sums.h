// All-reduce between the devices of a group's ranks, for their trainers.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/device_communicator.h"
#include "engine/gradient_exchange.h"

namespace evener::parallel {

/// Uses the CPU-side `channel` only to set the devices' communicator up and to notice a lost rank.
class GroupDeviceSums : public engine::DeviceSums {
 public:
  /// `channel` outlives this.
  explicit GroupDeviceSums(comm::Communicator& channel) : channel_(channel) {}

  void join() override;
  void add_up(std::span<const engine::DeviceValues> values, void* stream) override;
  void require_whole() override;

  /// While silent, add_up() leaves values as they are, because each replica measures its own speed.
  void be_silent(bool silent) { silent_ = silent; }

 private:
  comm::Communicator& channel_;
  std::unique_ptr<comm::DeviceCommunicator> devices_;
  bool silent_ = false;
};

}  // namespace evener::parallel
