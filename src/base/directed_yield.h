// Threads that work in step wait for the slowest of them at every step. Where that one has lost its CPU to somebody
// else's thread, its comrades have CPUs on which they only wait: one of them gives its own to it and sleeps meanwhile.
//
// The system does not do so by itself. It sees a team of two beside one busy program as three threads on two CPUs, and
// takes turns; a team that spins then comes to a third of its speed, one that sleeps to two fifths, since its threads
// run together by chance alone. With CPUs given away it comes to what the other program leaves, four fifths.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <mutex>

namespace evener {

/// A thread of a team, as those see it who wait for it. It lives as long as anybody may.
class StepThread {
 public:
  /// The calling thread is this one from now on, number `number` of its team. To be called again when its CPUs have
  /// been changed by others than those who wait for it.
  void begin(int number);
  /// Called by the thread itself before others may see that it has come as far as they wait for: if one of them sleeps
  /// because it gave away its CPU, that one wakes where this thread would have been.
  void give_back();

 private:
  friend class StepWait;
  cpu_set_t allowed() const;
  void stay_home() const;

  std::atomic<pid_t> id_{0};
  std::atomic<clockid_t> clock_{};           // of the time that it ran
  std::atomic<int> home_{-1};                // the CPU that it wakes on, where each thread of the team has its own
  std::atomic<StepThread*> giver_{nullptr};  // who gave it a CPU; itself while it gives that one its own
  std::atomic<std::int64_t> ran_at_sleep_ns_{-1};  // by its clock, when it last went to sleep in a wait
  const void* mark_ = nullptr;                     // of the thread that began last
  int pins_ = 0;                                   // of it then
  // Where it may run. The kernel's own answer is no use while others move it.
  mutable std::mutex allowed_mutex_;
  cpu_set_t allowed_{};
};

/// One wait of a thread for others. The word that it sleeps on has to change whenever one of them has come.
class StepWait {
 public:
  /// `members` is how many threads the team has: with a CPU for each and none to spare, who gives its own away wakes
  /// on the one that it made up for.
  StepWait(StepThread& self, int members);

  /// Returns when done() is true. late() names a thread that is still awaited, or null if none can be named.
  /// `sleepers` counts those who sleep on `word`, so that nobody wakes none.
  template <class Done, class Late>
  void until(const std::atomic<std::uint32_t>& word, std::atomic<std::uint32_t>& sleepers, const Done& done,
             const Late& late) {
    if (look(done, kFirstLooks)) return;  // most waits are shorter than asking what time it is
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
  /// Gives this thread's CPU to `other` if it isn't running, and sleeps until `word` changes, or a while.
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

/// A thread that is bound to one CPU, as a replica is, seen by those of other processes that work in step with it: it
/// may lie in memory that they share. Who waits for one that has lost its CPU exchanges CPUs with it.
class BoundThread {
 public:
  /// The calling thread is this one from now on. Where it may run on several CPUs, nothing is exchanged.
  void begin();
  bool is_this_thread() const;
  /// Binds each of the two to the CPU of the other. False where one has none, was bound elsewhere since, or is being
  /// exchanged with a third.
  bool exchange_cpus(BoundThread& other);

 private:
  friend class ClockLook;
  std::int64_t ran_ns() const;

  static constexpr int kNone = 0;
  std::atomic<pid_t> id_{0};
  std::atomic<clockid_t> clock_{}, process_clock_{};
  std::atomic<int> cpu_{kNone};  // 1 + its number; kNone also while it is exchanged
  int pins_ = 0;                 // of the thread, when it began
};

/// Looks at how much a thread ran.
class ClockLook {
 public:
  /// Whether it has hardly run since the last look at it; false at the first.
  bool is_stuck(const BoundThread& thread);
  void forget() { looked_at_ = nullptr; }

 private:
  const BoundThread* looked_at_ = nullptr;
  std::int64_t looked_ns_ = 0, ran_ns_ = 0;
};

/// Changes `word` and wakes who sleeps on it.
void announce(std::atomic<std::uint32_t>& word, const std::atomic<std::uint32_t>& sleepers);

}  // namespace evener
