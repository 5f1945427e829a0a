// The module's entry, which base/module.h looks for, and the group of hosts that it connects.
#include <mpi.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/module_entry.h"
#include "comm/host_group.h"
#include "comm/mpi/mpi_communicator.h"

namespace evener::comm::mpi {
namespace {

constexpr std::chrono::milliseconds kBeat{250};
/// Number of beats without an answer after which a host counts as lost: 5 s. Beats are counted rather than seconds, so
/// that a stop of everything (Ctrl-Z, a suspended laptop) isn't taken for a loss.
constexpr int kSilentBeats = 20;

/// Heartbeats between the hosts: MPI itself does not notice a host that is frozen or cut off.
class Heartbeat {
 public:
  /// Host 0 exchanges heartbeats with all others, which exchange them with host 0 alone.
  Heartbeat(MPI_Comm communicator, std::vector<std::string> names, std::function<void(const std::string&)> on_lost);
  /// Leaves nothing under way on `communicator`.
  ~Heartbeat();

 private:
  struct Peer;
  void live(const std::stop_token& stop);
  bool beat(Peer& peer) const;

  MPI_Comm communicator_;
  std::vector<std::string> names_;
  std::function<void(const std::string&)> on_lost_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::jthread thread_;
};

struct Heartbeat::Peer {
  int host = 0;
  int silent_beats = 0;
  char sent = 0, received = 0;
  MPI_Request sending = MPI_REQUEST_NULL, receiving = MPI_REQUEST_NULL;
};

Heartbeat::Heartbeat(MPI_Comm communicator, std::vector<std::string> names,
                     std::function<void(const std::string&)> on_lost)
    : communicator_(communicator), names_(std::move(names)), on_lost_(std::move(on_lost)) {
  int rank = 0;
  check(MPI_Comm_rank(communicator_, &rank), "MPI_Comm_rank");
  const int hosts = static_cast<int>(names_.size());
  for (int host = 0; host < hosts; ++host) {
    if (host == rank || (rank != 0 && host != 0)) continue;
    peers_.push_back(std::make_unique<Peer>());
    peers_.back()->host = host;
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { live(stop); });
}

Heartbeat::~Heartbeat() {
  thread_.request_stop();
  thread_.join();
  for (const auto& peer : peers_) {
    if (peer->receiving != MPI_REQUEST_NULL) {
      MPI_Cancel(&peer->receiving);
      MPI_Request_free(&peer->receiving);
    }
    if (peer->sending != MPI_REQUEST_NULL) MPI_Request_free(&peer->sending);
  }
}

void Heartbeat::live(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any condition;
  std::unique_lock lock(mutex);
  try {
    while (!condition.wait_for(lock, stop, kBeat, [] { return false; }) && !stop.stop_requested()) {
      for (const auto& peer : peers_) {
        if (beat(*peer)) continue;
        const auto host = static_cast<std::size_t>(peer->host);
        on_lost_("host " + names_[host] + " (host " + std::to_string(peer->host) + " of " +
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
bool Heartbeat::beat(Peer& peer) const {
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
    return make_mpi_communicator(communicators_.at(static_cast<std::size_t>(index)), link_);
  }

  void watch(std::vector<std::string> names, std::function<void(const std::string&)> on_lost) override {
    heartbeat_ = std::make_unique<Heartbeat>(communicators_.back(), std::move(names),
                                             [this, on_lost = std::move(on_lost)](const std::string& what) {
                                               link_.lose(what);
                                               on_lost(what);
                                             });
  }

  void close() override {
    make_mpi_communicator(communicators_.front(), link_)->barrier();
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
