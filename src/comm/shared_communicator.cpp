#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/scheduler.h"
#include "comm/communication_dtype.h"
#include "comm/shared_group.h"

namespace evener::comm {
namespace {

constexpr int kRootShift = 48, kKindShift = 60;
constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kRootShift) - 1, kRootMask = 0xfff;

/// The collective that a rank has called, packed into one word that other ranks can read: ranks that call different
/// collectives get an error instead of each other's data.
struct Call {
  enum class Kind : std::uint8_t { kNone, kAllReduceFloat32, kAllReduceBFloat16, kAllReduceFloat64, kBroadcast };

  Kind kind = Kind::kNone;
  int root = 0;             // of a broadcast; below 4096
  std::uint64_t count = 0;  // of values or bytes; below 2^48

  std::uint64_t packed() const {
    return (count & kCountMask) | (static_cast<std::uint64_t>(root) & kRootMask) << kRootShift |
           static_cast<std::uint64_t>(kind) << kKindShift;
  }
  static Call unpacked(std::uint64_t word) {
    return {static_cast<Kind>(word >> kKindShift), static_cast<int>(word >> kRootShift & kRootMask), word & kCountMask};
  }

  /// "an all_reduce of 10 float32 values"
  std::string text() const {
    if (kind == Kind::kNone) return "a barrier";
    if (kind == Kind::kBroadcast) return fmt::format("a broadcast of {} bytes from rank {}", count, root);
    constexpr const char* kValues[] = {"", "float32 values", "float32 values sent as bf16", "float64 values"};
    return fmt::format("an all_reduce of {} {}", count, name_in(kValues, kind));
  }
};

/// The type in which the values of a slot are summed.
template <typename Slot>
using Sum = std::conditional_t<std::is_same_v<Slot, double>, double, float>;

// How a piece travels. `p` is the channel's phase, the same for all members while none of them has passed the next
// meeting:
//
//     each member writes its part into its slot number (p / 2) % 2
//     meeting p       all slots are full
//     each member sums its share of the piece over all slots and writes it into its own, where nobody else reads it
//     meeting p + 1   all shares are summed
//     each member reads each share from the slot of the one that summed it
//
// Why nobody writes into a slot that others still read: say a piece begins at phase q and a later one, with the same
// slot, at p. Two pieces in a row (p = q + 2) have different slots, so another meeting lies between: p >= q + 3. Every
// reader of the first comes to meeting q + 2 after reading, and the writer of the second comes out of that meeting
// before writing.
//
// Small vectors need one meeting: each member writes its whole vector into its small slot number p % 2, and sums all
// slots itself. Who writes into that slot again does so at p + 2 or later, after meeting p + 1, to which every reader
// comes after reading. What a member said of its call may then be overwritten before another has looked, so a copy lies
// in the slot.
//
// No rank keeps a count of its own: the phase can't go on without a member, so that one that comes back finds it as
// the others left it, no matter whether they already wait in the next meeting. It is compared only for equality and
// 2^32 is a multiple of 4: it may wrap around.
class SharedCommunicator : public Communicator {
 public:
  SharedCommunicator(SharedGroup& group, int rank, int channel, const char* name)
      : group_(group), meeting_(group.meeting(channel)), rank_(rank), channel_(channel), name_(name) {
    for (int member = 0; member < size(); ++member) members_.push_back(member);
  }

  int rank() const override { return rank_; }
  int size() const override { return group_.options().ranks; }
  const char* name() const override { return name_.c_str(); }

