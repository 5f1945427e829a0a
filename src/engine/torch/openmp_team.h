// The threads behind the parallel regions of one calling thread, and what they share in a region.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>

#include "base/directed_yield.h"

namespace evener::engine::torch_engine::openmp {

/// Work that the threads of a region take piece by piece: a loop with a dynamic schedule, or numbered sections.
class WorkShare {
 public:
  /// Sets up the loop [begin, end) in steps of `step`, with pieces of `chunk` iterations. Only the call of the first
  /// thread that arrives has an effect.
  void begin(long begin, long end, long step, long chunk);
  /// Takes the next piece [*first, *last), with its number in `turn`; false when none is left.
  bool take(long* first, long* last, long* turn);
  /// Ordered loops: returns when all pieces before that of `turn` have ended.
  void await_turn(long turn);
  void end_turn(long turn);

 private:
  std::mutex mutex_;
  std::condition_variable turns_;
  bool has_begun_ = false;
  long next_ = 0, end_ = 0, step_ = 1, chunk_ = 1;
  long turns_given_ = 0, turn_ = 0;
};

/// One parallel region: body(data) on `size` threads.
struct Region {
  void (*body)(void*) = nullptr;
  void* data = nullptr;
  int size = 1;
  int most_threads = 1;  // the caller's limit on threads, which the other threads inherit
  std::atomic<int> singles{0};

  WorkShare& share(int number);

 private:
  std::mutex mutex_;
  std::map<int, WorkShare> shares_;
};

/// The calling thread, which is member 0, and its workers; they are started when a region first needs them.
class Team {
 public:
  Team();
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Runs region.body on region.size threads, or fewer if no more can be started; returns when all have finished.
  void run(Region& region);
  /// Within a region: returns when every member has come.
  void barrier(int member, const Region& region);
  int size() const { return size_; }
  /// Whether the workers exist in this process: a forked child has none of them.
  bool is_alive() const;

 private:
  struct alignas(64) Member {  // so that no two of them share a cache line
    StepThread thread;
    PlaceTie tie;
    Team* team = nullptr;
    Member* caller = nullptr;  // kept here, since members_ may be growing meanwhile
    int number = 0;
    pthread_t handle{};
    Region* region = nullptr;
    std::atomic<std::uint32_t> stage{0};  // number of barriers of the region that it has reached
    std::atomic<std::uint32_t> rounds{0}, sleepers{0};
  };
  void start(int size);
  void serve(Member& member);
  void arrive(Member& member, std::uint32_t stage);
  void await_all(Member& member, const Region& region, std::uint32_t stage);

  const pid_t process_;
  std::deque<Member> members_;
  std::atomic<int> size_{1};  // of members_
  bool ending_ = false;
  std::uint32_t arrivals_before_ = 0;                   // of the region
  alignas(64) std::atomic<std::uint32_t> arrivals_{0};  // of any member at any barrier
  std::atomic<std::uint32_t> sleepers_{0};
};

/// The calling thread's place in its region.
struct Position {
  Region* region = nullptr;  // null: in none
  Team* team = nullptr;      // null: it is alone in its region
  int member = 0;
  bool is_parallel = false;  // several threads are in this region, or in one around it
  int singles = 0, shares = 0;
  WorkShare* share = nullptr;  // the loop whose pieces it takes
  long turn = -1;              // number of its piece of an ordered loop
  int most_threads = 0;        // 0: as many as there are CPUs
};
Position& position();

}  // namespace evener::engine::torch_engine::openmp
