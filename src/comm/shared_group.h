// Communicators through shared memory among the ranks of one host, which are threads of a process, or processes forked
// from one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "comm/communicator.h"

namespace evener::comm {

struct SharedGroupOptions {
  int ranks = 1;
  int channels = 1;  // independent communicators, used by different threads
  /// The size of a staging slot; longer vectors are exchanged in several pieces. Each rank has four slots in each
  /// channel, two for collectives and two for messages; slots never used cost no memory.
  std::size_t staging_bytes = std::size_t{1} << 20;
  double cpus = 0;               // that the ranks may use; 0 = as many as this process
  std::size_t common_bytes = 0;  // of memory that users of the group share (common())
  /// How long a collective waits for the others. It is long, since a slow rank is not a dead one: the process that
  /// watches the ranks aborts the group when one dies.
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
};

/// The shared memory of a group, to be made before the ranks are started: forked children inherit the mapping, threads
/// share it. It is anonymous, so the kernel frees it with its last user, however that ended.
class SharedGroup {
 public:
  explicit SharedGroup(const SharedGroupOptions& options);
  ~SharedGroup();
  SharedGroup(const SharedGroup&) = delete;
  SharedGroup& operator=(const SharedGroup&) = delete;

  int ranks() const;
  /// `rank`'s end of `channel`; `name` is what it calls itself ("threads", "shm"). The group must outlive it.
  std::unique_ptr<Communicator> join(int rank, int channel, const char* name);

  /// Memory for the users of the group: the same bytes for every rank, zero at first, at an address that is a multiple
  /// of 4096.
  std::span<std::byte> common() const;

  /// Counts a sign of life of a rank, for the process that watches the ranks (parallel/launcher.cpp).
  void beat(int rank);
  std::uint64_t beats(int rank) const;
  /// Notes how far a rank has come, for the message when it is lost.
  void set_progress(int rank, std::int64_t epoch, std::int64_t step);
  struct Progress {
    std::int64_t epoch = 0, step = 0;
  };
  Progress progress(int rank) const;

  /// Makes every collective, waiting or to come, throw Error with `reason` (cut to 500 bytes). The first reason stays.
  /// May be called by any rank or by the process that watches them.
  void abort(const std::string& reason);
  bool aborted() const;
  /// The reason that abort() was given, once aborted() is true.
  std::string abort_reason() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evener::comm
