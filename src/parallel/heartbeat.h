// A process's signs of life, and its own check that it doesn't hang. Inside parallel/ only.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace evener::parallel {

class Heartbeat {
 public:
  /// Calls `beat` four times a second on a thread of its own, since the process's other threads may compute for
  /// minutes. Once these have used no CPU time for `hangs_after`, calls `on_hang`, which has to end the process.
  /// Threads that wait for other ranks poll now and then, so they use some CPU time and aren't taken for hung.
  Heartbeat(std::function<void()> beat, std::chrono::milliseconds hangs_after, std::function<void()> on_hang);

 private:
  std::mutex mutex_;
  std::condition_variable_any condition_;
  std::jthread thread_;
};

}  // namespace evener::parallel
