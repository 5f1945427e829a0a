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
  std::optional<ShareRule> shares = {};  // absent: equal if all replicas are alike, else measured
  bool oversubscribe = false;            // make all CPU replicas of "16x", even on fewer CPUs
};

struct PlanStage {
  Device device;
  std::string device_name;  // "AMD EPYC 9B14", "NVIDIA H200"
  int threads = 1;          // computing threads; 1 for a GPU, to drive it
  std::vector<int> cpus;    // logical CPUs the threads are pinned to; empty = not pinned
  double factor = 1;        // < 1: emulates a device of that fraction of its speed
  std::string uuid = {};    // of a GPU that has one
};

struct PlanReplica {
  int rank = 0;                   // number of the replica; with one stage each also its rank
  std::vector<PlanStage> stages;  // never empty; all replicas have equally many
  std::optional<double> share;    // part of each batch; absent = measured at the start
};

/// A process of the plan and its ranks, which are threads if there are several.
struct PlanProcess {
  std::vector<int> ranks;
};

struct Plan {
  std::string text;                   // the placement as it was given
  std::vector<PlanReplica> replicas;  // by rank; never empty
  std::vector<PlanProcess> processes;
  std::string precision = "fp32";
  int cores = 1;                       // that this machine offers
  std::vector<std::string> fallbacks;  // how the plan differs from what was asked for
  std::vector<std::string> warnings;   // choices that cost time or change results
  std::vector<std::string> notes;      // anything else worth knowing
};

/// The number of stages of each replica, and the number of ranks. Each stage of each replica is a rank; a replica's
/// ranks are consecutive.
int stage_count(const Plan& plan);
int rank_count(const Plan& plan);
/// The device, threads and CPUs of a rank.
const PlanStage& stage_of(const Plan& plan, int rank);
/// "rank 3", or with several stages "rank 3, stage 1 of replica 1".
std::string rank_text(const Plan& plan, int rank);

/// All that the user is warned of: the fallbacks, then the warnings.
std::vector<std::string> all_warnings(const Plan& plan);

/// Resolves `placement` on `machine`. CPU stages without /t divide the remaining cores evenly, after one core for each
/// GPU in use and one for each thread of stages with /t; the first stages get the remainder, and each gets at least one
/// core. "16xcpu/t1" makes no more replicas than there are CPUs for, unless `oversubscribe` is set or shares are given
/// for each replica. Throws a UsageError that points at the stage if a device doesn't exist or can't be used, or if two
/// replicas use one GPU.
Plan make_plan(const Placement& placement, const Machine& machine, const PlanOptions& options = {});

/// Repeats `plan` on each of `hosts` hosts. Replica r of host h becomes replica h * R + r, where R is the number of
/// replicas per host, with 1 / `hosts` of its share. `processes` stays that of one host; with several stages, all ranks
/// of a host become threads of one process.
Plan on_hosts(Plan plan, int hosts);
/// Whether any stage is on a device other than the CPU.
bool uses_accelerator(const PlanReplica& replica);
/// Whether any replica uses one.
bool uses_accelerator(const Plan& plan);
/// Whether the plan has replicas on other hosts, so that `processes` has fewer ranks than the plan.
bool has_other_hosts(const Plan& plan);

/// `plan` without the replica of `rank`; there must be others. They keep their devices and threads, take over its share
/// in proportion to their own, and are renumbered.
Plan without_replica(Plan plan, int rank);

/// Why this version can't train on the plan; "" = it can.
std::string why_not_runnable(const Plan& plan);

/// The plan for --dry-run, as lines that each end with '\n'.
std::string plan_text(const Plan& plan);

/// The number of CPU threads of the plan on all its hosts, at most the number of this machine's cores. Without a CPU
/// stage, the number of cores.
int cpu_threads(const Plan& plan);

/// "0-3,8" for {0, 1, 2, 3, 8}.
std::string cpu_list_text(const std::vector<int>& cpus);

}  // namespace evener::placement
