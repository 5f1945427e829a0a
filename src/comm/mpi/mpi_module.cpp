// The module's entry, which base/module.h looks for, and the group of hosts that it connects. Each channel between the
// hosts is a communicator of MPI of its own. All calls of MPI share that errors become exceptions, waits don't spin,
// and all waits are given up when a host is lost.
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/module_entry.h"
#include "comm/communication_dtype.h"
#include "comm/host_group.h"

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

/// Throws Error with MPI's own words unless `code` says that `call` worked.
void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error("between the hosts, " + std::string(call) + " failed: " + std::string(text, text + length) +
              "; is every host still there, and its network?");
}

class Link {
 public:
  /// Makes every wait, now or later, throw Error with `what`. The first reason stays.
  void lose(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (lost_.load()) return;
    reason_ = what;
    lost_.store(true);
  }

  void throw_if_lost() const {
    if (!lost_.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex_);
    throw Error(reason_);
  }

  /// Waits until all requests are done. MPI's own blocking waits take a whole CPU, so this polls and sleeps by turns.
  /// Sleeps are short at first and later an eighth of the time waited so far, so that sleeping too long adds little.
  void wait(std::span<MPI_Request> requests, std::span<MPI_Status> statuses, const char* call) const {
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
      std::this_thread::sleep_for(
          std::chrono::nanoseconds(std::clamp(waited / 8, kShortestSleep_ns, kLongestSleep_ns)));
    }
  }

  void wait(MPI_Request request, const char* call) const {
    MPI_Status status;
    wait(std::span(&request, 1), std::span(&status, 1), call);
  }

 private:
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;
  std::string reason_;
};

template <typename Slot>
Slot* slots(std::vector<std::byte>& storage, std::size_t count) {
  if (storage.size() < count * sizeof(Slot)) storage.resize(count * sizeof(Slot));
  return reinterpret_cast<Slot*>(storage.data());
}

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
  void broadcast(std::span<std::byte> bytes, int root) override {
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

  void barrier() override {
    link_.throw_if_lost();
    MPI_Request request;
    check(MPI_Ibarrier(communicator_, &request), "MPI_Ibarrier");
    link_.wait(request, "a barrier");
  }

  void send(std::span<const std::byte> bytes, int to) override {
    in_pieces(bytes, [&](auto piece) { start_send(piece.data(), piece.size(), to, kMessageTag); });
  }

  void receive(std::span<std::byte> bytes, int from) override {
    in_pieces(bytes, [&](auto piece) { start_receive(piece.data(), piece.size(), from, kMessageTag); });
  }

  void set_members(std::span<const int> ranks) override {
    bool all = static_cast<int>(ranks.size()) == size_;
    for (std::size_t i = 0; all && i < ranks.size(); ++i) all = ranks[i] == static_cast<int>(i);
    if (!all) throw Error("a group of hosts keeps all its members");
  }

  void require_whole() override { link_.throw_if_lost(); }

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
  void reduce(std::span<const std::span<Value>> parts) {
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

  /// Sums small vectors: every host receives those of all hosts in one exchange, and all hosts sum them in the same
  /// order.
  template <typename Slot>
  void sum_whole(Slot* piece, std::size_t count) {
    const int bytes = static_cast<int>(count * sizeof(Slot));
    Slot* all = slots<Slot>(received_, count * static_cast<std::size_t>(size_));
    MPI_Request request;
    check(MPI_Iallgather(piece, bytes, MPI_BYTE, all, bytes, MPI_BYTE, communicator_, &request), "MPI_Iallgather");
    link_.wait(request, "a sum");
    sum_received(piece, count, count);
  }

  /// Sums large vectors: each host sums its share of all vectors and sends it to all. In these two exchanges a host
  /// sends and receives 2 * (1 - 1 / hosts) of the vector, the least possible.
  template <typename Slot>
  void sum_shares(Slot* piece, std::size_t count) {
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

  /// Replaces `own` (`count` values) by its sum with the received vectors, in the order of hosts.
  template <typename Slot>
  void sum_received(Slot* own, std::size_t stride, std::size_t count) {
    std::vector<const Slot*> parts;
    for (int host = 0; host < size_; ++host) {
      parts.push_back(host == rank_
                          ? own
                          : reinterpret_cast<const Slot*>(received_.data()) + stride * static_cast<std::size_t>(host));
    }
    using Sum = std::conditional_t<std::is_same_v<Slot, double>, double, float>;
    sum_in_order<Sum, Slot>(parts, count, own);
  }

  void start_send(const void* data, std::size_t bytes, int to, int tag) {
    requests_.emplace_back();
    expected_.push_back(0);
    check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, communicator_, &requests_.back()), "MPI_Isend");
  }

  void start_receive(void* data, std::size_t bytes, int from, int tag) {
    requests_.emplace_back();
    expected_.push_back(bytes);
    check(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, communicator_, &requests_.back()), "MPI_Irecv");
  }

  void in_pieces(auto bytes, const auto& start) {
    link_.throw_if_lost();
    do {
      const auto piece = bytes.first(std::min(bytes.size(), kBroadcast_bytes));
      bytes = bytes.subspan(piece.size());
      start(piece);
      finish("a message");
    } while (!bytes.empty());
  }

  void finish(const char* call) {
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

  MPI_Comm communicator_;
  const Link& link_;
  int rank_ = 0, size_ = 1;
  std::vector<std::byte> piece_, received_;
  std::vector<MPI_Request> requests_;
  std::vector<std::size_t> expected_;  // bytes of each request; 0 of those that send
};

