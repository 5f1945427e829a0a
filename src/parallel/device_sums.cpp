#include "parallel/device_sums.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "base/phase.h"

namespace evener::parallel {

void GroupDeviceSums::join() {
  const PhaseMark mark(Phase::kConnect);
  comm::DeviceGroupId id{};
  if (channel_.rank() == 0) id = comm::make_device_group_id();
  channel_.broadcast(id, 0);
  devices_ = comm::join_device_group(id, channel_.rank(), channel_.size());
}

void GroupDeviceSums::add_up(std::span<const engine::DeviceValues> values, void* stream) {
  if (silent_) return;
  std::vector<comm::DeviceVector> vectors;
  for (const engine::DeviceValues& each : values) {
    vectors.push_back(
        {each.data, static_cast<std::size_t>(each.count), each.type == engine::DeviceValues::Type::kFloat64});
  }
  devices_->all_reduce(vectors, stream);
}

void GroupDeviceSums::require_whole() {
  try {
    channel_.require_whole();
    if (const std::string failure = devices_->failure(); !failure.empty()) throw Error(failure);
  } catch (const Error&) {
    devices_->abort();  // or the device would wait for the lost rank for ever
    throw;
  }
}

}  // namespace evener::parallel
