#include "parallel/launcher.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "base/host_name.h"
#include "base/phase.h"
#include "comm/hierarchical_communicator.h"
#include "parallel/rank_process.h"

namespace evener::parallel {
namespace {

constexpr int kControl = 0, kSums = 1, kGradients = 2, kChannels = 3;
/// How long ranks may take to end by themselves after a host was lost: one in a long computation notices nothing.
constexpr std::chrono::seconds kGraceOfRanks{3};

std::unique_ptr<comm::Communicator> channel_of(const Seat& seat, int index) {
  const char* name = seat.own_process ? "shm" : "threads";
  auto local = seat.group == nullptr ? comm::make_self_communicator() : seat.group->join(seat.local_rank, index, name);
  if (seat.hosts == 1) return local;
  auto between = seat.link == nullptr ? nullptr : seat.link->channel(index);
  return comm::make_hierarchical_communicator(std::move(local), std::move(between), seat.host, seat.hosts);
}

/// Ends this process because a host was lost. Where its ranks are `watched` processes, the one that watches them tells
/// the reason; otherwise this one does.
void give_up(const Seat& seat, const std::string& what, bool watched) {
  if (seat.group != nullptr) seat.group->abort(what);
  std::thread([what, watched] {
    std::this_thread::sleep_for(kGraceOfRanks);
    if (!watched) std::fprintf(stderr, "evener: on host %s: %s\n", host_name().c_str(), what.c_str());
    _exit(1);
  }).detach();
}

/// Runs `body`. The leading rank of a host connects the host with the others before, and waits for them afterwards.
std::string run_connected(const Seat& seat, const RankBody& body, const HostsOptions& hosts, bool watched) {
  if (hosts.hosts == 1 || seat.local_rank != 0) return body(seat);
  std::unique_ptr<HostLink> link;
  {
    const PhaseMark mark(Phase::kConnect);
    link = std::make_unique<HostLink>(hosts, kChannels);
  }
  link->watch([seat, watched](const std::string& what) { give_up(seat, what, watched); });
  Seat connected = seat;
  connected.link = link.get();
  std::string result = body(connected);
  link->close();
  return result;
}

}  // namespace

Channels Seat::channels() const {
  const bool one_host = group != nullptr && hosts == 1;
  return {channel_of(*this, kControl), channel_of(*this, kSums), channel_of(*this, kGradients),
          one_host ? group->common() : std::span<std::byte>()};
}

std::vector<std::string> run_ranks(const placement::Plan& plan, const RankBody& body, const LaunchOptions& options) {
  const int ranks = static_cast<int>(plan.replicas.size()), local_ranks = ranks / options.hosts.hosts;
  const bool processes = plan.processes.size() > 1 || options.always_fork;
  std::unique_ptr<comm::SharedGroup> group;
  if (local_ranks > 1 || options.always_group || processes) {
    comm::SharedGroupOptions of_group;
    of_group.ranks = local_ranks;
    of_group.channels = kChannels;
    of_group.common_bytes = options.shared_bytes;
    group = std::make_unique<comm::SharedGroup>(of_group);
  }
  std::vector<std::vector<Seat>> seats;
  for (const auto& process : plan.processes) {
    seats.emplace_back();
    for (const int local_rank : process.ranks) {
      const int rank = options.hosts.host * local_ranks + local_rank;
      seats.back().push_back(
          {rank, ranks, group.get(), process.ranks.size() == 1, local_rank, options.hosts.host, options.hosts.hosts});
    }
  }
  const RankBody connected = [&](const Seat& seat) { return run_connected(seat, body, options.hosts, processes); };
  return results_of(processes ? run_processes(plan, seats, connected, options) : run_seats(seats.front(), connected));
}

}  // namespace evener::parallel
