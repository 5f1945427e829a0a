// A placement resolved on a machine: which replica computes on which device, with how many threads on which CPUs,
// in which process. plan_text() renders it for --dry-run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/device.h"
#include "placement/machine.h"
#include "placement/placement.h"

namespace evener::placement {

/// Replicas as processes or as threads of one process. kAuto: threads for one GPU and one CPU replica, else processes.
enum class ReplicasAs { kAuto, kProcesses, kThreads };
ReplicasAs parse_replicas_as(const std::string& text);

/// How a batch is divided among the replicas: equally, by measured speed, or by given weights.
struct ShareRule {
  bool measured = false;
  std::vector<double> weights;  // "12:1"; empty = equal unless measured
};
/// "measured", "equal" or "12:1". Throws UsageError.
ShareRule parse_share_rule(const std::string& text);

struct PlanOptions {
  std::string precision = "fp32";
  ReplicasAs replicas = ReplicasAs::kAuto;
  std::optional<ShareRule> shares = {};  // not given: equal if all replicas are alike, else measured
  bool oversubscribe = false;            // all of the CPU replicas of "16x", also more than the CPUs
};

struct PlanStage {
  Device device;
  std::string device_name;  // "AMD EPYC 9B14", "NVIDIA H200"
  int threads = 1;          // that compute; a GPU has one that drives it
  std::vector<int> cpus;    // logical CPUs the threads are pinned to; empty = not pinned
  double factor = 1;        // < 1: emulates a device of that fraction of its speed
  std::string uuid = {};    // of a GPU that has one
};

struct PlanReplica {
  int rank = 0;                   // its number among the replicas, and its rank where each has one stage
  std::vector<PlanStage> stages;  // never empty; all replicas have equally many
  std::optional<double> share;    // of each batch; not given = measured at the start
};

/// One process that would be started, and the ranks in it (as threads if there are several).
struct PlanProcess {
  std::vector<int> ranks;
};

struct Plan {
  std::string text;                   // the placement as it was given
  std::vector<PlanReplica> replicas;  // by rank; never empty
  std::vector<PlanProcess> processes;
  std::string precision = "fp32";
  int cores = 1;                       // that this machine offers
  std::vector<std::string> fallbacks;  // what is done otherwise than asked for
  std::vector<std::string> warnings;   // what will cost time or change results
  std::vector<std::string> notes;      // what is worth knowing
};

/// Stages that each replica has, and ranks: one for each stage of each replica, those of a replica one after the other.
int stage_count(const Plan& plan);
int rank_count(const Plan& plan);
/// What a rank computes on.
const PlanStage& stage_of(const Plan& plan, int rank);
/// "rank 3", or of several stages "rank 3, stage 1 of replica 1".
std::string rank_text(const Plan& plan, int rank);

/// What the user is warned of: the fallbacks, then the warnings.
std::vector<std::string> all_warnings(const Plan& plan);

/// Resolves `placement` on `machine`. CPU stages without /t share what is left of the cores after one for each GPU
/// in use and the threads of stages with /t, evenly, the first ones taking the remainder; each gets at least one. Of
/// "16xcpu/t1" no more replicas are made than have CPUs of their own, unless options say so or give each its share.
/// Throws UsageError pointing at the stage: a device that isn't there or can't be used, two replicas on one GPU.
Plan make_plan(const Placement& placement, const Machine& machine, const PlanOptions& options = {});

/// `plan` on each of so many hosts: replica r of host h becomes replica h * (replicas of one) + r, with its part of the
/// host's share. The processes stay those of one host; stages become threads of one.
Plan on_hosts(Plan plan, int hosts);
/// Whether any stage is on something else than the CPU.
bool uses_accelerator(const PlanReplica& replica);
/// The same of any replica.
bool uses_accelerator(const Plan& plan);
/// Whether it has replicas on other hosts: its processes are those of this one.
bool has_other_hosts(const Plan& plan);

/// `plan` without the replica of `rank`, one of several: the others keep their devices and threads, take over its share
/// in proportion to theirs, and are numbered anew.
Plan without_replica(Plan plan, int rank);

/// Why training can't run this plan with what exists now; "" = it can.
std::string why_not_runnable(const Plan& plan);

/// The plan as lines of text, each ended by '\n'.
std::string plan_text(const Plan& plan);

/// Threads that compute on the CPU, of all hosts of the plan, but no more than this one has cores; of a plan without a
/// CPU stage as many as those.
int cpu_threads(const Plan& plan);

/// "0-3,8" for {0, 1, 2, 3, 8}.
std::string cpu_list_text(const std::vector<int>& cpus);

}  // namespace evener::placement
