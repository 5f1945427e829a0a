// Threads that work in step wait for the slowest of them at every step. Where the slowest has lost its CPU to another
// program's thread, the others of its team only wait on theirs: one of them gives its CPU to the slowest and sleeps
// meanwhile.
//
// The kernel's scheduler does not do so by itself. It sees a team of two beside one busy program as three threads on
// two CPUs, and gives them turns. A team that spins then gets a third of its speed, and one that sleeps two fifths,
// since its threads run at the same time by chance alone. With CPUs given away it gets four fifths, which is what the
// other program leaves.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <mutex>

namespace evener {

/// A thread of a team, as the threads that wait for it see it. Must outlive their waits.
class StepThread {
 public:
  /// Makes the calling thread this one, number `number` of its team. Must be called again when anything but this
  /// mechanism has changed the thread's affinity.
  void begin(int number);
  /// Called by the thread itself before it announces its arrival: if one of those waiting has given it a CPU and
  /// sleeps, that one wakes on the CPU where this thread would have been.
  void give_back();

 private:
  friend class StepWait;
  cpu_set_t allowed() const;
  void stay_home() const;

  std::atomic<pid_t> id_{0};
  std::atomic<clockid_t> clock_{};           // counts the time that the thread ran
  std::atomic<int> home_{-1};                // the CPU that it wakes on, where each thread of the team has its own
  std::atomic<StepThread*> giver_{nullptr};  // the thread that gave it a CPU; itself while it gives one away
  std::atomic<std::int64_t> ran_at_sleep_ns_{-1};  // by its clock, when it last went to sleep in a wait
  const void* mark_ = nullptr;                     // of the thread that began last
  int pins_ = 0;                                   // pins_of_this_thread() at that time
  // Where this thread may run. Asking the kernel would give the affinity that another thread has set meanwhile.
  mutable std::mutex allowed_mutex_;
  cpu_set_t allowed_{};
};

/// One wait of a thread for others of its team. The word that it sleeps on has to change whenever one of them arrives.
class StepWait {
 public:
  /// `members`: the number of threads in the team. Where the team has exactly one CPU for each of them, a thread that
  /// gave its CPU away wakes on the CPU that the other one had lost.
  StepWait(StepThread& self, int members);

  /// Returns when done() is true. late() returns a thread that is still awaited, or null if none can be named.
  /// `sleepers` counts the threads that sleep on `word`, so that nobody makes a system call to wake none.
  template <class Done, class Late>
  void until(const std::atomic<std::uint32_t>& word, std::atomic<std::uint32_t>& sleepers, const Done& done,
             const Late& late) {
    if (look(done, kFirstLooks)) return;  // most waits are shorter than a look at the clock
    begin_ns_ = spin_end_ns();
    while (!spin(done)) {
      StepThread* const other = late();
      if (other == nullptr || !must_sleep(*other)) continue;
      sleepers.fetch_add(1);
      const std::uint32_t seen = word.load();
      if (!done()) sleep(word, seen, *other);
      sleepers.fetch_sub(1);
    }
  }

 private:
  static constexpr int kFirstLooks = 100, kLooks = 32;

  template <class Done>
  static bool look(const Done& done, int looks) {
    for (; looks > 0; --looks) {
      if (done()) return true;
      pause();
    }
    return false;
  }
  template <class Done>
  bool spin(const Done& done) const {
    const std::int64_t until_ns = spin_end_ns();
    do {
      if (look(done, kLooks)) return true;
    } while (before(until_ns));
    return false;
  }
  static void pause();
  static bool before(std::int64_t time_ns);
  std::int64_t spin_end_ns() const;
  /// Whether `other` has hardly run since the last look, or this thread has spun for long enough.
  bool must_sleep(const StepThread& other);
  /// Gives this thread's CPU to `other` if that isn't running, and sleeps until `word` changes, or for a while.
  void sleep(const std::atomic<std::uint32_t>& word, std::uint32_t seen, StepThread& other);
  bool give_cpu(StepThread& other, bool is_full);
  void take_back(StepThread& other);

  StepThread& self_;
  const int members_;
  std::int64_t begin_ns_ = 0;
  std::int64_t sleep_ns_;
  const StepThread* looked_at_ = nullptr;
  std::int64_t looked_ns_ = 0, ran_ns_ = 0;
  bool is_stuck_ = false;  // the other one
};

/// A thread that is bound to one CPU, as a replica's is. The object may lie in memory shared with other processes,
/// whose threads work in step with it: one that waits for a thread that has lost its CPU exchanges CPUs with it.
class BoundThread {
 public:
  /// Makes the calling thread this one. Where it may run on several CPUs, nothing is exchanged.
  void begin();
  bool is_this_thread() const;
  /// Binds each of the two threads to the CPU of the other. False where one is bound to no single CPU, was bound
  /// elsewhere since, or is just being exchanged with a third.
  bool exchange_cpus(BoundThread& other);

 private:
  friend class ClockLook;
  std::int64_t ran_ns() const;

  static constexpr int kNone = 0;
  std::atomic<pid_t> id_{0};
  std::atomic<clockid_t> clock_{}, process_clock_{};
  std::atomic<int> cpu_{kNone};  // 1 + its number; kNone also while it is exchanged
  int pins_ = 0;                 // pins_of_this_thread() when it began
};

/// Finds threads that have lost their CPU, by how much they ran between two looks.
class ClockLook {
 public:
  /// Whether the thread has hardly run since the last look at it; false at the first look.
  bool is_stuck(const BoundThread& thread);
  void forget() { looked_at_ = nullptr; }

 private:
  const BoundThread* looked_at_ = nullptr;
  std::int64_t looked_ns_ = 0, ran_ns_ = 0;
};

/// Changes `word` and wakes the threads that sleep on it.
void announce(std::atomic<std::uint32_t>& word, const std::atomic<std::uint32_t>& sleepers);

}  // namespace evener
