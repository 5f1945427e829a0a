// Communicators through shared memory among the ranks of one host, which are threads of a process, or processes forked
// from one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/directed_yield.h"
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

// What lies in the shared memory of a group. Every word that one rank writes while others poll it has a cache line of
// its own, lest the polling slow down writes to its neighbours. All is zero at the beginning.
inline constexpr std::size_t kLine_bytes = 64;
inline constexpr std::size_t kReason_bytes = 500;

struct alignas(kLine_bytes) AbortNote {
  std::atomic<std::uint32_t> state;  // 0 = none, 1 = being written, 2 = written
  char reason[kReason_bytes + 1];
};

struct alignas(kLine_bytes) LifeSigns {
  std::atomic<std::uint64_t> beats;
  std::atomic<std::int64_t> epoch, step;
};

/// The thread that a rank computes on.
struct alignas(kLine_bytes) RankThread {
  StepThread thread;
};

/// Where the members of a channel meet, phase by phase.
struct Meeting {
  alignas(kLine_bytes) std::atomic<std::uint32_t> arrived;  // members that have come in this phase
  alignas(kLine_bytes) std::atomic<std::uint32_t> phase;    // phases completed; the word that waiting members sleep on
};

/// What a rank shows the other members of its channel.
struct alignas(kLine_bytes) RankRow {
  std::atomic<std::uint32_t> came_in;  // 1 + the last phase that it has arrived at
  std::atomic<std::uint64_t> call;     // the collective it is in (shared_communicator.cpp)
};

/// A rank's contribution to a collective of few bytes; each rank fills its two slots by turns.
struct alignas(kLine_bytes) SmallSlot {
  static constexpr std::size_t kBytes = 496;
  std::uint64_t call;      // which collective
  std::uint32_t came_for;  // 1 + the phase it is for; 0 = none yet
  alignas(16) std::byte bytes[kBytes];
};

/// Half of a rank's outgoing mail; it fills the two by turns.
struct alignas(kLine_bytes) Mailbox {
  std::atomic<std::uint32_t> addressee;  // 0 = empty, otherwise 1 + the rank it is for
  std::uint64_t message_bytes;           // of the whole message, written before `addressee`
};

/// The shared memory of a group, to be made before the ranks are started: forked children inherit the mapping, threads
/// share it. It is anonymous, so the kernel frees it with its last user, however that ended.
class SharedGroup {
 public:
  explicit SharedGroup(const SharedGroupOptions& options);
  ~SharedGroup();
  SharedGroup(const SharedGroup&) = delete;
  SharedGroup& operator=(const SharedGroup&) = delete;

  const SharedGroupOptions& options() const { return options_; }
  int ranks() const { return options_.ranks; }
  /// `rank`'s end of `channel`; `name` is what it calls itself ("threads", "shm"). The group must outlive it.
  std::unique_ptr<Communicator> join(int rank, int channel, const char* name);

  /// Memory for the users of the group: the same bytes for every rank, zero at first, at an address that is a multiple
  /// of 4096.
  std::span<std::byte> common() const { return {common_, options_.common_bytes}; }

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

  // For its communicators.
  LifeSigns& life(int rank) const;
  StepThread& thread(int rank) const { return threads_[static_cast<std::size_t>(rank)].thread; }
  Meeting& meeting(int channel) const { return meetings_[static_cast<std::size_t>(channel)]; }
  RankRow& row(int channel, int rank) const { return rows_[at(channel, rank)]; }
  SmallSlot& small_slot(int channel, int rank, int which) const { return small_slots_[at(channel, rank, which)]; }
  Mailbox& mailbox(int channel, int rank, int half) const { return mailboxes_[at(channel, rank, half)]; }
  std::byte* mail(int channel, int rank, int half) const { return slot(channel, rank, 2 + half); }
  /// One of a rank's two slots, of options().staging_bytes.
  std::byte* slot(int channel, int rank, int which) const;

  enum class Until { kEquals, kDiffers };
  /// Waits until `word` equals `value`, or differs from it. Returns false if that took longer than the group's timeout;
  /// throws Error if the group is aborted meanwhile. `rank` is the one that waits; `late` returns a rank that it waits
  /// for.
  bool await(const std::atomic<std::uint32_t>& word, Until until, std::uint32_t value, int rank,
             const std::function<int()>& late) const;
  void throw_if_aborted() const;

 private:
  std::size_t at(int channel, int rank) const { return static_cast<std::size_t>(channel * ranks() + rank); }
  std::size_t at(int channel, int rank, int which) const {
    return at(channel, rank) * 2 + static_cast<std::size_t>(which);
  }

  SharedGroupOptions options_;
  std::int64_t spin_ns_;
  std::byte* begin_ = nullptr;
  std::size_t size_bytes_ = 0;
  AbortNote* note_ = nullptr;
  std::span<LifeSigns> lives_;
  std::span<RankThread> threads_;
  std::span<Meeting> meetings_;
  std::span<RankRow> rows_;
  std::span<SmallSlot> small_slots_;
  std::span<Mailbox> mailboxes_;
  std::byte *staging_ = nullptr, *common_ = nullptr;
};

/// What join() returns.
std::unique_ptr<Communicator> make_shared_communicator(SharedGroup& group, int rank, int channel, const char* name);

}  // namespace evener::comm
