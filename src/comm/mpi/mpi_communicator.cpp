#include "comm/mpi/mpi_communicator.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "comm/communication_dtype.h"

namespace evener::comm::mpi {
namespace {

constexpr std::int64_t kSpin_ns = 20'000, kShortestSleep_ns = 20'000, kLongestSleep_ns = 1'000'000;
constexpr std::int64_t kLongestLook_ns = 100'000'000;
constexpr std::int64_t kLongestWait_ns = std::int64_t{30} * 60 * 1'000'000'000;  // as within a host

constexpr int kPartsTag = 1, kSumsTag = 2, kMessageTag = 3;
constexpr std::size_t kPiece_bytes = std::size_t{8} << 20;       // longer vectors go in several, to bound the staging
constexpr std::size_t kBroadcast_bytes = std::size_t{64} << 20;  // MPI counts in int
/// Up to this many received bytes, hosts exchange whole vectors once instead of shares twice.
constexpr std::size_t kWhole_bytes = std::size_t{256} << 10;

// MPI_Allreduce may add in a different order in each run, and on each host. Here each value is summed in the order of
// hosts, either by one host, or by all of them from the same vectors, so that all get the same bits in every run.
class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(MPI_Comm communicator, const Link& link) : communicator_(communicator), link_(link) {
    check(MPI_Comm_rank(communicator, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(communicator, &size_), "MPI_Comm_size");
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const char* name() const override { return "mpi"; }

  void all_reduce(std::span<const std::span<float>> parts, CommunicationDtype communication_dtype) override {
    if (communication_dtype == CommunicationDtype::kBFloat16) {
      reduce<BFloat16>(parts);
    } else {
      reduce<float>(parts);
    }
  }
  void all_reduce(std::span<double> values) override {
    const std::span<double> parts[] = {values};
    reduce<double>(std::span<const std::span<double>>(parts));
  }
  void broadcast(std::span<std::byte> bytes, int root) override;
  void barrier() override;
  void send(std::span<const std::byte> bytes, int to) override;
  void receive(std::span<std::byte> bytes, int from) override;
  void set_members(std::span<const int> ranks) override;

 private:
  struct Share {
    std::size_t begin, size;
  };
  /// The part of a piece that `host` sums.
  Share share(std::size_t count, int host) const {
    const auto hosts = static_cast<std::size_t>(size_), at = static_cast<std::size_t>(host);
    return {count * at / hosts, count * (at + 1) / hosts - count * at / hosts};
  }

  template <typename Slot, typename Value>
  void reduce(std::span<const std::span<Value>> parts);
  template <typename Slot>
  void sum_whole(Slot* piece, std::size_t count);
  template <typename Slot>
  void sum_shares(Slot* piece, std::size_t count);
  template <typename Slot>
  void sum_received(Slot* own, std::size_t stride, std::size_t count);

  void start_send(const void* data, std::size_t bytes, int to, int tag);
  void start_receive(void* data, std::size_t bytes, int from, int tag);
  void finish(const char* call);

  MPI_Comm communicator_;
  const Link& link_;
  int rank_ = 0, size_ = 1;
  std::vector<std::byte> piece_, received_;
  std::vector<MPI_Request> requests_;
  std::vector<std::size_t> expected_;  // bytes of each request; 0 of those that send
};

template <typename Slot>
Slot* slots(std::vector<std::byte>& storage, std::size_t count) {
  if (storage.size() < count * sizeof(Slot)) storage.resize(count * sizeof(Slot));
  return reinterpret_cast<Slot*>(storage.data());
}

template <typename Slot, typename Value>
void MpiCommunicator::reduce(std::span<const std::span<Value>> parts) {
  link_.throw_if_lost();
  if (size_ == 1) return;
  std::size_t total = 0;
  for (const auto& part : parts) total += part.size();
  PartsWalk<Value> from(parts), to(parts);
  for (std::size_t done = 0; done < total;) {
    const std::size_t count = std::min(kPiece_bytes / sizeof(Slot), total - done);
    Slot* piece = slots<Slot>(piece_, count);
    from.next(count,
              [&](const Value* run, std::size_t size, std::size_t at) { to_communicated(run, size, piece + at); });
    if (count * sizeof(Slot) * static_cast<std::size_t>(size_ - 1) <= kWhole_bytes) {
      sum_whole(piece, count);
    } else {
      sum_shares(piece, count);
    }
    to.next(count, [&](Value* run, std::size_t size, std::size_t at) { from_communicated(piece + at, size, run); });
    done += count;
  }
}

/// Replaces `own` (`count` values) by its sum with the received vectors, in the order of hosts.
template <typename Slot>
void MpiCommunicator::sum_received(Slot* own, std::size_t stride, std::size_t count) {
  std::vector<const Slot*> parts;
  for (int host = 0; host < size_; ++host) {
    parts.push_back(host == rank_
                        ? own
                        : reinterpret_cast<const Slot*>(received_.data()) + stride * static_cast<std::size_t>(host));
  }
  using Sum = std::conditional_t<std::is_same_v<Slot, double>, double, float>;
  sum_in_order<Sum, Slot>(parts, count, own);
}

/// Sums small vectors: every host receives those of all hosts in one exchange, and all hosts sum them in the same
/// order.
template <typename Slot>
void MpiCommunicator::sum_whole(Slot* piece, std::size_t count) {
  const int bytes = static_cast<int>(count * sizeof(Slot));
  Slot* all = slots<Slot>(received_, count * static_cast<std::size_t>(size_));
  MPI_Request request;
  check(MPI_Iallgather(piece, bytes, MPI_BYTE, all, bytes, MPI_BYTE, communicator_, &request), "MPI_Iallgather");
  link_.wait(request, "a sum");
  sum_received(piece, count, count);
}

/// Sums large vectors: each host sums its share of all vectors and sends it to all. In these two exchanges a host sends
/// and receives 2 * (1 - 1 / hosts) of the vector, the least possible.
template <typename Slot>
void MpiCommunicator::sum_shares(Slot* piece, std::size_t count) {
  const Share own = share(count, rank_);
  Slot* received = slots<Slot>(received_, own.size * static_cast<std::size_t>(size_));
  for (int i = 1; i < size_; ++i) {
    // Each host begins with another one, so that no host gets all messages at once.
    const int from = (rank_ + size_ - i) % size_, to = (rank_ + i) % size_;
    const Share theirs = share(count, to);
    start_receive(received + own.size * static_cast<std::size_t>(from), own.size * sizeof(Slot), from, kPartsTag);
    start_send(piece + theirs.begin, theirs.size * sizeof(Slot), to, kPartsTag);
  }
  finish("a sum");
  sum_received(piece + own.begin, own.size, own.size);
  for (int i = 1; i < size_; ++i) {
    const int from = (rank_ + size_ - i) % size_, to = (rank_ + i) % size_;
    const Share theirs = share(count, from);
    start_receive(piece + theirs.begin, theirs.size * sizeof(Slot), from, kSumsTag);
    start_send(piece + own.begin, own.size * sizeof(Slot), to, kSumsTag);
  }
  finish("a sum");
}

void MpiCommunicator::start_send(const void* data, std::size_t bytes, int to, int tag) {
  requests_.emplace_back();
  expected_.push_back(0);
  check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, communicator_, &requests_.back()), "MPI_Isend");
}

void MpiCommunicator::start_receive(void* data, std::size_t bytes, int from, int tag) {
  requests_.emplace_back();
  expected_.push_back(bytes);
  check(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, communicator_, &requests_.back()), "MPI_Irecv");
}

