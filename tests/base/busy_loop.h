// A neighbour that computes all the time, as another program does, for as long as its owner lives.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <optional>
#include <thread>

namespace evener::test {

class BusyLoop {
 public:
  /// Bound to one CPU, or where the system puts it.
  explicit BusyLoop(std::optional<int> cpu = {}) : thread_([this] { run(); }) {
    if (!cpu) return;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<unsigned>(*cpu), &only);
    is_bound_ = pthread_setaffinity_np(thread_.native_handle(), sizeof only, &only) == 0;
  }
  ~BusyLoop() {
    ending_ = true;
    thread_.join();
  }
  BusyLoop(const BusyLoop&) = delete;
  BusyLoop& operator=(const BusyLoop&) = delete;

  /// False where no CPU was asked for, too.
  bool is_bound() const { return is_bound_; }

 private:
  void run() const {
    while (!ending_.load(std::memory_order_relaxed)) {
    }
  }

  std::atomic<bool> ending_{false};
  bool is_bound_ = false;
  std::thread thread_;
};

}  // namespace evener::test
