// The operating system's scheduler: what threads that wait for each other ask it, and what they tell it. Tests put a
// simulated one in its place.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace evener {

/// A thread of this process or of another one of this host.
struct ThreadId {
  pid_t process = 0, thread = 0;
  std::int64_t turns_ahead = 1;  // Scheduler::turns_ahead() as the thread last told it
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  virtual std::int64_t now_ns() = 0;
  virtual ThreadId this_thread() = 0;
  virtual int this_cpu() = 0;
  /// How long the calling thread, ready to run, has waited for a CPU since it was started; -1 if that isn't told.
  virtual std::int64_t delayed_ns() = 0;
  /// How much more often the calling thread has got a CPU than left one, as the kernel counts: 1, unless it lost count.
  /// Linux loses one now and then when a thread starts a process.
  virtual std::int64_t turns_ahead() { return 1; }
  /// Whether another thread is ready to run and waits for a CPU. False also where that isn't told.
  virtual bool waits_for_cpu(const ThreadId& thread) = 0;

  /// The CPUs that the calling thread may run on; none if there are more than a cpu_set_t has room for.
  virtual cpu_set_t allowed() = 0;
  /// Lets a thread run on these CPUs alone. One that runs or waits on another is moved at once. False if the kernel
  /// refuses.
  virtual bool keep_on(const ThreadId& thread, const cpu_set_t& cpus) = 0;

  /// Sleeps while `word` is `seen`, for `limit_ns` at most.
  virtual void wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t limit_ns) = 0;
  virtual void wake_all(const std::atomic<std::uint32_t>& word) = 0;
};

/// Linux, unless a test has put another in its place.
Scheduler& scheduler();
/// Null: Linux again. To be called while no other thread waits.
void use_scheduler(Scheduler* other);

}  // namespace evener
