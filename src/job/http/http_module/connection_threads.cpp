#include "job/http/http_module/connection_threads.h"

#include <system_error>
#include <utility>

namespace evener::job::http_module {

ConnectionThreads::ConnectionThreads(std::size_t most, std::function<void(int)> serve)
    : most_(most), serve_(std::move(serve)) {}

ConnectionThreads::~ConnectionThreads() {
  finish();
}

bool ConnectionThreads::take(int socket) {
  const std::lock_guard lock(mutex_);
  if (busy_ == threads_.size()) {
    if (busy_ == most_) return false;
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // the system has no more threads
      return false;
    }
  }
  waiting_.push_back(socket);
  ++busy_;
  changed_.notify_one();
  return true;
}

void ConnectionThreads::finish() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  threads_.clear();
}

std::size_t ConnectionThreads::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

void ConnectionThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const int socket = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    serve_(socket);
    lock.lock();
    --busy_;
  }
}

}  // namespace evener::job::http_module
