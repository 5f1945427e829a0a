// Threads that work in step wait for the slowest of them at every step. Where the slowest has lost its CPU to another
// program's thread, the others of its team only wait on theirs: one of them gives its CPU to the slowest and sleeps
// meanwhile. A team is the threads of a parallel region, or the ranks of a host, which are processes.
//
// The kernel's scheduler does not do so by itself. It sees a team of two beside one busy program as three threads on
// two CPUs, and gives them turns. A team that spins then gets a third of its speed, and one that sleeps two fifths,
// since its threads run at the same time by chance alone. With CPUs given away it gets four fifths, which is what the
// other program leaves.
//
// On a quiet machine the kernel does well, and a thread that is only being woken looks like one that has lost its CPU.
// So CPUs are given away only while threads of the run are delayed, as the kernel counts it for each of them.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/thread_place.h"

namespace evener {

/// How often threads of this process and of those forked from it have given their CPU to a late one of their team. All
/// of these processes see the same numbers.
struct GivenCpus {
  std::int64_t exchanged = 0;  // between threads that are bound to one CPU each
  std::int64_t lent = 0;       // between threads that may run on several
};
GivenCpus given_cpus();

/// Whether threads of the run were delayed lately: they were ready to run, and other threads had the CPUs.
bool cpus_are_contended(std::int64_t now_ns);
/// For tests: takes CPUs for contended until then; 0 forgets all delays.
void assume_contention(std::int64_t until_ns);

/// A thread of a team, as the threads that wait for it see it. Must outlive their waits; may lie in memory that
/// processes share, at the same address in each.
class StepThread {
 public:
  ThreadPlace& place() { return place_; }
  const ThreadPlace& place() const { return place_; }
  /// To be called before the thread's arrival is announced: if one of those waiting gave it a CPU, that one wakes where
  /// this thread would have been.
  void settle();

 private:
  friend class YieldingSleep;

  ThreadPlace place_;
  std::atomic<StepThread*> giver_{nullptr};  // the thread that gave it a CPU since its last arrival
};

/// Whether `other`, which the calling thread waits for, has lost its CPU while CPUs are contended. Notes how long the
/// calling thread, `self`, was delayed, a few times a second.
bool is_stuck(StepThread& self, const StepThread& other, std::int64_t now_ns);

/// The sleep of a thread in a wait, for which it may give its CPU away. What it gave it has back when the sleep or this
/// object ends.
class YieldingSleep {
 public:
  explicit YieldingSleep(StepThread& self) : self_(self) {}
  ~YieldingSleep() { end(); }
  YieldingSleep(const YieldingSleep&) = delete;
  YieldingSleep& operator=(const YieldingSleep&) = delete;

  /// Gives this thread's CPU to `other`, which is stuck. `members`: the number of threads in the team. False if another
  /// thread gave it one, or it may not run here.
  bool give(StepThread& other, int members);
  /// Sleeps while `word` is `seen`, for `limit_ns` at most. A team that has exactly one CPU for each of its threads
  /// wakes on different ones.
  void sleep(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t limit_ns, int members);

 private:
  void excuse();
  void end();

  StepThread& self_;
  StepThread* given_to_ = nullptr;
  bool is_kept_ = false;  // on its home, of several CPUs
  std::int64_t delayed_before_ns_ = -1;
};

/// One wait of a thread for others of its process. The word that it sleeps on has to change whenever one of them
/// arrives.
class StepWait {
 public:
  /// `members`: the number of threads in the team.
  StepWait(StepThread& self, int members) : self_(self), members_(members) {}

  /// Returns when done() is true. late() returns a thread that is still awaited, or null if none can be named.
  /// `sleepers` counts the threads that sleep on `word`, so that nobody makes a system call to wake none.
  void until(const std::atomic<std::uint32_t>& word, std::atomic<std::uint32_t>& sleepers, const auto& done,
             const auto& late) {
    if (look(done, kFirstLooks)) return;  // most waits are shorter than a look at the clock
    begin_ns_ = scheduler().now_ns();
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

  static bool look(const auto& done, int looks) {
    for (; looks > 0; --looks) {
      if (done()) return true;
      __builtin_ia32_pause();
    }
    return false;
  }
  bool spin(const auto& done) const {
    const std::int64_t until_ns = spin_end_ns();
    do {
      if (look(done, kLooks)) return true;
    } while (scheduler().now_ns() < until_ns);
    return false;
  }
  static std::int64_t spin_end_ns();
  /// Whether `other` is stuck, or this thread has spun for long enough.
  bool must_sleep(const StepThread& other);
  void sleep(const std::atomic<std::uint32_t>& word, std::uint32_t seen, StepThread& other);

  StepThread& self_;
  const int members_;
  std::int64_t begin_ns_ = 0, sleep_ns_ = 0;
  bool is_stuck_ = false;  // the other one
};

/// Changes `word` and wakes the threads that sleep on it.
void announce(std::atomic<std::uint32_t>& word, const std::atomic<std::uint32_t>& sleepers);

}  // namespace evener
