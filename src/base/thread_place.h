// Where a thread of a team may run, and the only one that changes it. The thread pins itself (base/cpu.h); the others
// of its team, in other processes too, move it. Nobody restores an affinity that he noted before: each says what he
// wants, and who tells the kernel tells it the newest wish.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/scheduler.h"

namespace evener {

/// May lie in memory that processes share. Any thread may call it, once its own thread has begun.
///
/// The kernel is told in two steps, want() and hold(), since whoever tells it may lose his CPU at any time. Then
/// another one tells it, and who comes late finds that there is a newer wish, and tells that.
class ThreadPlace {
 public:
  /// Makes the calling thread this one, number `number` of its team, which may run on `cpus` for good.
  void begin(int number, const std::vector<int>& cpus);
  /// Says where the thread may run for good from now on, after it was pinned.
  void rebase(const std::vector<int>& cpus);

  ThreadId id() const { return {process_, thread_, turns_ahead_}; }
  /// Called by the thread itself now and then: the kernel may have lost count of its turns.
  void count_turns() { turns_ahead_ = scheduler().turns_ahead(); }
  bool is_this_thread() const { return scheduler().this_thread().thread == thread_; }
  /// Where it may run for good; empty if the kernel didn't tell.
  std::vector<int> cpus() const;
  int count() const { return count_; }
  bool has(int cpu) const;
  /// Whether it has one CPU, its home, which can be exchanged: it wasn't pinned since it began.
  bool is_bound() const { return is_bound_; }
  /// One of its CPUs. Each thread of a team has another home, as long as there are enough CPUs, and none was pinned
  /// elsewhere since it began. -1 if it has none.
  int home() const { return home_; }

  void want(int cpu) { wish(1 + static_cast<std::uint64_t>(cpu)); }
  void want_home();
  /// Ends what want() asked for.
  void want_all() { wish(kAll); }
  /// Tells the kernel what is wanted, unless it knows. False if the kernel refuses.
  bool hold();
  /// Gives each of two threads the home of the other. False if either may not run there, or is exchanging with a third.
  static bool exchange_homes(ThreadPlace& one, ThreadPlace& other);

 private:
  static constexpr std::uint64_t kAll = 0;  // otherwise 1 + a CPU
  static constexpr int kWishBits = 16;

  void wish(std::uint64_t code);
  bool claim();
  void await_claim();

  std::atomic<pid_t> process_{0}, thread_{0};
  std::atomic<std::int64_t> turns_ahead_{1};
  std::atomic<std::uint64_t> wanted_{0}, held_{0};  // the number of a wish, then the wish
  std::atomic<int> count_{0}, home_{-1};
  int number_ = 0;
  std::atomic<bool> is_bound_{false}, is_claimed_{false};
  std::array<std::atomic<std::uint64_t>, CPU_SETSIZE / 64> cpus_{};  // a bit for each
};

/// Ties a place to the thread that calls begin(), so that the thread's pinning changes the place too. It lies in the
/// memory of the thread's process, and has to end before its place does.
class PlaceTie {
 public:
  PlaceTie() = default;
  ~PlaceTie() { end(); }
  PlaceTie(const PlaceTie&) = delete;
  PlaceTie& operator=(const PlaceTie&) = delete;

  /// Makes the place the calling thread's, unless it is. For good, the thread may run where its other places say, or
  /// the kernel. `starter`: of the thread that started this one, and was perhaps being moved; this one may run wherever
  /// that one may.
  void begin(ThreadPlace& place, int number, const ThreadPlace* starter = nullptr);
  void end();

  struct Knot;

 private:
  std::shared_ptr<Knot> knot_;
  std::uint64_t thread_ = 0;  // the number of the one that began
};

/// Tells the places of the calling thread that it was pinned to `cpus`.
void rebase_places_of_this_thread(const std::vector<int>& cpus);
/// Where the calling thread may run for good as one of its places knows, which is true also while it is moved; empty
/// where it has none.
std::vector<int> cpus_of_places_of_this_thread();

}  // namespace evener
