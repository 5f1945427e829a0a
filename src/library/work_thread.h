// A thread that does what its owner waits for: what work changes of its thread (CPUs, number of threads) stays there.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace evener::library {

class WorkThread {
 public:
  WorkThread() : thread_([this] { serve(); }) {}
  ~WorkThread();
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;

  /// Does `work` there, and throws what it throws. `meanwhile`, which throws nothing, is called here some fifty times a
  /// second, and once when the work is over; empty: nothing is done here. One call at a time.
  void call(const std::function<void()>& work, const std::function<void()>& meanwhile = {});

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable has_work_, is_done_;
  const std::function<void()>* work_ = nullptr;  // null: there is none
  std::exception_ptr failure_;
  bool ends_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace evener::library
