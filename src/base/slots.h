// A counting semaphore. (g++ 12's std::counting_semaphore loses wake-ups, GCC bug 98033.)
#pragma once

#include <condition_variable>
#include <mutex>

namespace evener {

/// Locked by std::scoped_lock: at most `count` threads hold it at once; the others wait.
class Slots {
 public:
  explicit Slots(int count) : free_(count) {}

  void lock() {
    std::unique_lock lock(mutex_);
    given_back_.wait(lock, [&] { return free_ > 0; });
    --free_;
  }
  void unlock() {
    {
      const std::scoped_lock lock(mutex_);
      ++free_;
    }
    given_back_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable given_back_;
  int free_;
};

}  // namespace evener
