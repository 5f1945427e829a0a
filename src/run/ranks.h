// A job on all ranks of a plan, which goes on when one of them is lost.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "parallel/launcher.h"
#include "placement/plan.h"
#include "run/metered_run.h"

namespace evener::run {

struct RankOptions {
  int restarts = 0;      // how often all ranks start again after one was lost
  bool elastic = false;  // after that they go on without it
  parallel::LaunchOptions launch = {};
};

/// What a job has to say for that: where it computes, how it goes on without a replica that was lost for good, the
/// bytes that its ranks want to have in common, and how it goes back to its last checkpoint.
struct RankedJob {
  std::function<const placement::Plan&()> plan;
  std::function<void(int rank)> leave_out;
  std::function<std::size_t()> shared_bytes;
  std::function<void()> rewind;
};

/// Runs `body` on every rank of the job's plan and returns their results. The run's sampler watches the ranks'
/// processes, its record tells of losses. A rank that is lost for good leaves the plan. Throws Error when no restart is
/// left, and what run_ranks() throws.
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
