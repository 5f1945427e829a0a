#include "parallel/launcher.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "base/forked.h"
#include "base/host_name.h"
#include "base/phase.h"
#include "comm/communicator.h"
#include "parallel/rank_process.h"

namespace evener::parallel {
namespace {

constexpr int kControl = 0, kSums = 1, kGradients = 2, kChannels = 3;
/// Channels between neighbouring stages: two pairs that alternate along the pipeline, so that a stage's two sides use
/// different ones.
constexpr int kLinks = 4;

/// The number of channels that also connect hosts: those above for the first stage, and two for each further stage.
int summing_channels(int stages) {
  return kChannels + 2 * (stages - 1);
}
/// How long ranks may take to end by themselves after the loss of a host; a rank in a long computation doesn't notice
/// it.
constexpr std::chrono::seconds kGraceOfRanks{3};

std::unique_ptr<comm::Communicator> local_channel(const RankContext& context, int index) {
  const char* name = context.own_process ? "shm" : "threads";
  return context.group == nullptr ? comm::make_self_communicator()
                                  : context.group->join(context.local_rank, index, name);
}

/// Extends the channel `local` to all hosts, if there are several; the local rank `leader` talks to the other hosts.
std::unique_ptr<comm::Communicator> over_hosts(const RankContext& context, std::unique_ptr<comm::Communicator> local,
                                               int index, int leader) {
  if (context.hosts == 1) return local;
  const bool leads = context.link != nullptr && context.local_rank == leader;
  auto between = leads ? context.link->channel(index) : nullptr;
  return comm::make_hierarchical_communicator(std::move(local), std::move(between), context.host, context.hosts,
                                              leader);
}

std::unique_ptr<comm::Communicator> channel_of(const RankContext& context, int index) {
  return over_hosts(context, local_channel(context, index), index, /*leader=*/0);
}

/// The channel between the same stage of all replicas.
std::unique_ptr<comm::Communicator> peers_of(const RankContext& context, int index) {
  if (context.stages == 1) return channel_of(context, index);
  const int stage = context.rank % context.stages;
  const int own_index = stage == 0 ? index : kChannels + 2 * (stage - 1) + index - kSums;
  auto local = local_channel(context, own_index);
  std::vector<int> ranks;
  for (int rank = stage; rank < context.ranks / context.hosts; rank += context.stages) ranks.push_back(rank);
  local->set_members(ranks);
  return over_hosts(context, std::move(local), own_index, /*leader=*/stage);
}

StageChannels links_of(const RankContext& context) {
  const int stage = context.rank % context.stages;
  const int first = summing_channels(context.stages);
  StageChannels links;
  if (stage > 0) {
    const int before = first + 2 * ((stage - 1) % 2);
    links.values_in = local_channel(context, before);
    links.gradients_out = local_channel(context, before + 1);
  }
  if (stage + 1 < context.stages) {
    const int after = first + 2 * (stage % 2);
    links.values_out = local_channel(context, after);
    links.gradients_in = local_channel(context, after + 1);
  }
  return links;
}

/// Ends this process because a host was lost. If the ranks are `watched` child processes, their parent reports the
/// reason; else this process does.
void give_up(const RankContext& context, const std::string& what, bool watched) {
  if (context.group != nullptr) context.group->abort(what);
  std::thread([what, watched] {
    std::this_thread::sleep_for(kGraceOfRanks);
    if (!watched) std::fprintf(stderr, "evener: on host %s: %s\n", host_name().c_str(), what.c_str());
    _exit(1);
  }).detach();
}

/// Connects this host with the others.
std::unique_ptr<HostLink> connect(const RankContext& context, const HostsOptions& hosts, bool watched) {
  const PhaseMark mark(Phase::kConnect);
  auto link = std::make_unique<HostLink>(hosts, summing_channels(context.stages));
  link->watch([context, watched](const std::string& what) { give_up(context, what, watched); });
  return link;
}

/// Runs `body` in a process of the rank's own. The leading rank of a host connects the host with the others before, and
/// waits for them afterwards.
std::string run_connected(const RankContext& context, const RankBody& body, const HostsOptions& hosts) {
  if (hosts.hosts == 1 || context.local_rank != 0) return body(context);
  const std::unique_ptr<HostLink> link = connect(context, hosts, /*watched=*/true);
  RankContext connected = context;
  connected.link = link.get();
  std::string result = body(connected);
  link->close();
  return result;
}

/// Runs `body` for ranks that are threads of this process. The first replica's stages lead those of the others.
std::vector<RankOutcome> run_connected_threads(std::vector<RankContext> contexts, const RankBody& body,
                                               const HostsOptions& hosts) {
  if (hosts.hosts == 1) return run_ranks(contexts, body);
  const std::unique_ptr<HostLink> link = connect(contexts.front(), hosts, /*watched=*/false);
  for (RankContext& context : contexts) context.link = context.local_rank < context.stages ? link.get() : nullptr;
  auto outcomes = run_ranks(contexts, body);
  // After a failure don't wait in the final barrier: the others notice this host's end.
  const bool all_done =
      std::ranges::all_of(outcomes, [](const RankOutcome& each) { return each.kind == RankOutcome::Kind::kDone; });
  if (all_done) link->close();
  return outcomes;
}

}  // namespace

Channels RankContext::channels() const {
  const bool one_host = group != nullptr && hosts == 1;
  return {channel_of(*this, kControl), peers_of(*this, kSums), peers_of(*this, kGradients),
          one_host ? group->common() : std::span<std::byte>(), links_of(*this)};
}

namespace {

std::string failure_of(const RankContext& context) {
  return "rank " + std::to_string(context.rank) + " failed: ";
}

}  // namespace

void RankContext::tell_failure(const std::string& why) const {
  if (group != nullptr) group->abort(failure_of(*this) + why);
}

bool RankContext::failed_first() const {
  return group == nullptr || group->abort_reason().starts_with(failure_of(*this));
}

std::vector<std::string> run_ranks(const placement::Plan& plan, const RankBody& body, const LaunchOptions& options) {
  const int ranks = placement::rank_count(plan), local_ranks = ranks / options.hosts.hosts;
  const bool processes = plan.processes.size() > 1 || (options.always_fork && may_fork());
  std::unique_ptr<comm::SharedGroup> group;
  if (local_ranks > 1 || options.always_group || processes) {
    comm::SharedGroupOptions of_group;
    of_group.ranks = local_ranks;
    const int stages = placement::stage_count(plan);
    of_group.channels = summing_channels(stages) + (stages > 1 ? kLinks : 0);
    of_group.common_bytes = options.shared_bytes;
    group = std::make_unique<comm::SharedGroup>(of_group);
  }
  std::vector<std::vector<RankContext>> contexts;
  for (const auto& process : plan.processes) {
    contexts.emplace_back();
    for (const int local_rank : process.ranks) {
      const int rank = options.hosts.host * local_ranks + local_rank;
      contexts.back().push_back({rank, ranks, group.get(), process.ranks.size() == 1, local_rank, options.hosts.host,
                                 options.hosts.hosts, nullptr, placement::stage_count(plan)});
    }
  }
  if (!processes) return results_of(run_connected_threads(contexts.front(), body, options.hosts));
  const RankBody connected = [&](const RankContext& context) { return run_connected(context, body, options.hosts); };
  return results_of(run_processes(plan, contexts, connected, options));
}

}  // namespace evener::parallel