  void all_reduce(std::span<const std::span<float>> parts, CommunicationDtype communication_dtype) override {
    if (communication_dtype == CommunicationDtype::kBFloat16) {
      reduce<BFloat16>(parts, Call::Kind::kAllReduceBFloat16);
    } else {
      reduce<float>(parts, Call::Kind::kAllReduceFloat32);
    }
  }
  void all_reduce(std::span<double> values) override {
    const std::span<double> parts[] = {values};
    reduce<double>(std::span<const std::span<double>>(parts), Call::Kind::kAllReduceFloat64);
  }
  void broadcast(std::span<std::byte> bytes, int root) override {
    group_.throw_if_aborted();
    if (!std::ranges::binary_search(members_, root)) {
      throw Error("rank " + std::to_string(rank_) + " can't take a broadcast from rank " + std::to_string(root) +
                  ": that is no member of the group now");
    }
    if (members_.size() == 1) return;
    const Call call{Call::Kind::kBroadcast, root, bytes.size()};
    if (bytes.size() <= SmallSlot::kBytes) {
      SmallSlot& mine = begin_small(call);
      if (rank_ == root) std::ranges::copy(bytes, mine.bytes);
      const std::uint32_t met = meet_small(call);
      if (rank_ != root) std::copy_n(small_slot(root, met).bytes, bytes.size(), bytes.begin());
      return;
    }
    say(call);
    do {
      const auto piece = bytes.first(std::min(bytes.size(), group_.options().staging_bytes));
      bytes = bytes.subspan(piece.size());
      std::byte* staging = group_.slot(channel_, root, slot_of(phase()));
      if (rank_ == root) std::ranges::copy(piece, staging);
      meet(call);
      check_agreement(call);
      if (rank_ != root) std::copy_n(staging, piece.size(), piece.begin());
      meet(call);
    } while (!bytes.empty());
  }

  void barrier() override {
    say({});
    meet({});
  }
  // A message goes in pieces through the two halves of the sender's mail by turns; both are empty between messages.
  void send(std::span<const std::byte> bytes, int to) override {
    check_other(to, "send to");
    const std::size_t total = bytes.size();
    int half = 0;
    do {
      Mailbox& box = group_.mailbox(channel_, rank_, half);
      await_mail(box, 0, to, " did not take a message");
      const auto piece = bytes.first(std::min(bytes.size(), group_.options().staging_bytes));
      bytes = bytes.subspan(piece.size());
      std::ranges::copy(piece, group_.mail(channel_, rank_, half));
      box.message_bytes = total;
      group_.thread(rank_).settle();
      box.addressee.store(static_cast<std::uint32_t>(to) + 1, std::memory_order_release);
      scheduler().wake_all(box.addressee);
      half = 1 - half;
    } while (!bytes.empty());
    for (const int each : {0, 1}) await_mail(group_.mailbox(channel_, rank_, each), 0, to, " did not take a message");
  }

  void receive(std::span<std::byte> bytes, int from) override {
    check_other(from, "receive from");
    const std::size_t total = bytes.size();
    int half = 0;
    do {
      Mailbox& box = group_.mailbox(channel_, from, half);
      await_mail(box, static_cast<std::uint32_t>(rank_) + 1, from, " did not send a message");
      if (box.message_bytes != total) {
        abort("rank " + std::to_string(from) + " sent " + std::to_string(box.message_bytes) + " bytes where rank " +
              std::to_string(rank_) + " expected " + std::to_string(total));
      }
      const auto piece = bytes.first(std::min(bytes.size(), group_.options().staging_bytes));
      bytes = bytes.subspan(piece.size());
      std::copy_n(group_.mail(channel_, from, half), piece.size(), piece.begin());
      group_.thread(rank_).settle();
      box.addressee.store(0, std::memory_order_release);
      scheduler().wake_all(box.addressee);
      half = 1 - half;
    } while (!bytes.empty());
  }

  void set_members(std::span<const int> ranks) override {
    group_.throw_if_aborted();
    const bool ascending = std::ranges::adjacent_find(ranks, std::greater_equal<>()) == ranks.end();
    if (!ascending || !std::ranges::binary_search(ranks, rank_) || ranks.front() < 0 || ranks.back() >= size()) {
      std::string text;
      for (const int rank : ranks) text += (text.empty() ? "" : ",") + std::to_string(rank);
      throw Error("rank " + std::to_string(rank_) + " can't make ranks " + text + " the members of a group of " +
                  std::to_string(size()) + ": they have to ascend, and it has to be one of them");
    }
    members_.assign(ranks.begin(), ranks.end());
  }

  void require_whole() override { group_.throw_if_aborted(); }
  void compute_here() override { tie_.begin(group_.thread(rank_).place(), rank_); }