constexpr std::chrono::milliseconds kBeat{250};
/// Number of beats without an answer after which a host counts as lost: 5 s. Beats are counted rather than seconds, so
/// that a stop of everything (Ctrl-Z, a suspended laptop) isn't taken for a loss.
constexpr int kSilentBeats = 20;

/// Heartbeats between the hosts: MPI itself does not notice a host that is frozen or cut off.
class Heartbeat {
 public:
  /// Host 0 exchanges heartbeats with all others, which exchange them with host 0 alone.
  Heartbeat(MPI_Comm communicator, std::vector<std::string> names, std::function<void(const std::string&)> on_lost)
      : communicator_(communicator), names_(std::move(names)), on_lost_(std::move(on_lost)) {
    int rank = 0;
    check(MPI_Comm_rank(communicator_, &rank), "MPI_Comm_rank");
    const int hosts = static_cast<int>(names_.size());
    for (int host = 0; host < hosts; ++host) {
      if (host == rank || (rank != 0 && host != 0)) continue;
      peers_.push_back({.host = host});
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { live(stop); });
  }

  /// Leaves nothing under way on `communicator`.
  ~Heartbeat() {
    thread_.request_stop();
    thread_.join();
    for (Peer& peer : peers_) {
      if (peer.receiving != MPI_REQUEST_NULL) {
        MPI_Cancel(&peer.receiving);
        MPI_Request_free(&peer.receiving);
      }
      if (peer.sending != MPI_REQUEST_NULL) MPI_Request_free(&peer.sending);
    }
  }

 private:
  struct Peer {
    int host = 0;
    int silent_beats = 0;
    char sent = 0, received = 0;
    MPI_Request sending = MPI_REQUEST_NULL, receiving = MPI_REQUEST_NULL;
  };

  void live(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any condition;
    std::unique_lock lock(mutex);
    try {
      while (!condition.wait_for(lock, stop, kBeat, [] { return false; }) && !stop.stop_requested()) {
        for (Peer& peer : peers_) {
          if (beat(peer)) continue;
          const auto host = static_cast<std::size_t>(peer.host);
          on_lost_("host " + names_[host] + " (host " + std::to_string(peer.host) + " of " +
                   std::to_string(names_.size()) + ") has given no sign of life for " +
                   std::to_string(kSilentBeats * kBeat.count() / 1000) +
                   " s: it is down, frozen, or cut off from the network");
          return;
        }
      }
    } catch (const std::exception& error) {
      on_lost_(error.what());
    }
  }

