#include "placement/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "base/names.h"
#include "base/numbers.h"
#include "base/plural.h"

namespace evener::placement {
namespace {

// A stage of the plan with the stage of the text it came from.
struct Resolved {
  const Stage* stage;
  PlanStage* planned;
};

std::string device_list(const AcceleratorList& list) {
  std::string text;
  for (const Accelerator& device : list.devices) {
    text += (text.empty() ? "" : ", ") + device_text(device.device) + " (" + device.name + ")";
  }
  return text;
}

class PlanBuilder {
 public:
  PlanBuilder(const Placement& placement, const Machine& machine, const PlanOptions& options)
      : placement_(placement), machine_(machine), options_(options) {}

  Plan make() {
    if (placement_.automatic) {
      throw UsageError(
          "placement 'auto' is chosen by measuring a training (evener plan, evener train); name one: 'cpu' (" +
          std::to_string(machine_.cores) + " cores), 'cpu/t1', ...");
    }
    plan_.text = placement_.text;
    plan_.precision = options_.precision;
    plan_.cores = machine_.cores;
    for (const ReplicaGroup& group : placement_.replicas) add_group(group);
    refuse_unequal_stages();
    refuse_shared_devices();
    divide_threads();
    assign_cpus();
    divide_batch();
    group_into_processes();
    add_notes();
    return std::move(plan_);
  }

 private:
  [[noreturn]] void refuse(const Stage& stage, const std::string& reason) const {
    throw placement_error(placement_.text, stage.column, "can't be used here", reason);
  }

  void add_group(const ReplicaGroup& group) {
    const Stage& first = group.stages.front();
    const int copies = first.all ? static_cast<int>(machine_.cuda.devices.size()) : useful_copies(group);
    if (first.all && copies == 0) refuse(first, "there is no CUDA GPU: " + absence(machine_.cuda));
    for (int copy = 0; copy < copies; ++copy) {
      PlanReplica replica;
      replica.rank = static_cast<int>(plan_.replicas.size());
      for (const Stage& stage : group.stages) {
        replica.stages.push_back(resolve(stage, copy));
        sources_.push_back(&stage);
      }
      plan_.replicas.push_back(std::move(replica));
    }
  }

  // CPU replicas that share CPUs wait for each other to be scheduled several times in a step: four processes on two
  // CPUs trained a perceptron at 0.4 times the speed of two processes.
  int useful_copies(const ReplicaGroup& group) {
    if (group.count == 1 || options_.oversubscribe || (options_.shares && !options_.shares->weights.empty())) {
      return group.count;
    }
    int threads = 0, cpus = 0;
    for (const Stage& stage : group.stages) {
      if (stage.kind != DeviceKind::kCpu) return group.count;
      threads += stage.threads.value_or(1);
    }
    for (const auto& core : machine_.cpu.cores) cpus += static_cast<int>(core.size());
    if (machine_.cpu.quota_cpus > 0) cpus = std::min(cpus, machine_.cores);
    const int copies = std::clamp(cpus / threads, 1, group.count);
    if (copies < group.count) {
      plan_.fallbacks.push_back(std::to_string(copies) + " of " + std::to_string(group.count) + " replicas: there " +
                                (cpus == 1 ? "is 1 CPU" : "are " + std::to_string(cpus) + " CPUs") +
                                ", and more would only take turns on them; --oversubscribe takes all");
    }
    return copies;
  }

  static std::string absence(const AcceleratorList& list) {
    return list.reason + (list.remedy.empty() ? "" : "; " + list.remedy);
  }

  // `copy` is the number of the replica within "N x": devices without a number count up with it.
  PlanStage resolve(const Stage& stage, int copy) const {
    PlanStage planned;
    planned.factor = stage.factor.value_or(1);
    planned.device.kind = stage.kind;
    if (stage.kind == DeviceKind::kCpu) {
      planned.device_name = machine_.cpu.model;
      planned.threads = stage.threads.value_or(0);  // 0: divide_threads() fills it in
      return planned;
    }
    planned.device.index = stage.index.value_or(copy);
    const AcceleratorList& list = machine_.accelerators(stage.kind);
    const std::string name = device_text(planned.device);
    if (list.devices.empty()) refuse(stage, "there is no " + name + ": " + absence(list));
    if (planned.device.index >= static_cast<int>(list.devices.size())) {
      refuse(stage, "there is no " + name + "; this machine has " + device_list(list) +
                        (stage.index ? "" : " (each replica needs a device of its own)"));
    }
    const Accelerator& device = list.devices[static_cast<std::size_t>(planned.device.index)];
    if (!device.problem.empty()) refuse(stage, name + " (" + device.name + ") can't be used: " + device.problem);
    planned.device_name = device.name;
    planned.uuid = device.uuid;
    return planned;
  }

