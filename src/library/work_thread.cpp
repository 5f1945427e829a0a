#include "library/work_thread.h"

#include <chrono>
#include <utility>

namespace evener::library {

WorkThread::~WorkThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  has_work_.notify_one();
  thread_.join();
}

void WorkThread::call(const std::function<void()>& work, const std::function<void()>& meanwhile) {
  constexpr std::chrono::milliseconds kBetween{20};
  std::unique_lock lock(mutex_);
  work_ = &work;
  has_work_.notify_one();
  const auto over = [this] { return work_ == nullptr; };
  if (!meanwhile) is_done_.wait(lock, over);
  while (!is_done_.wait_for(lock, kBetween, over)) {
    lock.unlock();
    meanwhile();
    lock.lock();
  }
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  lock.unlock();
  if (meanwhile) meanwhile();
  if (failure) std::rethrow_exception(failure);
}

void WorkThread::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [this] { return work_ != nullptr || ends_; });
    if (work_ == nullptr) return;
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*work_)();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    work_ = nullptr;
    is_done_.notify_one();
  }
}

}  // namespace evener::library
