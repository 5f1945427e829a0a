#include "comm/shared_group.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
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

/// Makes `count` parts at `next`, which moves behind them.
template <typename Part>
std::span<Part> make_parts(std::byte*& next, std::size_t count) {
  Part* const first = reinterpret_cast<Part*>(next);
  for (std::size_t i = 0; i < count; ++i) new (first + i) Part{};
  next += count * sizeof(Part);
  return {std::launder(first), count};
}

void require_index(int index, int count, const char* what) {
  if (index >= 0 && index < count) return;
  throw Error("no " + std::string(what) + " " + std::to_string(index) + " in this group: it has " +
              std::to_string(count) + ", counted from 0");
}

}  // namespace

SharedGroup::SharedGroup(const SharedGroupOptions& options) : options_(checked(options)), spin_ns_(spin_ns(options)) {
  const auto ranks = static_cast<std::size_t>(options_.ranks), channels = static_cast<std::size_t>(options_.channels);
  const std::size_t of_rank = sizeof(RankRow) + 2 * sizeof(SmallSlot) + 2 * sizeof(Mailbox);
  const std::size_t staging = rounded_up(sizeof(AbortNote) + ranks * (sizeof(LifeSigns) + sizeof(RankThread)) +
                                             channels * (sizeof(Meeting) + ranks * of_rank),
                                         kPage_bytes);
  const std::size_t common =
      rounded_up(staging + channels * ranks * kStagingParts * options_.staging_bytes, kPage_bytes);
  size_bytes_ = common + options_.common_bytes;
  // MAP_NORESERVE: parts that are never used, such as mailboxes of ranks that send nothing, are neither allocated nor
  // counted.
  void* place = ::mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) {
    throw Error("can't get " + bytes_text(size_bytes_) + " of shared memory for " + std::to_string(options_.ranks) +
                " ranks: " + std::strerror(errno) + "; use fewer ranks, or free memory");
  }
  begin_ = static_cast<std::byte*>(place);
  std::byte* next = begin_;
  note_ = make_parts<AbortNote>(next, 1).data();
  lives_ = make_parts<LifeSigns>(next, ranks);
  threads_ = make_parts<RankThread>(next, ranks);
  meetings_ = make_parts<Meeting>(next, channels);
  rows_ = make_parts<RankRow>(next, channels * ranks);
  small_slots_ = make_parts<SmallSlot>(next, channels * ranks * 2);
  mailboxes_ = make_parts<Mailbox>(next, channels * ranks * 2);
  staging_ = begin_ + staging;
  common_ = begin_ + common;
}

SharedGroup::~SharedGroup() {
  ::munmap(begin_, size_bytes_);
}

LifeSigns& SharedGroup::life(int rank) const {
  require_index(rank, ranks(), "rank");
  return lives_[static_cast<std::size_t>(rank)];
}

std::byte* SharedGroup::slot(int channel, int rank, int which) const {
  return staging_ + (at(channel, rank) * kStagingParts + static_cast<std::size_t>(which)) * options_.staging_bytes;
}

std::unique_ptr<Communicator> SharedGroup::join(int rank, int channel, const char* name) {
  require_index(rank, ranks(), "rank");
  require_index(channel, options_.channels, "channel");
  return make_shared_communicator(*this, rank, channel, name);
}

void SharedGroup::beat(int rank) {
  life(rank).beats.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t SharedGroup::beats(int rank) const {
  return life(rank).beats.load(std::memory_order_relaxed);
}

void SharedGroup::set_progress(int rank, std::int64_t epoch, std::int64_t step) {
  LifeSigns& signs = life(rank);
  signs.epoch.store(epoch, std::memory_order_relaxed);
  signs.step.store(step, std::memory_order_relaxed);
}

SharedGroup::Progress SharedGroup::progress(int rank) const {
  const LifeSigns& signs = life(rank);
  return {signs.epoch.load(std::memory_order_relaxed), signs.step.load(std::memory_order_relaxed)};
}

bool SharedGroup::await(const std::atomic<std::uint32_t>& word, Until until, std::uint32_t value, int rank,
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

void SharedGroup::abort(const std::string& reason) {
  AbortNote& note = *note_;
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

bool SharedGroup::aborted() const {
  return note_->state.load(std::memory_order_acquire) != kNone;
}

void SharedGroup::throw_if_aborted() const {
  if (aborted()) throw Error("the exchange between ranks was called off: " + abort_reason());
}

std::string SharedGroup::abort_reason() const {
  const AbortNote& note = *note_;
  if (note.state.load(std::memory_order_acquire) == kBeingWritten) {
    scheduler().wait(note.state, kBeingWritten, kLongestSleep_ns);
  }
  // The rank that aborts may be killed before it has written the reason.
  return note.state.load(std::memory_order_acquire) == kWritten ? note.reason : "the reason was not told in time";
}

}  // namespace evener::comm
