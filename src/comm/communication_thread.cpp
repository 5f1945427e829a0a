#include "comm/communication_thread.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "base/cpu.h"
#include "base/error.h"
#include "base/this_work.h"

namespace evener::comm {

struct Pending::State {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::exception_ptr failure;

  void end(const std::exception_ptr& how) {
    const std::lock_guard lock(mutex);
    done = true;
    failure = how;
    ended.notify_all();
  }
};

void Pending::wait() {
  if (!state_) return;
  std::unique_lock lock(state_->mutex);
  state_->ended.wait(lock, [&] { return state_->done; });
  if (state_->failure) std::rethrow_exception(state_->failure);
}

struct CommunicationThread::State {
  struct Task {
    std::function<void()> work;
    std::shared_ptr<Pending::State> pending;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  bool closing = false;
  std::exception_ptr failure;  // of the first task that threw; only the thread looks
  std::thread thread;

  void work() {
    try {
      pin_this_thread({});  // the rank that started it may be bound to a CPU, which another rank may get
    } catch (const Error&) {
      // It stays where it is, which is slower at most.
    }
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return closing || !tasks.empty(); });
      if (tasks.empty()) return;
      Task task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      run(task);
    }
  }

  void run(Task& task) {
    try {
      if (!failure) task.work();
    } catch (...) {
      failure = std::current_exception();
    }
    task.work = nullptr;  // what the task holds is freed before its caller goes on
    task.pending->end(failure);
  }
};

CommunicationThread::CommunicationThread() : state_(std::make_unique<State>()) {}

CommunicationThread::~CommunicationThread() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->closing = true;
    state_->changed.notify_one();
  }
  if (state_->thread.joinable()) state_->thread.join();
}

Pending CommunicationThread::run(std::function<void()> task) {
  const auto pending = std::make_shared<Pending::State>();
  const std::lock_guard lock(state_->mutex);
  state_->tasks.push_back({std::move(task), pending});
  if (!state_->thread.joinable()) state_->thread = std::thread(as_this_work([state = state_.get()] { state->work(); }));
  state_->changed.notify_one();
  return Pending(pending);
}

}  // namespace evener::comm
