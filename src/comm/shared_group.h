// The ranks of one host: threads of a process, or processes forked from one, speak through shared memory.
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
  /// The longest piece; longer vectors go in several. Each rank has four such places in each channel, two for
  /// collectives and two for what it sends; those never used cost no memory.
  std::size_t staging_bytes = std::size_t{1} << 20;
  std::size_t common_bytes = 0;  // of memory for the users' own ends
  /// How long a collective waits for the others. A slow rank is not a dead one: whoever watches the ranks aborts the
  /// group when one is lost, so this is long.
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
};

/// The memory and the meeting points, made before the ranks are started: forked children inherit the mapping (it is
/// anonymous, so the kernel frees it with its last user, whatever ended that), threads share it.
class SharedGroup {
 public:
  explicit SharedGroup(const SharedGroupOptions& options);
  ~SharedGroup();
  SharedGroup(const SharedGroup&) = delete;
  SharedGroup& operator=(const SharedGroup&) = delete;

  int ranks() const;
  /// `rank`'s end of `channel`; `name` is what it calls itself ("threads", "shm"). The group must outlive it.
  std::unique_ptr<Communicator> join(int rank, int channel, const char* name);

  /// The memory for the users' own ends: the same bytes for every rank, zero at first, at a multiple of 4096.
  std::span<std::byte> common() const;

  /// A sign of life of a rank, for whoever watches (parallel/launcher).
  void beat(int rank);
  std::uint64_t beats(int rank) const;
  /// Where a rank stands, in its own numbers, to be told when it is lost.
  void set_progress(int rank, std::int64_t epoch, std::int64_t step);
  struct Progress {
    std::int64_t epoch = 0, step = 0;
  };
  Progress progress(int rank) const;

  /// Makes every collective, waiting or to come, throw Error with `reason` (cut to 500 bytes). The first reason stays.
  /// May be called by any rank or by the process that watches them.
  void abort(const std::string& reason);
  bool aborted() const;
  /// Why, after aborted().
  std::string abort_reason() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evener::comm