 private:
  template <typename Slot, typename Value>
  void reduce(std::span<const std::span<Value>> parts, Call::Kind kind) {
    group_.throw_if_aborted();
    if (members_.size() == 1) return;
    std::size_t total = 0;
    for (const auto& part : parts) total += part.size();
    const Call call{kind, 0, total};
    if (total * sizeof(Slot) <= SmallSlot::kBytes) return reduce_small<Slot>(parts, call);
    say(call);
    PartsWalk<Value> from(parts), to(parts);
    const std::size_t longest = group_.options().staging_bytes / sizeof(Slot);
    std::size_t done = 0;
    do {
      const std::size_t count = std::min(longest, total - done);
      const int which = slot_of(phase());
      Slot* mine = slot<Slot>(rank_, which);
      from.next(count,
                [&](const Value* run, std::size_t size, std::size_t at) { to_communicated(run, size, mine + at); });
      meet(call);
      if (done == 0) check_agreement(call);
      sum_my_share<Slot>(count, which);
      meet(call);
      for (std::size_t i = 0; i < members_.size(); ++i) {
        const auto [begin, size] = share<Slot>(count, i);
        const Slot* sums = slot<Slot>(members_[i], which) + begin;
        to.next(size,
                [&](Value* run, std::size_t length, std::size_t at) { from_communicated(sums + at, length, run); });
      }
      done += count;
    } while (done < total);
  }

  template <typename Slot, typename Value>
  void reduce_small(std::span<const std::span<Value>> parts, const Call& call) {
    PartsWalk<Value> from(parts), to(parts);
    Slot* mine = reinterpret_cast<Slot*>(begin_small(call).bytes);
    from.next(call.count,
              [&](const Value* run, std::size_t size, std::size_t at) { to_communicated(run, size, mine + at); });
    const std::uint32_t met = meet_small(call);
    std::vector<const Slot*> slots;
    for (const int member : members_) slots.push_back(reinterpret_cast<const Slot*>(small_slot(member, met).bytes));
    Slot sums[SmallSlot::kBytes / sizeof(Slot)];
    sum_in_order<Sum<Slot>, Slot>(slots, call.count, sums);
    to.next(call.count, [&](Value* run, std::size_t size, std::size_t at) { from_communicated(sums + at, size, run); });
  }

  template <typename Slot>
  void sum_my_share(std::size_t count, int which) {
    const auto mine = static_cast<std::size_t>(std::ranges::find(members_, rank_) - members_.begin());
    const auto [begin, size] = share<Slot>(count, mine);
    std::vector<const Slot*> slots;
    for (const int member : members_) slots.push_back(slot<Slot>(member, which) + begin);
    sum_in_order<Sum<Slot>, Slot>(slots, size, slot<Slot>(rank_, which) + begin);
  }

  template <typename Slot>
  Slot* slot(int rank, int which) const {
    return reinterpret_cast<Slot*>(group_.slot(channel_, rank, which));
  }
  /// The part of a piece of `count` values that the `index`-th member sums: whole cache lines.
  template <typename Slot>
  std::pair<std::size_t, std::size_t> share(std::size_t count, std::size_t index) const {
    constexpr std::size_t kLine = kLine_bytes / sizeof(Slot);
    const std::size_t each = ((count + members_.size() - 1) / members_.size() + kLine - 1) / kLine * kLine;
    const std::size_t begin = std::min(count, index * each);
    return {begin, std::min(count - begin, each)};
  }

  std::uint32_t phase() const { return meeting_.phase.load(std::memory_order_acquire); }
  static int slot_of(std::uint32_t phase) { return static_cast<int>(phase / 2 % 2); }
  RankRow& row(int rank) const { return group_.row(channel_, rank); }
  void say(const Call& call) { row(rank_).call.store(call.packed(), std::memory_order_relaxed); }
  static int small_slot_of(std::uint32_t phase) { return static_cast<int>(phase % 2); }
  SmallSlot& small_slot(int rank, std::uint32_t phase) const {
    return group_.small_slot(channel_, rank, small_slot_of(phase));
  }
  /// This rank's small slot, to be filled with its contribution.
  SmallSlot& begin_small(const Call& call) {
    say(call);
    const std::uint32_t now = phase();
    SmallSlot& mine = small_slot(rank_, now);
    mine.call = call.packed();
    mine.came_for = now + 1;
    return mine;
  }

