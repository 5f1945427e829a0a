// The anonymous shared mapping of a SharedGroup's ranks: its layout, how a rank waits for a word in it to change, and
// how the group is aborted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/directed_yield.h"
#include "comm/shared_group.h"

namespace evener::comm {

// Every word that one rank writes while others poll it has a cache line of its own, lest the polling slow down writes
// to its neighbours. All is zero at the beginning.
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

class SharedMemory {
 public:
  explicit SharedMemory(const SharedGroupOptions& options);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  const SharedGroupOptions& options() const { return options_; }
  LifeSigns& life(int rank) const;
  StepThread& thread(int rank) const;
  Meeting& meeting(int channel) const;
  RankRow& row(int channel, int rank) const;
  SmallSlot& small_slot(int channel, int rank, int which) const;
  Mailbox& mailbox(int channel, int rank, int half) const;
  std::byte* mail(int channel, int rank, int half) const;
  std::size_t mail_bytes() const { return options_.staging_bytes; }
  /// One of a rank's two slots, of options().staging_bytes.
  std::byte* slot(int channel, int rank, int which) const;

  std::span<std::byte> common() const { return {begin_ + common_, options_.common_bytes}; }

  enum class Until { kEquals, kDiffers };
  /// Waits until `word` equals `value`, or differs from it. Returns false if that took longer than the group's timeout;
  /// throws Error if the group is aborted meanwhile. `rank` is the one that waits; `late` returns a rank that it waits
  /// for.
  bool await(const std::atomic<std::uint32_t>& word, Until until, std::uint32_t value, int rank,
             const std::function<int()>& late) const;

  void abort(const std::string& reason);
  bool aborted() const;
  void throw_if_aborted() const;
  /// The reason that abort() was given, once aborted() is true.
  std::string reason() const;

 private:
  template <typename Part>
  Part& at(std::size_t offset) const;
  std::size_t rank_of_channel(int channel, int rank) const;

  SharedGroupOptions options_;
  std::int64_t spin_ns_;
  std::size_t lives_ = 0, threads_ = 0, meetings_ = 0, rows_ = 0, small_slots_ = 0, mailboxes_ = 0, staging_ = 0,
              common_ = 0,
              size_bytes_ = 0;  // offsets, end
  std::byte* begin_ = nullptr;
};

/// One rank's end of one channel of a SharedGroup.
std::unique_ptr<Communicator> make_shared_communicator(SharedMemory& memory, int rank, int channel, const char* name);

}  // namespace evener::comm