  // All stages of the plan with their sources, in order.
  std::vector<Resolved> stages() {
    std::vector<Resolved> all;
    for (PlanReplica& replica : plan_.replicas) {
      for (PlanStage& stage : replica.stages) all.push_back({sources_[all.size()], &stage});
    }
    return all;
  }

  // All replicas must have equally many stages, because each stage adds up gradients with the same stage of the others.
  void refuse_unequal_stages() const {
    for (const ReplicaGroup& group : placement_.replicas) {
      if (group.stages.size() == placement_.replicas.front().stages.size()) continue;
      refuse(group.stages.front(), "all replicas are divided into equally many stages, and the first one has " +
                                       std::to_string(placement_.replicas.front().stages.size()));
    }
  }

  void refuse_shared_devices() {
    std::set<Device> seen;
    for (const auto& [stage, planned] : stages()) {
      if (planned->device.kind == DeviceKind::kCpu || seen.insert(planned->device).second) continue;
      refuse(*stage, device_text(planned->device) +
                         " is in use by another replica or stage already, and sharing a device only makes both slower; "
                         "name another one, or leave it out");
    }
  }

  void divide_threads() {
    std::vector<PlanStage*> open;  // CPU stages that have no number of threads yet
    int given = 0;
    for (const auto& [stage, planned] : stages()) {
      if (planned->device.kind != DeviceKind::kCpu)
        ++driven_devices_;
      else if (planned->threads == 0)
        open.push_back(planned);
      else
        given += planned->threads;
    }
    const int left = std::max(0, machine_.cores - driven_devices_ - given);
    const int stages_open = static_cast<int>(open.size());
    for (int i = 0; i < stages_open; ++i) {
      open[static_cast<std::size_t>(i)]->threads = std::max(1, left / stages_open + (i < left % stages_open ? 1 : 0));
    }
    for (const auto& [stage, planned] : stages()) {
      if (planned->device.kind == DeviceKind::kCpu) computing_threads_ += planned->threads;
    }
    const int wanted = computing_threads_ + driven_devices_;
    if (wanted <= machine_.cores) return;
    std::string text = counted(computing_threads_, "computing thread");
    if (driven_devices_ > 0) text += " and " + counted(driven_devices_, "thread") + " driving GPUs";
    text += " on " + counted(machine_.cores, "core") + ": they get in each other's way";
    if (machine_.cpu.quota_cpus > 0) text += " (the CPU quota here is " + si_text(machine_.cpu.quota_cpus) + ")";
    plan_.warnings.push_back(text);
  }

  // Pins stages that could get in each other's way, each to cores of its own: one thread per core, and second hardware
  // threads only when the cores run out. A single stage that uses part of the cores isn't pinned, or two programs on
  // one machine would both choose core 0. Nothing is pinned under a CPU quota either, which limits time rather than
  // cores.
  void assign_cpus() {
    const auto& cores = machine_.cpu.cores;
    std::vector<int> slots;
    std::size_t most = 0;
    for (const auto& core : cores) most = std::max(most, core.size());
    for (std::size_t thread = 0; thread < most; ++thread) {
      for (const auto& core : cores) {
        if (thread < core.size()) slots.push_back(core[thread]);
      }
    }
    const std::size_t wanted = static_cast<std::size_t>(computing_threads_ + driven_devices_);
    const bool by_quota = machine_.cores < static_cast<int>(cores.size());
    const bool alone = sources_.size() == 1 && wanted < cores.size();
    if (wanted > slots.size() || by_quota || alone) return;
    auto next = slots.begin();
    for (const bool cpu_stages : {true, false}) {  // stages that drive a GPU get the last cores
      for (const auto& [stage, planned] : stages()) {
        if ((planned->device.kind == DeviceKind::kCpu) != cpu_stages) continue;
        planned->cpus.assign(next, next + planned->threads);
        next += planned->threads;
      }
    }
  }

  static bool alike(const PlanReplica& a, const PlanReplica& b) {
    return std::ranges::equal(a.stages, b.stages, [](const PlanStage& x, const PlanStage& y) {
      return x.device.kind == y.device.kind && x.device_name == y.device_name && x.threads == y.threads &&
             x.factor == y.factor;
    });
  }

