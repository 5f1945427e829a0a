// The texts about a plan for the user: the output of --dry-run, and the reason why a plan can't be run.
#include <algorithm>
#include <array>
#include <cstdio>

#include "base/names.h"
#include "base/plural.h"
#include "placement/plan.h"

namespace evener::placement {
namespace {

std::string stage_text(const PlanStage& stage) {
  const bool cpu = stage.device.kind == DeviceKind::kCpu;
  std::string text = device_text(stage.device) + " (" + stage.device_name + "), ";
  text += counted(stage.threads, "thread") + (cpu ? "" : " driving it");
  text += stage.cpus.empty() ? ", not pinned" : ", pinned to CPU " + cpu_list_text(stage.cpus);
  if (stage.factor < 1) text += ", slowed to " + si_text(100 * stage.factor) + " % of its speed";
  return text;
}

std::string share_text(const PlanReplica& replica) {
  if (!replica.share) return "share of the batch by measured speed";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g %% of the batch", 100 * *replica.share);
  return text.data();
}

std::string rank_list(const std::vector<int>& ranks) {
  return std::string(ranks.size() == 1 ? "rank " : "ranks ") + cpu_list_text(ranks) +
         (ranks.size() == 1 ? "" : ", each a thread");
}

// "data-parallel training (2 replicas) and computing on 'cuda' devices are not there yet"; "" if all is there.
std::string missing_parts(const Plan& plan) {
  std::vector<std::string> reasons;
  const auto any_stage = [&plan](auto&& test) {
    return std::any_of(plan.replicas.begin(), plan.replicas.end(), [&](const PlanReplica& replica) {
      return std::any_of(replica.stages.begin(), replica.stages.end(), test);
    });
  };
  for (const auto kind : {DeviceKind::kIntel, DeviceKind::kNpu}) {
    if (any_stage([kind](const PlanStage& stage) { return stage.device.kind == kind; })) {
      reasons.push_back(std::string("computing on '") + device_kind_name(kind) + "' devices");
    }
  }
  if (reasons.empty()) return "";
  std::string text;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == reasons.size() ? " and " : ", ") + reasons[i];
  }
  return text + (reasons.size() == 1 ? " is" : " are") + " not there yet";
}

}  // namespace

std::string cpu_list_text(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cpus[i]);
    if (last > i) text += "-" + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

std::vector<std::string> all_warnings(const Plan& plan) {
  std::vector<std::string> all = plan.fallbacks;
  all.insert(all.end(), plan.warnings.begin(), plan.warnings.end());
  return all;
}

std::string plan_text(const Plan& plan) {
  std::string text = "placement  " + plan.text + "\n";
  text += "machine    " + counted(plan.cores, "core") + " to compute with\n";
  text += "precision  " + plan.precision + "\n";
  for (const PlanReplica& replica : plan.replicas) {
    text += "replica " + std::to_string(replica.rank) + "  " + share_text(replica) + "\n";
    for (std::size_t i = 0; i < replica.stages.size(); ++i) {
      text += "  stage " + std::to_string(i) + "  " + stage_text(replica.stages[i]) + "\n";
    }
  }
  for (std::size_t i = 0; i < plan.processes.size(); ++i) {
    text += "process " + std::to_string(i) + "  " + rank_list(plan.processes[i].ranks) + "\n";
  }
  for (const std::string& note : plan.notes) text += "note: " + note + "\n";
  for (const std::string& warning : all_warnings(plan)) text += "warning: " + warning + "\n";
  const std::string missing = missing_parts(plan);
  if (!missing.empty()) text += "can't be run yet: " + missing + "\n";
  return text;
}

std::string why_not_runnable(const Plan& plan) {
  const std::string missing = missing_parts(plan);
  if (missing.empty()) return "";
  return "placement '" + plan.text + "' can't be run yet: " + missing + "; --dry-run shows its plan";
}

}  // namespace evener::placement