void MpiCommunicator::finish(const char* call) {
  std::vector<MPI_Status> statuses(requests_.size());
  link_.wait(requests_, statuses, call);
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    int bytes = 0;
    if (expected_[i] == 0) continue;
    check(MPI_Get_count(&statuses[i], MPI_BYTE, &bytes), "MPI_Get_count");
    if (static_cast<std::size_t>(bytes) == expected_[i]) continue;
    throw Error("host " + std::to_string(statuses[i].MPI_SOURCE) + " sent " + std::to_string(bytes) + " bytes for " +
                call + " where host " + std::to_string(rank_) + " expected " + std::to_string(expected_[i]));
  }
  requests_.clear();
  expected_.clear();
}

void MpiCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  link_.throw_if_lost();
  while (!bytes.empty() && size_ > 1) {
    const auto piece = bytes.first(std::min(bytes.size(), kBroadcast_bytes));
    bytes = bytes.subspan(piece.size());
    MPI_Request request;
    check(MPI_Ibcast(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, root, communicator_, &request),
          "MPI_Ibcast");
    link_.wait(request, "a broadcast");
  }
}

void MpiCommunicator::barrier() {
  link_.throw_if_lost();
  MPI_Request request;
  check(MPI_Ibarrier(communicator_, &request), "MPI_Ibarrier");
  link_.wait(request, "a barrier");
}

void MpiCommunicator::send(std::span<const std::byte> bytes, int to) {
  link_.throw_if_lost();
  do {
    const auto piece = bytes.first(std::min(bytes.size(), kBroadcast_bytes));
    bytes = bytes.subspan(piece.size());
    start_send(piece.data(), piece.size(), to, kMessageTag);
    finish("a message");
  } while (!bytes.empty());
}

void MpiCommunicator::receive(std::span<std::byte> bytes, int from) {
  link_.throw_if_lost();
  do {
    const auto piece = bytes.first(std::min(bytes.size(), kBroadcast_bytes));
    bytes = bytes.subspan(piece.size());
    start_receive(piece.data(), piece.size(), from, kMessageTag);
    finish("a message");
  } while (!bytes.empty());
}

void MpiCommunicator::set_members(std::span<const int> ranks) {
  bool all = static_cast<int>(ranks.size()) == size_;
  for (std::size_t i = 0; all && i < ranks.size(); ++i) all = ranks[i] == static_cast<int>(i);
  if (!all) throw Error("a group of hosts keeps all its members");
}

}  // namespace

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error("between the hosts, " + std::string(call) + " failed: " + std::string(text, text + length) +
              "; is every host still there, and its network?");
}

void Link::lose(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (lost_.load()) return;
  reason_ = what;
  lost_.store(true);
}

void Link::throw_if_lost() const {
  if (!lost_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  throw Error(reason_);
}

void Link::wait(std::span<MPI_Request> requests, std::span<MPI_Status> statuses, const char* call) const {
  std::int64_t waited = 0;  // a stop of everything counts as one look, however long it was
  for (std::int64_t last_look = now_ns();;) {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, statuses.data()), call);
    if (done != 0) return;
    throw_if_lost();
    const std::int64_t now = now_ns();
    waited += std::min(now - std::exchange(last_look, now), kLongestLook_ns);
    if (waited > kLongestWait_ns) {
      throw Error("between the hosts, " + std::string(call) +
                  " did not end within 30 min: another host is busy or lost");
    }
    if (waited < kSpin_ns) continue;
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::clamp(waited / 8, kShortestSleep_ns, kLongestSleep_ns)));
  }
}

void Link::wait(MPI_Request request, const char* call) const {
  MPI_Status status;
  wait(std::span(&request, 1), std::span(&status, 1), call);
}

std::unique_ptr<Communicator> make_mpi_communicator(MPI_Comm communicator, const Link& link) {
  return std::make_unique<MpiCommunicator>(communicator, link);
}

}  // namespace evener::comm::mpi
