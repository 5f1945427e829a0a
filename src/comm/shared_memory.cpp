#include "comm/shared_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>

#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/scheduler.h"

namespace evener::comm {
namespace {

// How long a rank spins before it sleeps: a few times the cost of sleeping and being woken, which is highest on virtual
// machines. The ranks of a small network meet several times in a step of 300 us.
constexpr std::int64_t kSpin_ns = 300'000;
/// Time between two looks at whether the rank that is awaited has lost its CPU.
constexpr std::int64_t kBetweenLooks_ns = 20'000;
/// A sleeping rank checks at longer and longer intervals whether the awaited one runs, and whether the group was
/// aborted.
constexpr std::int64_t kFirstSleep_ns = 2'000'000, kLongestSleep_ns = 100'000'000;
constexpr std::size_t kPage_bytes = 4096;
constexpr std::size_t kStagingParts = 4;  // of each rank and channel: two slots and two halves of mail

enum AbortState : std::uint32_t { kNone, kBeingWritten, kWritten };

std::size_t rounded_up(std::size_t size, std::size_t unit) {
  return (size + unit - 1) / unit * unit;
}

SharedGroupOptions checked(SharedGroupOptions options) {
  if (options.ranks < 1 || options.channels < 1 || options.staging_bytes < 1 || options.timeout.count() < 1) {
    throw Error("can't make a group of " + std::to_string(options.ranks) + " ranks with " +
                std::to_string(options.channels) + " channels of " + std::to_string(options.staging_bytes) +
                " bytes and a timeout of " + std::to_string(options.timeout.count()) + " ms: each must be at least 1");
  }
  options.staging_bytes = rounded_up(options.staging_bytes, kLine_bytes);
  return options;
}

// Where ranks share CPUs, a rank that spins takes the CPU from the one that it waits for.
std::int64_t spin_ns(const SharedGroupOptions& options) {
  double cpus = static_cast<double>(cpu_topology().allowed.size());
  if (cpu_topology().quota_cpus > 0) cpus = std::min(cpus, cpu_topology().quota_cpus);
  if (options.cpus > 0) cpus = options.cpus;
  return options.ranks <= cpus ? kSpin_ns : 0;
}

}  // namespace

SharedMemory::SharedMemory(const SharedGroupOptions& options) : options_(checked(options)), spin_ns_(spin_ns(options)) {
  const auto ranks = static_cast<std::size_t>(options_.ranks), channels = static_cast<std::size_t>(options_.channels);
  lives_ = sizeof(AbortNote);
  threads_ = lives_ + ranks * sizeof(LifeSigns);
  meetings_ = threads_ + ranks * sizeof(RankThread);
  rows_ = meetings_ + channels * sizeof(Meeting);
  small_slots_ = rows_ + channels * ranks * sizeof(RankRow);
  mailboxes_ = small_slots_ + channels * ranks * 2 * sizeof(SmallSlot);
  staging_ = rounded_up(mailboxes_ + channels * ranks * 2 * sizeof(Mailbox), kPage_bytes);
  common_ = rounded_up(staging_ + channels * ranks * kStagingParts * options_.staging_bytes, kPage_bytes);
  size_bytes_ = common_ + options_.common_bytes;
  // MAP_NORESERVE: parts that are never used, such as mailboxes of ranks that send nothing, are neither allocated nor
  // counted.
  void* place = ::mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) {
    throw Error("can't get " + bytes_text(size_bytes_) + " of shared memory for " + std::to_string(options_.ranks) +
                " ranks: " + std::strerror(errno) + "; use fewer ranks, or free memory");
  }
  begin_ = static_cast<std::byte*>(place);
  new (begin_) AbortNote{};
  for (std::size_t i = 0; i < ranks; ++i) {
    new (begin_ + lives_ + i * sizeof(LifeSigns)) LifeSigns{};
    new (begin_ + threads_ + i * sizeof(RankThread)) RankThread{};
  }
  for (std::size_t i = 0; i < channels; ++i) new (begin_ + meetings_ + i * sizeof(Meeting)) Meeting{};
  for (std::size_t i = 0; i < channels * ranks; ++i) new (begin_ + rows_ + i * sizeof(RankRow)) RankRow{};
  for (std::size_t i = 0; i < channels * ranks * 2; ++i) {
    new (begin_ + small_slots_ + i * sizeof(SmallSlot)) SmallSlot{};
    new (begin_ + mailboxes_ + i * sizeof(Mailbox)) Mailbox{};
  }
}

SharedMemory::~SharedMemory() {
  ::munmap(begin_, size_bytes_);
}

template <typename Part>
Part& SharedMemory::at(std::size_t offset) const {
  return *std::launder(reinterpret_cast<Part*>(begin_ + offset));
}

std::size_t SharedMemory::rank_of_channel(int channel, int rank) const {
  return static_cast<std::size_t>(channel) * static_cast<std::size_t>(options_.ranks) + static_cast<std::size_t>(rank);
}

LifeSigns& SharedMemory::life(int rank) const {
  return at<LifeSigns>(lives_ + static_cast<std::size_t>(rank) * sizeof(LifeSigns));
}

StepThread& SharedMemory::thread(int rank) const {
  return at<RankThread>(threads_ + static_cast<std::size_t>(rank) * sizeof(RankThread)).thread;
}

