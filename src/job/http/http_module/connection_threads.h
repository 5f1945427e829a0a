// A thread for each connection: as many as are needed at once, kept for the next ones.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace evener::job::http_module {

class ConnectionThreads {
 public:
  /// `serve` owns the socket that it is given, and throws nothing.
  ConnectionThreads(std::size_t most, std::function<void(int socket)> serve);
  ~ConnectionThreads();

  /// False where all threads are busy: the socket is still the caller's.
  bool take(int socket);
  /// Waits until all that were taken are served, and ends the threads.
  void finish();

  std::size_t busy() const;

 private:
  void work();

  const std::size_t most_;
  const std::function<void(int)> serve_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<int> waiting_;  // sockets that threads are woken for
  std::size_t busy_ = 0;     // threads that serve, or are woken to
  bool over_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace evener::job::http_module
