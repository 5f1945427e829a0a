// One thread that runs collectives in the order they were given, while the caller computes.
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace evener::comm {

/// A task that was given to a CommunicationThread.
class Pending {
 public:
  Pending() = default;  // done
  /// Returns when the task is done; rethrows what it threw. May be called at most once.
  void wait();

  struct State;
  explicit Pending(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

/// A thread that runs tasks in order. It starts with the first task and ends with the object, after all tasks that were
/// given. Once a task has thrown, later ones are not run and throw the same exception.
class CommunicationThread {
 public:
  CommunicationThread();
  ~CommunicationThread();

  Pending run(std::function<void()> task);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evener::comm