  /// Meets the other members. Afterwards the small slots of all members are full, and stay unchanged until this rank
  /// arrives at the next meeting.
  std::uint32_t meet_small(const Call& call) {
    const std::uint32_t now = phase();
    meet(call);
    for (const int member : members_) {
      const SmallSlot& slot = small_slot(member, now);
      // A member that has called a larger collective or a barrier has not written here.
      if (slot.came_for != now + 1) disagree(member, row(member).call.load(std::memory_order_relaxed), call);
      if (slot.call != call.packed()) disagree(member, slot.call, call);
    }
    return now;
  }

  void check_agreement(const Call& call) const {
    for (const int member : members_) {
      const std::uint64_t word = row(member).call.load(std::memory_order_relaxed);
      if (word != call.packed()) disagree(member, word, call);
    }
  }

  /// Throws Error: members have called different collectives. `word`: the other member's packed call.
  [[noreturn]] void disagree(int member, std::uint64_t word, const Call& call) const {
    abort("rank " + std::to_string(member) + " came to " + Call::unpacked(word).text() + ", rank " +
          std::to_string(rank_) + " to " + call.text() + ": the ranks don't run the same program or the same options");
  }

  /// Arrives at the meeting of this phase and waits for the other members.
  void meet(const Call& call) {
    group_.throw_if_aborted();
    group_.thread(rank_).settle();
    const std::uint32_t now = phase();
    const bool last = meeting_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == members_.size();
    if (last) {
      meeting_.arrived.store(0, std::memory_order_relaxed);  // before the phase, which lets the first of the next come
      meeting_.phase.store(now + 1, std::memory_order_release);
      scheduler().wake_all(meeting_.phase);
    }
    // Written last, so that a rank that is suspended before this counts as late.
    row(rank_).came_in.store(now + 1, std::memory_order_relaxed);
    if (last) return;
    const auto late = [&] { return late_member(now); };
    if (!group_.await(meeting_.phase, SharedGroup::Until::kDiffers, now, rank_, late)) give_up_meeting(now, call);
  }

  /// A member that has not arrived in this phase; this rank if all have.
  int late_member(std::uint32_t phase) const {
    const auto late = std::ranges::find_if(
        members_, [&](int member) { return row(member).came_in.load(std::memory_order_relaxed) != phase + 1; });
    return late == members_.end() ? rank_ : *late;
  }

  [[noreturn]] void give_up_meeting(std::uint32_t phase, const Call& call) const {
    std::string missing;
    int count = 0;
    for (const int member : members_) {
      if (row(member).came_in.load(std::memory_order_relaxed) == phase + 1) continue;
      missing += (count++ == 0 ? "" : ", ") + std::to_string(member);
    }
    call_off((count == 1 ? "rank " : "ranks ") + missing + " did not come to " + call.text());
  }

  void await_mail(const Mailbox& box, std::uint32_t addressee, int other, const char* what) const {
    group_.throw_if_aborted();
    if (group_.await(box.addressee, SharedGroup::Until::kEquals, addressee, rank_, [&] { return other; })) return;
    call_off("rank " + std::to_string(other) + what);
  }

  void check_other(int other, const char* what) const {
    group_.throw_if_aborted();
    if (other >= 0 && other < size() && other != rank_) return;
    throw Error("rank " + std::to_string(rank_) + " can't " + what + " rank " + std::to_string(other) +
                " in a group of " + std::to_string(size()));
  }

  [[noreturn]] void call_off(const std::string& why) const {
    const double timeout_s = std::chrono::duration<double>(group_.options().timeout).count();
    abort(why + " within " + duration_text(timeout_s) + ", where rank " + std::to_string(rank_) +
          " waited; see whether it still runs and what it said, or allow a longer timeout");
  }

  [[noreturn]] void abort(const std::string& why) const {
    group_.abort(why);
    throw Error(why);
  }

  SharedGroup& group_;
  Meeting& meeting_;
  int rank_, channel_;
  std::string name_;
  std::vector<int> members_;
  PlaceTie tie_;
};

}  // namespace

std::unique_ptr<Communicator> make_shared_communicator(SharedGroup& group, int rank, int channel, const char* name) {
  return std::make_unique<SharedCommunicator>(group, rank, channel, name);
}

}  // namespace evener::comm
