// One thread that runs collectives in the order they were given, while the caller computes.
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace evener::comm {

/// Something under way.
class Pending {
 public:
  Pending() = default;  // done
  /// Returns when it is done; rethrows what it threw. Each may be waited for once or not at all.
  void wait();

  struct State;
  explicit Pending(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

/// The thread starts with the first task and ends with the object, after the tasks that were given. After a task threw,
/// the later ones are not run and throw the same.
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
