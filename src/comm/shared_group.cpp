#include "comm/shared_group.h"

#include "base/error.h"
#include "comm/shared_memory.h"

namespace evener::comm {

struct SharedGroup::State {
  explicit State(const SharedGroupOptions& options) : memory(options) {}

  LifeSigns& life(int rank) const {
    check(rank, memory.options().ranks, "rank");
    return memory.life(rank);
  }

  static void check(int index, int count, const char* what) {
    if (index >= 0 && index < count) return;
    throw Error("no " + std::string(what) + " " + std::to_string(index) + " in this group: it has " +
                std::to_string(count) + ", counted from 0");
  }

  SharedMemory memory;
};

SharedGroup::SharedGroup(const SharedGroupOptions& options) : state_(std::make_unique<State>(options)) {}

SharedGroup::~SharedGroup() = default;

int SharedGroup::ranks() const {
  return state_->memory.options().ranks;
}

std::unique_ptr<Communicator> SharedGroup::join(int rank, int channel, const char* name) {
  State::check(rank, ranks(), "rank");
  State::check(channel, state_->memory.options().channels, "channel");
  return make_shared_communicator(state_->memory, rank, channel, name);
}

std::span<std::byte> SharedGroup::common() const {
  return state_->memory.common();
}

void SharedGroup::beat(int rank) {
  state_->life(rank).beats.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t SharedGroup::beats(int rank) const {
  return state_->life(rank).beats.load(std::memory_order_relaxed);
}

void SharedGroup::set_progress(int rank, std::int64_t epoch, std::int64_t step) {
  LifeSigns& life = state_->life(rank);
  life.epoch.store(epoch, std::memory_order_relaxed);
  life.step.store(step, std::memory_order_relaxed);
}

SharedGroup::Progress SharedGroup::progress(int rank) const {
  const LifeSigns& life = state_->life(rank);
  return {life.epoch.load(std::memory_order_relaxed), life.step.load(std::memory_order_relaxed)};
}

void SharedGroup::abort(const std::string& reason) {
  state_->memory.abort(reason);
}

bool SharedGroup::aborted() const {
  return state_->memory.aborted();
}

std::string SharedGroup::abort_reason() const {
  return state_->memory.reason();
}

}  // namespace evener::comm
