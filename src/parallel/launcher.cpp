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
/// Between neighbouring stages, by turns, so that a stage's ends to both sides are different ones.
constexpr int kLinks = 4;

/// Of replicas with so many stages: the first stage has the channels above; then two for each further one, and links.
int channel_count(int stages) {
  return stages == 1 ? kChannels : kChannels + 2 * (stages - 1) + kLinks;
}
/// How long ranks may take to end by themselves after a host was lost: one in a long computation notices nothing.
constexpr std::chrono::seconds kGraceOfRanks{3};

std::unique_ptr<comm::Communicator> channel_of(const Seat& seat, int index) {
  const char* name = seat.own_process ? "shm" : "threads";
  auto local = seat.group == nullptr ? comm::make_self_communicator() : seat.group->join(seat.local_rank, index, name);
  if (seat.hosts == 1) return local;
  auto between = seat.link == nullptr ? nullptr : seat.link->channel(index);
  return comm::make_hierarchical_communicator(std::move(local), std::move(between), seat.host, seat.hosts);
}

/// The end of a channel that joins a stage with the same stage of the other replicas.
std::unique_ptr<comm::Communicator> peers_of(const Seat& seat, int index) {
  const int stage = seat.rank % seat.stages;
  auto channel = channel_of(seat, stage == 0 ? index : kChannels + 2 * (stage - 1) + index - kSums);
  if (seat.stages == 1) return channel;
  std::vector<int> ranks;
  for (int rank = stage; rank < seat.ranks; rank += seat.stages) ranks.push_back(rank);
  channel->set_members(ranks);
  return channel;
}

StageChannels links_of(const Seat& seat) {
  const int stage = seat.rank % seat.stages;
  const int first = channel_count(seat.stages) - kLinks;
  StageChannels links;
  if (stage > 0) {
    const int before = first + 2 * ((stage - 1) % 2);
    links.values_in = channel_of(seat, before);
    links.gradients_out = channel_of(seat, before + 1);
  }
  if (stage + 1 < seat.stages) {
    const int after = first + 2 * (stage % 2);
    links.values_out = channel_of(seat, after);
    links.gradients_in = channel_of(seat, after + 1);
  }
  return links;
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
  return {channel_of(*this, kControl), peers_of(*this, kSums), peers_of(*this, kGradients),
          one_host ? group->common() : std::span<std::byte>(), links_of(*this)};
}

namespace {

std::string failure_of(const Seat& seat) {
  return "rank " + std::to_string(seat.rank) + " failed: ";
}

}  // namespace

void Seat::tell_failure(const std::string& why) const {
  if (group != nullptr) group->abort(failure_of(*this) + why);
}

bool Seat::failed_first() const {
  return group == nullptr || group->abort_reason().starts_with(failure_of(*this));
}

std::vector<std::string> run_ranks(const placement::Plan& plan, const RankBody& body, const LaunchOptions& options) {
  const int ranks = placement::rank_count(plan), local_ranks = ranks / options.hosts.hosts;
  const bool processes = plan.processes.size() > 1 || options.always_fork;
  std::unique_ptr<comm::SharedGroup> group;
  if (local_ranks > 1 || options.always_group || processes) {
    comm::SharedGroupOptions of_group;
    of_group.ranks = local_ranks;
    of_group.channels = channel_count(placement::stage_count(plan));
    of_group.common_bytes = options.shared_bytes;
    group = std::make_unique<comm::SharedGroup>(of_group);
  }
  std::vector<std::vector<Seat>> seats;
  for (const auto& process : plan.processes) {
    seats.emplace_back();
    for (const int local_rank : process.ranks) {
      const int rank = options.hosts.host * local_ranks + local_rank;
      seats.back().push_back({rank, ranks, group.get(), process.ranks.size() == 1, local_rank, options.hosts.host,
                              options.hosts.hosts, nullptr, placement::stage_count(plan)});
    }
  }
  const RankBody connected = [&](const Seat& seat) { return run_connected(seat, body, options.hosts, processes); };
  return results_of(processes ? run_processes(plan, seats, connected, options) : run_seats(seats.front(), connected));
}

}  // namespace evener::parallel
