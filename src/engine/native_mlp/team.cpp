#include "engine/native_mlp/team.h"

#include <immintrin.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/cpu.h"

namespace evener::engine::native_mlp {
namespace {

/// A few times what going to sleep and being woken costs.
constexpr std::int64_t kSpin_ns = 300'000;
constexpr int kLooks = 64;  // between two looks at the clock

/// Threads that share a CPU wait for each other at every step, which takes longer than the work.
int useful_threads(int threads, const std::vector<int>& cpus) {
  const int available = cpus.empty() ? usable_cpus() : static_cast<int>(cpus.size());
  return std::clamp(threads, 1, available);
}

/// The CPUs of the threads. Where those are all that there are, each thread has its own: the system may put two that
/// spin on one, and leave another idle.
std::vector<int> cpus_for(int threads, std::vector<int> cpus) {
  const std::vector<int>& allowed = cpu_topology().allowed;
  const bool too_many = cpus.empty() && static_cast<std::size_t>(threads) > allowed.size();
  return too_many && usable_cpus() == static_cast<int>(allowed.size()) ? allowed : std::move(cpus);
}

/// Where a quota stops threads, who spins uses up what the one it waits for needs.
std::int64_t spin_ns(int threads) {
  const double quota = cpu_topology().quota_cpus;
  return quota > 0 && threads > quota ? 0 : kSpin_ns;
}

}  // namespace

Team::Team(int threads, std::vector<int> cpus)
    : threads_(useful_threads(threads, cpus)), cpus_(cpus_for(threads, std::move(cpus))), spin_ns_(spin_ns(threads_)) {
  const bool one_each = cpus_.size() == static_cast<std::size_t>(threads_);
  const auto pin = [this, one_each](int thread) {
    if (cpus_.empty()) return;
    pin_this_thread(one_each ? std::vector<int>{cpus_[static_cast<std::size_t>(thread)]} : cpus_);
  };
  for (int thread = 1; thread < threads_; ++thread) {
    workers_.emplace_back([this, pin, thread] {
      pin(thread);
      serve(thread);
    });
  }
  pin(0);
}

Team::~Team() {
  ending_ = true;
  rounds_.fetch_add(1, std::memory_order_release);
  rounds_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void Team::await_change(const std::atomic<std::uint32_t>& word, std::uint32_t seen) const {
  const std::int64_t begin = spin_ns_ > 0 ? now_ns() : 0;
  do {
    for (int look = 0; look < kLooks; ++look) {
      if (word.load(std::memory_order_acquire) != seen) return;
      _mm_pause();
    }
  } while (now_ns() - begin < spin_ns_);
  word.wait(seen, std::memory_order_acquire);
}

void Team::begin(Task task) {
  if (threads_ == 1) return task.call(task.what, 0);
  task_ = task;
  rounds_.fetch_add(1, std::memory_order_release);
  rounds_.notify_all();
  task.call(task.what, 0);
  barrier();
}

void Team::barrier() {
  if (threads_ == 1) return;
  const std::uint32_t meeting = meetings_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(threads_)) {
    arrived_.store(0, std::memory_order_relaxed);  // before the meeting, which lets the first of the next come
    meetings_.store(meeting + 1, std::memory_order_release);
    meetings_.notify_all();
    return;
  }
  await_change(meetings_, meeting);
}

void Team::serve(int thread) {
  for (std::uint32_t seen = 0;; ++seen) {
    await_change(rounds_, seen);
    if (ending_) return;
    task_.call(task_.what, thread);
    barrier();
  }
}

}  // namespace evener::engine::native_mlp
