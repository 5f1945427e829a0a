// The placements that a planner compares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/precision.h"
#include "placement/machine.h"
#include "placement/plan.h"

namespace evener::training {

/// The placements worth trying on `machine`: the CPU with 1, 2, 4, ... threads, with the cores of the fastest kind and
/// with all cores; 2, 4, ... replicas that together use all cores; pipelines of two stages that use all cores, also
/// replicated; and with GPUs, one, all, and one together with the CPU.
std::vector<std::string> usual_placements(const placement::Machine& machine);

/// Splits a list such as "cpu/t1,2xcpu/t1" into placements, each once; "auto" stands for usual_placements(). Throws
/// UsageError if a part is not a placement.
std::vector<std::string> placements_of(const std::string& list, const placement::Machine& machine);

struct Candidate {
  std::string text;
  std::optional<placement::Plan> plan;      // absent: impossible on this machine
  std::string refusal;                      // why it is impossible, in one line
  bool asked = true;                        // the user named it; false: from usual_placements()
  std::optional<Precision> precision = {};  // absent: the one of the training's options
};
/// Each of the candidates in each of the precisions.
std::vector<Candidate> in_precisions(const std::vector<Candidate>& candidates,
                                     const std::vector<std::optional<Precision>>& precisions);

/// Resolves a placement. If it is impossible on `machine`, the candidate has a refusal instead of a plan.
Candidate resolve(const std::string& text, const placement::Machine& machine, const placement::PlanOptions& options);

/// A key of the replica's kind, which is itself a placement ("cpu/t2@0.5"). Replicas with the same device, threads and
/// emulated speed have the same kind, so one of them has to be measured.
std::string kind_of(const placement::PlanReplica& replica);
/// `plan` reduced to one replica, which gets the whole batch.
placement::Plan plan_alone(const placement::Plan& plan, const placement::PlanReplica& replica);

}  // namespace evener::training
