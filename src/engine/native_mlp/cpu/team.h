// The threads of a trainer: the caller and its workers, which do pieces of work together. A step of a small network is
// shorter than the time to wake a thread, so waiting threads spin for a short while; a thread that has lost its CPU to
// another program is given that of one that waits (base/directed_yield.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "base/directed_yield.h"

namespace evener::engine::native_mlp {

class Team {
 public:
  /// Starts threads - 1 workers, or fewer, so that there are no more threads than CPUs. They are restricted to `cpus`,
  /// or if that is empty to all CPUs that the process may use.
  Team(int threads, std::vector<int> cpus);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return threads_; }

  /// Calls work(thread) on each thread, of which 0 is the caller; returns when all have finished. `work` must not
  /// throw.
  template <class Work>
  void run(const Work& work) {
    begin({&work, [](const void* what, int thread) { (*static_cast<const Work*>(what))(thread); }});
  }
  /// To be called from within the work of `thread`; returns when every thread has called it.
  void barrier(int thread);

 private:
  /// A call without the allocation that std::function may need.
  struct Task {
    const void* what = nullptr;
    void (*call)(const void* what, int thread) = nullptr;
  };
  struct alignas(64) Member {
    StepThread thread;
    PlaceTie tie;
    std::atomic<std::uint32_t> barriers{0};  // number of barriers that it has reached
  };
  void begin(Task task);
  void serve(int thread);
  void pin(int thread);
  Member& member(int thread) { return members_[static_cast<std::size_t>(thread)]; }

  const int threads_;
  const std::vector<int> cpus_;
  std::deque<Member> members_;
  Task task_;
  bool ending_ = false;
  alignas(64) std::atomic<std::uint32_t> rounds_{0};  // pieces of work begun
  std::atomic<std::uint32_t> idle_{0};                // workers that sleep until the next piece
  alignas(64) std::atomic<std::uint32_t> arrivals_{0};
  std::atomic<std::uint32_t> sleepers_{0};  // at barriers
  std::vector<std::thread> workers_;
};

}  // namespace evener::engine::native_mlp
