#include "record/validity.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "base/statistics.h"
#include "record/record_kind.h"

namespace evener::record {
namespace {

using Reasons = std::vector<ValidityReason>;

constexpr const char* kOtherLoad = "other load";
constexpr const char* kStolenTime = "stolen time";
constexpr const char* kUnknownLoad = "unknown load";

// Runs of a block are made one after the other in an order drawn by chance. So what comes and goes with time disturbs
// their ratio by chance alone, and the spread over the blocks tells by how much. What belongs to a run itself doesn't.
constexpr ValidityRule kRules[] = {
    {"energy", Spoils::kEnergy, ""},
    {kOtherLoad, Spoils::kFigures, kBesideOthers},
    {kStolenTime, Spoils::kFigures, kBesideOthers},
    {kUnknownLoad, Spoils::kFigures, ""},
    {"noise", Spoils::kFigures, "with much noise"},
    {"too few samples", Spoils::kFigures, "with few samples"},  // a sweep's sample is a run
    // A processor that is hot, or memory that is full, depends on the cell that ran before, and on what a cell needs.
    {"throttling", Spoils::kComparisons, ""},
    {"swap", Spoils::kComparisons, ""},
    // Something else was measured than asked for, or only a part of it.
    {"fallback", Spoils::kComparisons, ""},
    {"build", Spoils::kComparisons, ""},
    {"unfinished", Spoils::kComparisons, ""},
    {"lost session", Spoils::kComparisons, ""},
    // Of scenarios: the percentile or the rate isn't one that the scenario may tell.
    {"too few queries", Spoils::kComparisons, ""},
    {"too short", Spoils::kComparisons, ""},
    {"latency limit", Spoils::kComparisons, ""},
};

/// Converts percent of one CPU to percent of all CPUs together.
double of_machine(double percent_of_one, const Record& record) {
  return percent_of_one / std::max(1, record.machine.online_cpus);
}

ValidityReason unfinished(Status status) {
  switch (status) {
    case Status::kRunning:
      return {"unfinished", "the run has not ended", "wait for its end"};
    case Status::kKilled:
      return {"unfinished", "the run ended without finishing: it was killed, or its machine stopped", "resume it"};
    case Status::kFailed:
      return {"unfinished", "the run failed; its notes say why", "mend that, and resume it"};
    case Status::kDiverged:
      return {"unfinished", "the run diverged", "lower --lr, or use --precision fp32"};
    default:
      return {"unfinished", fmt::format("the run was {}", status_name(status)), "resume it"};
  }
}

void judge_end(const Record& record, Reasons& reasons) {
  const bool known =
      std::ranges::any_of(reasons, [](const ValidityReason& reason) { return reason.rule == "unfinished"; });
  if (record.status != Status::kDone && !known) reasons.push_back(unfinished(record.status));
  for (std::size_t n = 0; n + 1 < record.sessions.size(); ++n) {
    const Status status = record.sessions[n].status;
    if (status != Status::kKilled && status != Status::kFailed) continue;
    reasons.push_back(
        {"lost session",
         fmt::format("session {} of {} was {}: not all of its time and load is known, and its last steps may have been "
                     "done twice",
                     n + 1, record.sessions.size(), status == Status::kKilled ? "killed" : "ended by an error"),
         "run it in one go"});
  }
}

void judge_other_load(const Record& record, const ValidityLimits& limits, Reasons& reasons) {
  if (record.cpu.others_percent) {
    const double others = of_machine(record.cpu.others_percent->mean, record);
    if (others > limits.others_percent) {
      reasons.push_back({kOtherLoad,
                         fmt::format("other processes used {:.1f} % of the machine's CPUs (limit {:g} %)", others,
                                     limits.others_percent),
                         "end them and run again"});
    }
  } else if (record.status == Status::kDone) {
    reasons.push_back({kUnknownLoad,
                       "the run was too short to see what other programs took, or /proc could not be read",
                       kind_of(record).do_more});
  }
  if (record.cpu.steal_percent_mean) {
    const double steal = of_machine(*record.cpu.steal_percent_mean, record);
    if (steal > limits.steal_percent) {
      reasons.push_back({kStolenTime,
                         fmt::format("the host of this virtual machine kept {:.1f} % of its CPU time (limit {:g} %)",
                                     steal, limits.steal_percent),
                         "run again when the host is less busy, or on a machine of your own"});
    }
  }
}

void judge_machine(const Record& record, const ValidityLimits& limits, Reasons& reasons) {
  if (static_cast<double>(record.memory.swap_bytes_max.value_or(0)) > limits.swap_bytes) {
    reasons.push_back({"swap",
                       fmt::format("{} of the program were swapped out", bytes_text(*record.memory.swap_bytes_max)),
                       "use a smaller --batch or --size, or end other programs"});
  }
  if (record.cpu.throttle_events.value_or(0) > 0) {
    reasons.push_back({"throttling",
                       fmt::format("the processor slowed down because of heat {} times", *record.cpu.throttle_events),
                       "cool the machine, let it rest between runs, or set a power limit"});
  }
  for (const std::string& fallback : record.fallbacks) {
    reasons.push_back({"fallback", fallback, "ask for what was used, or make what was asked for available"});
  }
  const auto build = record.versions.find("build");
  if (build != record.versions.end() && build->second != "optimised") {
    reasons.push_back({"build", "the program was built without optimisation", "build the release preset"});
  }
}

/// A sensor that was lost makes the energy absent, which the user expected to get: so the run is INVALID. It is too
/// where two sources contradict each other, as nothing says which of them is right.
void judge_energy(const Record& record, Reasons& reasons) {
  for (const std::string& lost : record.energy.lost) {
    reasons.push_back({"energy", lost,
                       "run again without letting the machine sleep, with the sensor in reach; evener doctor names all "
                       "sensors"});
  }
  for (const MeterCheck& check : record.energy.checks) {
    if (check.agreement != Agreement::kDisagree) continue;
    reasons.push_back({"energy", contradiction_text(check),
                       "look at what each of them is connected to and at its unit, or leave one of them out"});
  }
}

void judge_samples(const Record& record, const ValidityLimits& limits, Reasons& reasons) {
  if (!record.scenario.empty()) return;  // scenarios have their own rules for the amount
  const std::vector<Metric> metrics = metrics_of(record);
  const Metric* speed = main_speed(metrics);
  if (speed == nullptr) return;  // the task measures no speed
  if (!speed->value) {
    reasons.push_back(
        {"too few samples",
         speed->reason.empty() ? speed->name + " is missing" : fmt::format("no {}: {}", speed->unit, speed->reason),
         kind_of(record).do_more});
    return;
  }
  if (speed->samples.size() < kFewestSamples) {
    reasons.push_back({"too few samples",
                       fmt::format("{} rests on too few {}: {} (at least {})", speed->unit, speed->over,
                                   speed->samples.size(), kFewestSamples),
                       kind_of(record).do_more});
    return;
  }
  const double spread = *quantile(speed->samples, 0.75) - *quantile(speed->samples, 0.25);
  if (spread > limits.quartile_spread * *speed->value) {
    reasons.push_back({"noise",
                       fmt::format("the middle half of the {} spreads over {:.0f} % of the median (limit {:.0f} %)",
                                   speed->over, 100 * spread / *speed->value, 100 * limits.quartile_spread),
                       std::string("look at the CPU plot for other work, and ") + kind_of(record).do_more});
  }
}

}  // namespace

const ValidityRule& validity_rule(const std::string& name) {
  static constexpr ValidityRule kUnknown = {"", Spoils::kComparisons, ""};
  const auto* const rule = std::ranges::find(kRules, name, &ValidityRule::name);
  return rule == std::end(kRules) ? kUnknown : *rule;
}

std::optional<Spoils> spoiled_by(const Validity& validity) {
  std::optional<Spoils> most;
  for (const ValidityReason& reason : validity.reasons)
    most = std::max(most, std::optional(validity_rule(reason.rule).spoils));
  return most;
}

bool is_beside_others(const Validity& validity) {
  return std::ranges::any_of(validity.reasons, [](const ValidityReason& reason) {
    return reason.rule == kOtherLoad || reason.rule == kStolenTime;
  });
}

std::optional<double> others_load_percent(const Record& record) {
  if (!record.cpu.others_percent) return std::nullopt;
  return of_machine(record.cpu.others_percent->mean + record.cpu.steal_percent_mean.value_or(0), record);
}

Validity judge(const Record& record, const ValidityLimits& limits) {
  Validity validity;
  validity.reasons = record.validity.reasons;
  judge_end(record, validity.reasons);
  judge_other_load(record, limits, validity.reasons);
  judge_machine(record, limits, validity.reasons);
  judge_energy(record, validity.reasons);
  judge_samples(record, limits, validity.reasons);
  validity.valid = validity.reasons.empty();
  return validity;
}

}  // namespace evener::record
