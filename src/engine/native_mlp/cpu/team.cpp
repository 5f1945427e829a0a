#include "engine/native_mlp/cpu/team.h"

#include <algorithm>
#include <utility>

#include "base/cpu.h"

namespace evener::engine::native_mlp {
namespace {

/// Limits the threads to the number of CPUs: threads that shared one would wait for each other at every step, longer
/// than the work takes.
int useful_threads(int threads, const std::vector<int>& cpus) {
  const int available = cpus.empty() ? usable_cpus() : static_cast<int>(cpus.size());
  return std::clamp(threads, 1, available);
}

/// The CPUs to restrict the threads to: all allowed ones where more threads than those were asked for, otherwise
/// `cpus`.
std::vector<int> cpus_for(int threads, std::vector<int> cpus) {
  const std::vector<int>& allowed = cpu_topology().allowed;
  const bool too_many = cpus.empty() && static_cast<std::size_t>(threads) > allowed.size();
  if (too_many && usable_cpus() == static_cast<int>(allowed.size())) return allowed;
  return cpus;
}

}  // namespace

Team::Team(int threads, std::vector<int> cpus)
    : threads_(useful_threads(threads, cpus)),
      cpus_(cpus_for(threads, std::move(cpus))),
      members_(static_cast<std::size_t>(threads_)) {
  pin(0);
  for (int thread = 1; thread < threads_; ++thread) {
    workers_.emplace_back([this, thread] {
      pin(thread);
      serve(thread);
    });
  }
}

Team::~Team() {
  ending_ = true;
  announce(rounds_, idle_);
  for (auto& worker : workers_) worker.join();
}

void Team::pin(int thread) {
  if (!cpus_.empty()) pin_this_thread(cpus_);
  member(thread).tie.begin(member(thread).thread.place(), thread);
}

void Team::begin(Task task) {
  if (threads_ == 1) return task.call(task.what, 0);
  task_ = task;
  member(0).tie.begin(member(0).thread.place(), 0);
  announce(rounds_, idle_);
  task.call(task.what, 0);
  barrier(0);
}

void Team::barrier(int thread) {
  if (threads_ == 1) return;
  Member& self = member(thread);
  const std::uint32_t barriers = self.barriers.load(std::memory_order_relaxed) + 1;
  self.thread.settle();
  self.barriers = barriers;
  announce(arrivals_, sleepers_);
  // Counts arrivals instead of looking at each member, since all who wait would read as many cache lines as there are
  // members. Compared by differences, since the counters wrap around.
  const std::uint32_t all = barriers * static_cast<std::uint32_t>(threads_);
  const auto done = [&] { return static_cast<std::int32_t>(arrivals_ - all) >= 0; };
  const auto missing = [&]() -> StepThread* {
    for (Member& each : members_) {
      if (static_cast<std::int32_t>(each.barriers - barriers) < 0) return &each.thread;
    }
    return nullptr;
  };
  StepWait(self.thread, threads_).until(arrivals_, sleepers_, done, missing);
}

void Team::serve(int thread) {
  for (std::uint32_t seen = 0;; ++seen) {
    StepWait(member(thread).thread, threads_)
        .until(
            rounds_, idle_, [&] { return rounds_ != seen; }, [&] { return &member(0).thread; });
    if (ending_) return;
    task_.call(task_.what, thread);
    barrier(thread);
  }
}

}  // namespace evener::engine::native_mlp
