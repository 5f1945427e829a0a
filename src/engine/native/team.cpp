#include "engine/native/team.h"

#include <immintrin.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/cpu.h"

namespace evener::engine::native {
namespace {

/// A few times what going to sleep and being woken costs.
constexpr std::int64_t kSpin_ns = 300'000;
constexpr int kLooks = 64;  // between two looks at the clock

/// Where threads share CPUs, who spins keeps the one it waits for from coming.
std::int64_t spin_ns(int threads, const std::vector<int>& cpus) {
  const CpuTopology& topology = cpu_topology();
  double available = static_cast<double>(cpus.empty() ? topology.allowed.size() : cpus.size());
  if (topology.quota_cpus > 0) available = std::min(available, topology.quota_cpus);
  return threads <= available ? kSpin_ns : 0;
}

}  // namespace

Team::Team(int threads, std::vector<int> cpus)
    : threads_(std::max(threads, 1)), cpus_(std::move(cpus)), spin_ns_(spin_ns(threads_, cpus_)) {
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

Range share_of(std::int64_t count, int index, int threads, std::int64_t unit) {
  const std::int64_t units = (count + unit - 1) / unit;
  return {std::min(count, units * index / threads * unit), std::min(count, units * (index + 1) / threads * unit)};
}

}  // namespace evener::engine::native