  void divide_batch() {
    auto& replicas = plan_.replicas;
    const bool same = std::ranges::all_of(replicas, [&](const auto& r) { return alike(r, replicas[0]); });
    const bool staged = replicas.front().stages.size() > 1;
    ShareRule shares = options_.shares.value_or(ShareRule{!same && !staged, {}});
    if (staged && shares.measured) {
      throw UsageError("--shares measured is for replicas of one stage; give those of '" + placement_.text +
                       "' equal shares, or weights such as 2:1");
    }
    if (replicas.size() == 1 && shares.weights.empty()) shares = {};  // the only replica gets every sample
    if (shares.measured) return;
    if (shares.weights.empty()) shares.weights.assign(replicas.size(), 1);
    if (shares.weights.size() != replicas.size()) {
      throw UsageError("--shares gives " + std::to_string(shares.weights.size()) + " weights, but placement '" +
                       placement_.text + "' has " + std::to_string(replicas.size()) +
                       (replicas.size() == 1 ? " replica here" : " replicas here"));
    }
    double sum = 0;
    for (const double weight : shares.weights) sum += weight;
    for (std::size_t i = 0; i < replicas.size(); ++i) replicas[i].share = shares.weights[i] / sum;
  }

  void group_into_processes() {
    const auto& replicas = plan_.replicas;
    const bool pair = rank_count(plan_) == 2 && replicas.size() == 2 &&
                      uses_accelerator(replicas[0]) != uses_accelerator(replicas[1]);
    const bool threads = options_.replicas == ReplicasAs::kThreads || (options_.replicas == ReplicasAs::kAuto && pair);
    if (threads) plan_.processes.emplace_back();
    for (int rank = 0; rank < rank_count(plan_); ++rank) {
      if (!threads) plan_.processes.emplace_back();
      plan_.processes.back().ranks.push_back(rank);
    }
  }

  void add_notes() {
    bool cpu = false, emulated = false;
    for (const auto& [stage, planned] : stages()) {
      cpu = cpu || planned->device.kind == DeviceKind::kCpu;
      emulated = emulated || planned->factor < 1;
    }
    if (cpu && options_.precision == "fp16") plan_.notes.emplace_back("fp16 is computed as bf16 on CPU replicas");
    if (cpu && options_.precision == "tf32") plan_.notes.emplace_back("tf32 is computed as fp32 on CPU replicas");
    const auto& features = machine_.cpu.features;
    const auto has = [&](const char* name) { return std::ranges::find(features, name) != features.end(); };
    if (cpu && (options_.precision == "bf16" || options_.precision == "fp16") && !has("avx512_bf16") &&
        !has("amx_bf16")) {
      plan_.warnings.push_back("this CPU has no bf16 instructions, so bf16 is slower than fp32 on it");
    }
    if (emulated) plan_.notes.emplace_back("'@' emulates slower devices: for tests; the record says so");
  }

  const Placement& placement_;
  const Machine& machine_;
  const PlanOptions& options_;
  Plan plan_;
  std::vector<const Stage*> sources_;  // of all stages of plan_, in order
  int driven_devices_ = 0;             // devices other than the CPU, each driven by one thread
  int computing_threads_ = 0;
};

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
  return fmt::format("{:.3g} % of the batch", 100 * *replica.share);
}

std::string rank_list(const std::vector<int>& ranks) {
  return std::string(ranks.size() == 1 ? "rank " : "ranks ") + cpu_list_text(ranks) +
         (ranks.size() == 1 ? "" : ", each a thread");
}

// "computing on 'intel' devices and computing on 'npu' devices are not there yet"; "" if all is there.
std::string missing_parts(const Plan& plan) {
  std::vector<std::string> reasons;
  for (const auto kind : {DeviceKind::kIntel, DeviceKind::kNpu}) {
    const auto is_of_kind = [kind](const PlanStage& stage) { return stage.device.kind == kind; };
    if (std::ranges::any_of(plan.replicas, [&](const PlanReplica& replica) {
          return std::ranges::any_of(replica.stages, is_of_kind);
        })) {
      reasons.push_back(std::string("computing on '") + device_kind_name(kind) + "' devices");
    }
  }
  if (reasons.empty()) return "";
  return reasons.front() + (reasons.size() == 1 ? " is" : " and " + reasons.back() + " are") + " not there yet";
}

}  // namespace

ReplicasAs parse_replicas_as(const std::string& text) {
  constexpr const char* kNames[] = {"auto", "processes", "threads"};
  return value_named<ReplicasAs>(kNames, "--replicas", text);
}

