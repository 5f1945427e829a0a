// Runs a job on all ranks of a plan, and restarts it when a rank is lost.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "parallel/launcher.h"
#include "placement/plan.h"
#include "run/metered_run.h"

namespace evener::run {

struct RankOptions {
  int restarts = 0;      // how often all ranks are restarted after a loss
  bool elastic = false;  // afterwards continue without the lost replica
  parallel::LaunchOptions launch = {};
};

/// A job's functions for run_on_all_ranks(): its plan; leaving out the replica of a lost rank; the size of the ranks'
/// shared memory; and returning to the last checkpoint.
struct RankedJob {
  std::function<const placement::Plan&()> plan;
  std::function<void(int rank)> leave_out;
  std::function<std::size_t()> shared_bytes;
  std::function<void()> rewind;
};

/// Runs `body` on every rank of the job's plan and returns their results. The run's sampler watches the ranks'
/// processes, and its record gets a note about each loss. When no restart is left, continues without the lost replica
/// if `elastic`, else throws Error. Also throws what run_ranks() throws.
std::vector<std::string> run_on_all_ranks(MeteredRun& run, const RankedJob& job, const RankOptions& options,
                                          const parallel::RankBody& body);

template <typename Job>
std::vector<std::string> run_on_all_ranks(MeteredRun& run, Job& job, const RankOptions& options,
                                          const parallel::RankBody& body) {
  const RankedJob ranked{[&job]() -> const placement::Plan& { return job.plan(); },
                         [&job](int rank) { job.leave_out(rank); }, [&job] { return job.shared_bytes(); },
                         [&job] { job.rewind(); }};
  return run_on_all_ranks(run, ranked, options, body);
}

}  // namespace evener::run