Meeting& SharedMemory::meeting(int channel) const {
  return at<Meeting>(meetings_ + static_cast<std::size_t>(channel) * sizeof(Meeting));
}

RankRow& SharedMemory::row(int channel, int rank) const {
  return at<RankRow>(rows_ + rank_of_channel(channel, rank) * sizeof(RankRow));
}

SmallSlot& SharedMemory::small_slot(int channel, int rank, int which) const {
  return at<SmallSlot>(small_slots_ +
                       (rank_of_channel(channel, rank) * 2 + static_cast<std::size_t>(which)) * sizeof(SmallSlot));
}

Mailbox& SharedMemory::mailbox(int channel, int rank, int half) const {
  return at<Mailbox>(mailboxes_ +
                     (rank_of_channel(channel, rank) * 2 + static_cast<std::size_t>(half)) * sizeof(Mailbox));
}

std::byte* SharedMemory::slot(int channel, int rank, int which) const {
  return begin_ + staging_ +
         (rank_of_channel(channel, rank) * kStagingParts + static_cast<std::size_t>(which)) * options_.staging_bytes;
}

std::byte* SharedMemory::mail(int channel, int rank, int half) const {
  return slot(channel, rank, 2 + half);
}

bool SharedMemory::await(const std::atomic<std::uint32_t>& word, Until until, std::uint32_t value, int rank,
                         const std::function<int()>& late) const {
  std::uint32_t seen = 0;
  const auto done = [&] {
    seen = word.load(std::memory_order_acquire);
    return (seen == value) == (until == Until::kEquals);
  };
  if (done()) return true;
  // A rank that has lost its CPU to another program gets that of a rank which waits for it.
  StepThread& own = thread(rank);
  YieldingSleep sleep(own);
  const auto gives = [&](std::int64_t now) {
    StepThread& other = thread(late());
    return is_stuck(own, other, now) && sleep.give(other, options_.ranks);
  };
  bool computes_here = false;
  const std::int64_t begin_ns = scheduler().now_ns();
  for (std::int64_t now = begin_ns, looked_ns = begin_ns; now - begin_ns < spin_ns_; now = scheduler().now_ns()) {
    if (done()) return true;
    if (now - looked_ns < kBetweenLooks_ns) continue;
    // Another thread of this rank would spin on the CPU that the rank computes on.
    computes_here = own.place().is_this_thread();
    if (!computes_here || gives(now)) break;
    looked_ns = now;
  }
  // The spin may have been short because this rank itself lost its CPU.
  if (!computes_here) computes_here = spin_ns_ > 0 && own.place().is_this_thread();
  const std::int64_t timeout = std::chrono::nanoseconds(options_.timeout).count();
  std::int64_t sleep_ns = computes_here ? kFirstSleep_ns : kLongestSleep_ns;
  // A stop of everything (Ctrl-Z, a suspended laptop) counts as one sleep, however long it was.
  for (std::int64_t waited = 0;;) {
    if (done()) return true;
    throw_if_aborted();
    if (waited >= timeout) return false;
    // An abort between the look above and the sleep is seen after one sleep.
    const std::int64_t asleep = scheduler().now_ns(), limit_ns = std::min(timeout - waited, sleep_ns);
    if (computes_here) {
      sleep.sleep(word, seen, limit_ns, options_.ranks);
    } else {
      scheduler().wait(word, seen, limit_ns);
    }
    const std::int64_t now = scheduler().now_ns();
    waited += std::min(now - asleep, sleep_ns);
    if (computes_here && !done()) gives(now);
    sleep_ns = std::min(2 * sleep_ns, kLongestSleep_ns);
  }
}

void SharedMemory::abort(const std::string& reason) {
  AbortNote& note = at<AbortNote>(0);
  std::uint32_t none = kNone;
  if (!note.state.compare_exchange_strong(none, kBeingWritten, std::memory_order_acq_rel)) return;
  const std::size_t length = std::min(reason.size(), kReason_bytes);
  std::memcpy(note.reason, reason.data(), length);
  note.reason[length] = '\0';
  note.state.store(kWritten, std::memory_order_release);
  scheduler().wake_all(note.state);
  for (int channel = 0; channel < options_.channels; ++channel) {
    scheduler().wake_all(meeting(channel).phase);
    for (int rank = 0; rank < options_.ranks; ++rank) {
      for (const int half : {0, 1}) scheduler().wake_all(mailbox(channel, rank, half).addressee);
    }
  }
}

bool SharedMemory::aborted() const {
  return at<AbortNote>(0).state.load(std::memory_order_acquire) != kNone;
}

void SharedMemory::throw_if_aborted() const {
  if (aborted()) throw Error("the exchange between ranks was called off: " + reason());
}

std::string SharedMemory::reason() const {
  const AbortNote& note = at<AbortNote>(0);
  if (note.state.load(std::memory_order_acquire) == kBeingWritten) {
    scheduler().wait(note.state, kBeingWritten, kLongestSleep_ns);
  }
  // The rank that aborts may be killed before it has written the reason.
  return note.state.load(std::memory_order_acquire) == kWritten ? note.reason : "the reason was not told in time";
}

}  // namespace evener::comm
