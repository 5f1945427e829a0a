// A process's signs of life, and its own judgement whether it still does anything. Inside parallel/ only.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace evener::parallel {

class Heartbeat {
 public:
  /// From now on calls `beat` four times a second in a thread of its own, since a rank may compute for minutes. Where
  /// the other threads of the process have used no processor for `hangs_after` it calls `on_hang` there, which ends the
  /// process. A thread that waits for other ranks looks around now and then, and so uses the processor too.
  Heartbeat(std::function<void()> beat, std::chrono::milliseconds hangs_after, std::function<void()> on_hang);

 private:
  std::mutex mutex_;
  std::condition_variable_any condition_;
  std::jthread thread_;
};

}  // namespace evener::parallel
