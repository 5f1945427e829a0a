// Runs something of a training that is ready but for its plan in processes of their own, which leave nothing behind.
// Inside task/ only.
#pragma once

#include <cstddef>

#include "base/error.h"
#include "base/message.h"
#include "base/stop.h"
#include "parallel/launcher.h"
#include "task/train.h"

namespace evener::task {

inline void leave_if_stopped() {
  if (stop_requested())
    throw Interrupted("interrupted while placements were tried out; nothing was trained or written");
}

/// Runs `body`, which returns messages, in processes of their own, and returns what rank 0's message says.
template <class Result>
Result run_apart(const placement::Plan& plan, const parallel::RankBody& body, std::size_t shared_bytes = 0) {
  leave_if_stopped();
  parallel::LaunchOptions launch;
  launch.always_fork = true;
  launch.shared_bytes = shared_bytes;
  return unpack_message<Result>(parallel::run_ranks(plan, body, launch).front(), "the result of a trial");
}

inline placement::Plan plan_of_one() {
  placement::Plan plan;
  plan.text = "cpu/t1";
  plan.replicas = {{0, {placement::PlanStage{}}, 1.0}};
  plan.processes = {{{0}}};
  return plan;
}

inline TrainOptions with_plan(TrainOptions options, const placement::Plan& plan) {
  options.plan = plan;
  return options;
}

}  // namespace evener::task
