#include "report/sweep_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "report/figures.h"
#include "report/sweep_claims.h"

namespace evener::report {
namespace {

double mean_load(const SweepCellRuns& cell) {
  double sum = 0;
  for (const record::BlockValue& one : cell.others_percent) sum += one.value;
  return cell.others_percent.empty() ? 0 : sum / static_cast<double>(cell.others_percent.size());
}

/// The CPU threads of all replicas and stages.
int threads_of(const SweepCellRuns& cell) {
  int threads = 0;
  if (!cell.record) return threads;
  for (const record::ReplicaRecord& replica : cell.record->placement.replicas) {
    for (const record::StageRecord& stage : replica.stages) threads += stage.threads.value_or(0);
  }
  return threads;
}

/// Whether the faster cell has more threads, and these and what others took beside the slower one are more than the
/// CPUs: then it took CPUs from the others itself.
bool pushed_aside(const SweepCellRuns& slower, const SweepCellRuns& faster) {
  const int cpus = faster.record ? faster.record->machine.online_cpus : 0;
  return threads_of(faster) > threads_of(slower) && threads_of(faster) + mean_load(slower) / 100 * cpus > cpus;
}

}  // namespace

std::optional<double> load_beside(const std::vector<const SweepCellRuns*>& cells) {
  std::size_t beside = 0, known = 0;
  double sum = 0;
  for (const SweepCellRuns* cell : cells) {
    beside += cell->beside_others;
    known += cell->others_percent.size();
    sum += mean_load(*cell) * static_cast<double>(cell->others_percent.size());
  }
  return beside == 0 || known == 0 ? std::nullopt : std::optional(sum / static_cast<double>(known));
}

BesideOthers beside_others(const SweepCellRuns& a, const SweepCellRuns& b) {
  if (a.beside_others + b.beside_others == 0) return BesideOthers::kNo;
  return threads_of(a) == threads_of(b) ? BesideOthers::kYes : BesideOthers::kWithOtherThreads;
}

record::RunComparison compare_beside_load(const SweepCellRuns& baseline, const SweepCellRuns& candidate,
                                          const SweepFigure& of_baseline, const SweepFigure& of_candidate,
                                          std::size_t first_stage) {
  constexpr double kUnequal_percent = 3;  // standard deviation of the difference in a block, in percent of the CPUs
  if (first_stage == 0 && beside_others(baseline, candidate) == BesideOthers::kYes) {
    const bool higher = of_candidate.metric.better == record::Better::kHigher;
    const auto& [first, second] = higher ? std::tie(baseline, candidate) : std::tie(candidate, baseline);
    const auto at_equal = record::compare_runs_at_equal((higher ? of_baseline : of_candidate).values,
                                                        (higher ? of_candidate : of_baseline).values,
                                                        first.others_percent, second.others_percent, kUnequal_percent);
    if (at_equal) return *at_equal;
  }
  return compare_figures(of_baseline, of_candidate, first_stage);
}

std::string beside_text(BesideOthers beside) {
  if (beside == BesideOthers::kNo) return "";
  return beside == BesideOthers::kYes ? ", beside other programs"
                                      : ", beside other programs: on a quiet machine the difference may be another";
}

std::string busy_sentence(double percent, BesideOthers beside, bool at_equal) {
  const bool other_threads = beside == BesideOthers::kWithOtherThreads;
  return fmt::format(
      "Measured {}: comparisons hold for such a machine{}; single images/s, seconds and joules are not to be quoted.{}",
      load_text(percent), other_threads ? ", and numbers of threads may compare otherwise on a quiet one" : "",
      at_equal ? " Where the load differed within blocks, ratios are those at equal load." : "");
}

std::string objection_to(const SweepCellRuns& baseline, const SweepCellRuns& candidate,
                         const record::RunComparison& comparison, std::size_t together) {
  if (baseline.not_comparable + candidate.not_comparable > 0) return "the measurements are INVALID";
  if (!comparison.p || beside_others(baseline, candidate) == BesideOthers::kNo) return "";
  const bool is_faster = *comparison.ratio > 1;
  const SweepCellRuns &slower = is_faster ? baseline : candidate, &faster = is_faster ? candidate : baseline;
  const auto p = record::p_of_excess(faster.others_percent, slower.others_percent);
  if (!p) return "how much other programs took beside each isn't known";
  if (*p * static_cast<double>(together) >= record::kClaimLevel || pushed_aside(slower, faster)) return "";
  return fmt::format(
      "other programs took {:.0f} % of the CPUs beside {} and {:.0f} % beside {}, which may be the cause",
      mean_load(slower), slower.name, mean_load(faster), faster.name);
}

}  // namespace evener::report
