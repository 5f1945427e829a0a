// A thread that does work while its owner waits, because work may change properties of its thread (pinning, number of
// threads) that must not affect the caller's.
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

  /// Does `work` on the thread and rethrows its exception. Meanwhile calls `meanwhile`, which must not throw, on the
  /// calling thread about fifty times a second and once at the end, unless it is empty. Only one call at a time.
  void call(const std::function<void()>& work, const std::function<void()>& meanwhile = {});

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable has_work_, is_done_;
  const std::function<void()>* work_ = nullptr;  // null: no work
  std::exception_ptr failure_;
  bool ends_ = false;
  std::thread thread_;  // last: it uses the other members
};

}  // namespace evener::library
