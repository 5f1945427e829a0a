#include "parallel/launcher.h"

#include <memory>

#include "parallel/rank_process.h"

namespace evener::parallel {
namespace {

constexpr int kControl = 0, kSums = 1, kGradients = 2, kChannels = 3;

}  // namespace

Channels Seat::channels() const {
  if (group == nullptr) return make_self_channels();
  const char* name = own_process ? "shm" : "threads";
  return {group->join(rank, kControl, name), group->join(rank, kSums, name), group->join(rank, kGradients, name)};
}

std::vector<std::string> run_ranks(const placement::Plan& plan, const RankBody& body, const LaunchOptions& options) {
  const int ranks = static_cast<int>(plan.replicas.size());
  const bool processes = plan.processes.size() > 1 || options.always_fork;
  std::unique_ptr<comm::SharedGroup> group;
  if (ranks > 1 || options.always_group || processes) {
    comm::SharedGroupOptions of_group;
    of_group.ranks = ranks;
    of_group.channels = kChannels;
    group = std::make_unique<comm::SharedGroup>(of_group);
  }
  std::vector<std::vector<Seat>> seats;
  for (const auto& process : plan.processes) {
    seats.emplace_back();
    for (const int rank : process.ranks) {
      seats.back().push_back({rank, ranks, group.get(), process.ranks.size() == 1});
    }
  }
  return results_of(processes ? run_processes(plan, seats, body, options) : run_seats(seats.front(), body));
}

}  // namespace evener::parallel
