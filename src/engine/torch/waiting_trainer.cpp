#include "engine/torch/waiting_trainer.h"

#include <mutex>
#include <set>

#include "base/error.h"
#include "base/names.h"

namespace evener::engine::torch_engine {
namespace {

std::mutex waiting_mutex;
std::set<int> waiting_gpus;  // by index

}  // namespace

WaitingTrainer::WaitingTrainer(Device device) : device_(device) {
  const std::lock_guard lock(waiting_mutex);
  if (waiting_gpus.insert(device.index).second) return;
  const std::string gpu = device_text(device);
  throw Error(
      "two replicas of one process can't both train on " + gpu +
      ", where the batch-norm of each waits for the other: give each a device of its own, or use --batch-norm local");
}

WaitingTrainer::~WaitingTrainer() {
  const std::lock_guard lock(waiting_mutex);
  waiting_gpus.erase(device_.index);
}

}  // namespace evener::engine::torch_engine
