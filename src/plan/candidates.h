// The placements that a planner compares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "placement/machine.h"
#include "placement/plan.h"

namespace evener::plan {

/// What is worth trying on `machine`: the CPU with 1, 2, 4, ... threads, with the
/// cores of the fastest kind and with all cores; replicas that fill the
/// cores; two stages that do, and replicas of these; and where there are GPUs, one, all, and one with the CPU.
std::vector<std::string> usual_placements(const placement::Machine& machine);

/// "cpu/t1,2xcpu/t1" apart; "auto" stands for the usual ones. Each placement once. Throws UsageError for what is not
/// a placement.
std::vector<std::string> placements_of(const std::string& list, const placement::Machine& machine);

struct Candidate {
  std::string text;
  std::optional<placement::Plan> plan;  // absent: the machine can't do it
  std::string refusal;                  // why; one line
  bool asked = true;                    // by name; else it is one of the usual ones
};

/// Resolves a placement; what the machine can't do becomes a refusal.
Candidate resolve(const std::string& text, const placement::Machine& machine, const placement::PlanOptions& options);

/// The devices that replicas compute on, each kind once: replicas alike in device, threads and emulated speed are one.
/// The key is a placement of its own ("cpu/t2@0.5").
std::string kind_of(const placement::PlanReplica& replica);
/// A plan of nothing but one replica of that kind.
placement::Plan plan_alone(const placement::Plan& plan, const placement::PlanReplica& replica);

}  // namespace evener::plan
