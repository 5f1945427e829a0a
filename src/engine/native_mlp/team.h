// The threads of a trainer: the caller and its workers, which do a piece of work together. A step of a small network is
// shorter than it takes the system to wake a thread, so they wait for each other spinning, for a short while.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace evener::engine::native_mlp {

class Team {
 public:
  /// Starts threads - 1 workers, but no more threads than there are CPUs for them: the `cpus`, or all that the process
  /// may use where there are none. With as many CPUs as threads each is pinned to its own, the caller to the first.
  Team(int threads, std::vector<int> cpus);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return threads_; }

  /// work(thread) on each thread, 0 being the caller; returns when all have done it. It must not throw.
  template <class Work>
  void run(const Work& work) {
    begin({&work, [](const void* what, int thread) { (*static_cast<const Work*>(what))(thread); }});
  }
  /// Within the work: returns when every thread has called it.
  void barrier();

 private:
  /// A call without the allocation that std::function may need.
  struct Task {
    const void* what = nullptr;
    void (*call)(const void* what, int thread) = nullptr;
  };
  void begin(Task task);
  void serve(int thread);
  void await_change(const std::atomic<std::uint32_t>& word, std::uint32_t seen) const;

  const int threads_;
  const std::vector<int> cpus_;
  std::int64_t spin_ns_ = 0;
  Task task_;
  bool ending_ = false;
  alignas(64) std::atomic<std::uint32_t> rounds_{0};  // pieces of work begun
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> meetings_{0};  // barriers passed
  std::vector<std::thread> workers_;
};

}  // namespace evener::engine::native_mlp