  /// Sends and receives heartbeats. False when the other host has been silent for too long.
  bool beat(Peer& peer) const {
    int done = 0;
    if (peer.sending != MPI_REQUEST_NULL) check(MPI_Test(&peer.sending, &done, MPI_STATUS_IGNORE), "a sign of life");
    if (peer.sending == MPI_REQUEST_NULL) {
      check(MPI_Isend(&peer.sent, 1, MPI_CHAR, peer.host, 0, communicator_, &peer.sending), "a sign of life");
    }
    ++peer.silent_beats;
    do {  // what has come since the last time
      if (peer.receiving == MPI_REQUEST_NULL) {
        check(MPI_Irecv(&peer.received, 1, MPI_CHAR, peer.host, 0, communicator_, &peer.receiving), "a sign of life");
      }
      check(MPI_Test(&peer.receiving, &done, MPI_STATUS_IGNORE), "a sign of life");
      if (done != 0) peer.silent_beats = 0;
    } while (done != 0);
    return peer.silent_beats < kSilentBeats;
  }

  MPI_Comm communicator_;
  std::vector<std::string> names_;
  std::function<void(const std::string&)> on_lost_;
  std::vector<Peer> peers_;  // MPI holds their addresses
  std::jthread thread_;
};

/// The group of hosts. It makes all communicators at once, in the same order on all hosts, as MPI requires.
class MpiGroup : public HostGroup {
 public:
  explicit MpiGroup(int channels) {
    for (int i = 0; i < channels + 1; ++i) {
      MPI_Comm copy = MPI_COMM_NULL;
      check(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "MPI_Comm_dup");
      check(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
      communicators_.push_back(copy);
    }
    check(MPI_Comm_rank(MPI_COMM_WORLD, &host_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &hosts_), "MPI_Comm_size");
  }

  int host() const override { return host_; }
  int hosts() const override { return hosts_; }

  std::unique_ptr<Communicator> channel(int index) override {
    return std::make_unique<MpiCommunicator>(communicators_.at(static_cast<std::size_t>(index)), link_);
  }

  void watch(std::vector<std::string> names, std::function<void(const std::string&)> on_lost) override {
    heartbeat_ = std::make_unique<Heartbeat>(communicators_.back(), std::move(names),
                                             [this, on_lost = std::move(on_lost)](const std::string& what) {
                                               link_.lose(what);
                                               on_lost(what);
                                             });
  }

  void close() override {
    MpiCommunicator(communicators_.front(), link_).barrier();
    heartbeat_.reset();
    check(MPI_Finalize(), "MPI_Finalize");
  }

 private:
  Link link_;
  std::vector<MPI_Comm> communicators_;  // of the channels, then the heartbeat's
  std::unique_ptr<Heartbeat> heartbeat_;
  int host_ = 0, hosts_ = 1;
};

class MpiConnector : public HostConnector {
 public:
  std::unique_ptr<HostGroup> connect(int channels) override {
    const HostPosition told = host_position();
    std::signal(SIGPIPE, SIG_IGN);  // writing to a lost connection becomes an error instead of ending this process
    int threads = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads), "MPI_Init_thread");
    if (threads < MPI_THREAD_MULTIPLE) {
      throw Error("this MPI was built without MPI_THREAD_MULTIPLE, which several hosts need; install Open MPI 4");
    }
    auto group = std::make_unique<MpiGroup>(channels);
    if (group->host() == told.host && group->hosts() == told.hosts) return group;
    throw Error("whoever started this process says it leads host " + std::to_string(told.host) + " of " +
                std::to_string(told.hosts) + ", MPI says " + std::to_string(group->host()) + " of " +
                std::to_string(group->hosts()) +
                ": mpirun (or srun --mpi=pmix) and the MPI library are not of one installation");
  }
};

const char* version() {
  static const std::string text = [] {
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(library, &length);
    const std::string whole(library, library + length);
    return whole.substr(0, whole.find_first_of(",\n"));
  }();
  return text.c_str();
}

const char* unusable_reason() {
  int finalized = 0;
  return MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0 ? "" : "MPI has ended in this process already";
}

}  // namespace
}  // namespace evener::comm::mpi

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::comm::HostConnector, evener::comm::mpi::MpiConnector>(
        evener::comm::mpi::version, evener::comm::mpi::unusable_reason);
}
