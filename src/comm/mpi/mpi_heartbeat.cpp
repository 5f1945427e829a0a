#include "comm/mpi/mpi_heartbeat.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "comm/mpi/mpi_link.h"

namespace evener::comm::mpi {
namespace {

constexpr std::chrono::milliseconds kBeat{250};
/// Number of beats without an answer after which a host counts as lost: 5 s. Beats are counted rather than seconds, so
/// that a stop of everything (Ctrl-Z, a suspended laptop) isn't taken for a loss.
constexpr int kSilentBeats = 20;

}  // namespace

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

}  // namespace evener::comm::mpi