ShareRule parse_share_rule(const std::string& text) {
  if (text == "measured") return {true, {}};
  if (text == "equal") return {false, {}};
  ShareRule shares;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ':');) {
    const double weight = to_number<double>(part).value_or(0);
    if (!std::isfinite(weight) || weight <= 0) {
      throw UsageError("--shares '" + text + "' is not understood at '" + part +
                       "': it is 'measured', 'equal' or positive weights, as in 12:1");
    }
    shares.weights.push_back(weight);
  }
  if (shares.weights.empty() || text.ends_with(':')) {
    throw UsageError("--shares '" + text + "' is not understood: it is 'measured', 'equal' or weights, as in 12:1");
  }
  return shares;
}

Plan make_plan(const Placement& placement, const Machine& machine, const PlanOptions& options) {
  return PlanBuilder(placement, machine, options).make();
}

Plan on_hosts(Plan plan, int hosts) {
  const std::vector<PlanReplica> of_one = plan.replicas;
  plan.replicas.clear();
  for (int host = 0; host < hosts; ++host) {
    for (PlanReplica replica : of_one) {
      replica.rank += host * static_cast<int>(of_one.size());
      if (replica.share) *replica.share /= hosts;
      if (host > 0) std::ranges::for_each(replica.stages, [](PlanStage& stage) { stage.uuid.clear(); });
      plan.replicas.push_back(std::move(replica));
    }
  }
  if (stage_count(plan) == 1 || hosts == 1 || plan.processes.size() == 1) return plan;
  // Each stage adds its gradients up with the same stage on other hosts, and only one process of a host talks to the
  // other hosts: so all stages have to be threads of that process.
  PlanProcess all;
  for (const PlanProcess& process : plan.processes) {
    all.ranks.insert(all.ranks.end(), process.ranks.begin(), process.ranks.end());
  }
  plan.processes = {std::move(all)};
  plan.notes.emplace_back("on several hosts all stages of a host are threads of one process");
  return plan;
}

bool uses_accelerator(const PlanReplica& replica) {
  return std::ranges::any_of(replica.stages,
                             [](const PlanStage& stage) { return stage.device.kind != DeviceKind::kCpu; });
}

bool uses_accelerator(const Plan& plan) {
  return std::ranges::any_of(plan.replicas, [](const PlanReplica& replica) { return uses_accelerator(replica); });
}

bool has_other_hosts(const Plan& plan) {
  std::size_t here = 0;
  for (const PlanProcess& process : plan.processes) here += process.ranks.size();
  return static_cast<std::size_t>(rank_count(plan)) > here;
}

int cpu_threads(const Plan& plan) {
  int threads = 0;
  for (const PlanReplica& replica : plan.replicas) {
    for (const PlanStage& stage : replica.stages) {
      if (stage.device.kind == DeviceKind::kCpu) threads += stage.threads;
    }
  }
  return threads == 0 ? plan.cores : std::min(threads, plan.cores);
}

int stage_count(const Plan& plan) {
  return plan.replicas.empty() ? 1 : static_cast<int>(plan.replicas.front().stages.size());
}

int rank_count(const Plan& plan) {
  return static_cast<int>(plan.replicas.size()) * stage_count(plan);
}

const PlanStage& stage_of(const Plan& plan, int rank) {
  const int stages = stage_count(plan);
  return plan.replicas.at(static_cast<std::size_t>(rank / stages)).stages.at(static_cast<std::size_t>(rank % stages));
}

std::string rank_text(const Plan& plan, int rank) {
  const int stages = stage_count(plan);
  const std::string text = "rank " + std::to_string(rank);
  if (stages == 1) return text;
  return text + ", stage " + std::to_string(rank % stages) + " of replica " + std::to_string(rank / stages);
}

Plan without_replica(Plan plan, int rank) {
  plan.replicas.erase(plan.replicas.begin() + rank);
  double shares = 0;
  for (std::size_t i = 0; i < plan.replicas.size(); ++i) {
    plan.replicas[i].rank = static_cast<int>(i);
    shares += plan.replicas[i].share.value_or(0);
  }
  for (PlanReplica& replica : plan.replicas) {
    if (replica.share) *replica.share /= shares;
  }
  for (PlanProcess& process : plan.processes) {
    std::erase(process.ranks, rank);
    for (int& other : process.ranks) other -= other > rank ? 1 : 0;
  }
  std::erase_if(plan.processes, [](const PlanProcess& process) { return process.ranks.empty(); });
  return plan;
}

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
