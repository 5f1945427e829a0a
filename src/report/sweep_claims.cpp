#include "report/sweep_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "report/figures.h"
#include "report/format.h"

namespace evener::report {
namespace {

using record::Better;
using record::RunComparison;

/// The figure that cells are compared by: the first speed that all cells have, else the first speed of any cell, else
/// the total time.
std::string main_figure_of(const Sweep& sweep) {
  const auto all_have = [&](const std::string& name) {
    return std::ranges::all_of(sweep.cells, [&](const SweepCellRuns& cell) {
      const SweepFigure* figure = cell.figure(name);
      return cell.figures.empty() || (figure != nullptr && !figure->values.empty());
    });
  };
  std::string first;
  for (const SweepCellRuns& cell : sweep.cells) {
    for (const SweepFigure& figure : cell.figures) {
      if (figure.metric.role != record::MetricRole::kSpeed || figure.values.empty()) continue;
      if (all_have(figure.metric.name)) return figure.metric.name;
      if (first.empty()) first = figure.metric.name;
    }
  }
  if (!first.empty()) return first;
  for (const SweepCellRuns& cell : sweep.cells) {
    const SweepFigure* time = cell.figure("total_s");
    if (time != nullptr && !time->values.empty()) return time->metric.name;
  }
  return "";
}

/// A hypothesis whose p-value is to be corrected, and the place of the corrected value.
struct Hypothesis {
  std::optional<double> p;
  std::optional<double>* corrected;
};

/// The main figure of a cell; null if it has no values.
const SweepFigure* main_of(const Sweep& sweep, std::size_t cell) {
  const SweepFigure* figure = sweep.cells[cell].figure(sweep.main_figure);
  return figure == nullptr || figure->values.empty() ? nullptr : figure;
}

/// The difference of the means, above 0 if a is better than b.
double lead(const SweepFigure& a, const SweepFigure& b) {
  const double difference = *a.mean.mean - *b.mean.mean;
  return a.metric.better == Better::kHigher ? difference : -difference;
}

RunComparison compared(const Sweep& sweep, std::size_t baseline, std::size_t candidate) {
  return compare_beside_load(sweep.cells[baseline], sweep.cells[candidate], *main_of(sweep, baseline),
                             *main_of(sweep, candidate), sweep.record.first_stage());
}

/// The comparison without its p-value, and with the reason, where nothing may be claimed of it. `together`: the number
/// of comparisons that a claim needs together.
RunComparison claimable(const Sweep& sweep, std::size_t baseline, std::size_t candidate, std::size_t together = 1) {
  RunComparison comparison = compared(sweep, baseline, candidate);
  const std::string objection = objection_to(sweep.cells[baseline], sweep.cells[candidate], comparison, together);
  if (objection.empty()) return comparison;
  comparison.p.reset();
  comparison.reason = objection;
  return comparison;
}

void compare_with_base(Sweep& sweep, const JobClaim& job, std::size_t base, std::vector<Hypothesis>& family) {
  for (const std::size_t cell : job.cells) {
    if (cell == base) continue;
    CellClaim& claim = sweep.cells[cell].claim;
    claim = claim_of(sweep.cells[base], sweep.cells[cell], compared(sweep, base, cell));
    claim.base = base;
    if (claim.p) family.push_back({claim.p, &claim.p});
  }
}

/// Fills in the p-value of the claim that the job's best cell is better than all others, if each comparison has one.
void doubt_best(const Sweep& sweep, JobClaim& job) {
  double doubt = 0;
  bool is_known = job.cells.size() > 1;
  for (std::size_t n = 1; n < job.cells.size(); ++n) {
    const RunComparison comparison = claimable(sweep, job.cells[n], job.cells.front(), job.cells.size() - 1);
    job.beside = std::max(job.beside, beside_others(sweep.cells[job.cells[n]], sweep.cells[job.cells.front()]));
    if (comparison.interval && !comparison.p && job.objection.empty()) job.objection = comparison.reason;
    is_known = is_known && comparison.p;
    // At equal load the cell with the best mean may be the worse one.
    doubt = std::max(doubt, comparison.ratio.value_or(1) > 1 ? comparison.p.value_or(1) : 1);
  }
  if (is_known) job.p = doubt;
}

/// The cells of a job that have figures, the best first.
std::vector<std::size_t> ranked_cells(const Sweep& sweep, std::size_t job) {
  std::vector<std::size_t> cells;
  for (std::size_t cell = 0; cell < sweep.cells.size(); ++cell) {
    if (sweep.cells[cell].job == job && sweep.cells[cell].record && main_of(sweep, cell) != nullptr) {
      cells.push_back(cell);
    }
  }
  std::ranges::stable_sort(
      cells, [&](std::size_t a, std::size_t b) { return lead(*main_of(sweep, a), *main_of(sweep, b)) > 0; });
  return cells;
}

/// Of two cells it is the claim of the second against the first that says which is better.
void decide_between_two(const Sweep& sweep, JobClaim& job) {
  const auto [first, second] = std::ranges::minmax(job.cells);
  const CellClaim& claim = sweep.cells[second].claim;
  job.p = claim.p;
  // At equal load the better one may be the one with the worse mean.
  if (claim.verdict == record::Verdict::kFaster) job.cells = {second, first};
  if (claim.verdict == record::Verdict::kSlower) job.cells = {first, second};
}

/// There are two kinds of claims: the corrected family, and which cells are worse than the best. Each kind gets half of
/// the 5 %, so p-values are doubled. If no job has more than two cells both kinds are the same claims.
double kinds_of_claims(const Sweep& sweep) {
  return std::ranges::any_of(sweep.jobs, [](const JobClaim& job) { return job.cells.size() > 2; }) ? 2 : 1;
}

/// Finds the cells that aren't significantly worse than the best one, which is included. The best cell was itself
/// selected from the same runs, so any pair of cells might have been compared: p-values are corrected for the number of
/// all pairs, or of all claims of the sweep if these are more.
void find_leaders(const Sweep& sweep, JobClaim& job) {
  if (job.winner) {
    job.leaders = {*job.winner};
    return;
  }
  const auto cells = static_cast<double>(job.cells.size());
  const double pairs = std::max(cells * (cells - 1) / 2, static_cast<double>(sweep.claims));
  const double kinds = kinds_of_claims(sweep);
  for (const std::size_t cell : job.cells) {
    const RunComparison best = cell == job.cells.front() ? RunComparison() : claimable(sweep, cell, job.cells.front());
    const bool is_beaten = best.p && *best.ratio > 1 && *best.p * pairs * kinds < record::kClaimLevel;
    if (!is_beaten) job.leaders.push_back(cell);
  }
}

/// Computes how many runs would decide the undecided claims: of each cell against the first, and of the best cell
/// against all other leaders together.
void find_runs_to_decide(Sweep& sweep, JobClaim& job, double claims) {
  for (const std::size_t cell : job.cells) {
    CellClaim& claim = sweep.cells[cell].claim;
    if (!claim.base || !claim.p || claim.verdict != record::Verdict::kUndecided) continue;
    claim.to_decide = record::runs_to_decide(compared(sweep, *claim.base, cell), claims);
  }
  if (job.winner || !job.p) return;
  std::size_t most = 0;
  for (std::size_t n = 1; n < job.leaders.size(); ++n) {
    const auto runs =
        record::runs_to_decide(compared(sweep, job.leaders[n], job.leaders[0]), claims, job.leaders.size() - 1);
    if (!runs) return;
    most = std::max(most, *runs);
  }
  if (most > 0) job.to_decide = most;
}

/// Compares `cell` with `to` by a figure, above 1 if `cell` is better; absent if one of them lacks the figure.
std::optional<record::RunComparison> stands(const Sweep& sweep, const SweepCellRuns& to, const SweepCellRuns& cell,
                                            const std::string& name) {
  const SweepFigure *base = to.figure(name), *figure = cell.figure(name);
  if (base == nullptr || figure == nullptr) return std::nullopt;
  return compare_figures(*base, *figure, sweep.record.first_stage());
}

bool is_better(const record::RunComparison& comparison) {
  return comparison.interval && comparison.interval->low > 1;
}

/// A key of what the cell's runs really computed: all resolved options, and the devices used in place of those asked
/// for.
std::string what_ran(const SweepCellRuns& cell) {
  std::string text = fmt::format("{};{};", cell.job, cell.cell.data);
  for (const auto& [name, value] : cell.cell.environment) text += fmt::format("{}={};", name, value);
  for (const auto& [name, value] : cell.record->config) {
    if (name != "on") text += fmt::format("{}={};", name, value);
  }
  for (const record::ReplicaRecord& replica : cell.record->placement.replicas) {
    text += "replica;";
    for (const record::StageRecord& stage : replica.stages) {
      text += fmt::format("{}/{}@{};", stage.device, stage.threads.value_or(0), stage.emulated_speed.value_or(1));
    }
  }
  return text;
}

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

RunComparison compare_figures(const SweepFigure& baseline, const SweepFigure& candidate, std::size_t first_stage) {
  const bool higher = candidate.metric.better == Better::kHigher;
  return higher ? record::compare_runs(baseline.values, candidate.values, first_stage)
                : record::compare_runs(candidate.values, baseline.values, first_stage);
}

CellClaim claim_of(const SweepCellRuns& base, const SweepCellRuns& cell, const RunComparison& comparison) {
  CellClaim claim{.speedup = comparison.ratio, .interval = comparison.interval};
  claim.beside = beside_others(base, cell);
  claim.at_equal_load = comparison.at_equal;
  claim.reason = objection_to(base, cell, comparison);
  if (!claim.reason.empty()) return claim;
  claim.p = comparison.p;
  claim.reason = comparison.reason;
  return claim;
}

void decide(CellClaim& claim) {
  if (!claim.speedup || !claim.p) return;
  if (*claim.p < record::kClaimLevel) {
    claim.verdict = *claim.speedup > 1 ? record::Verdict::kFaster : record::Verdict::kSlower;
    return;
  }
  const bool holds_one = claim.interval && claim.interval->low <= 1 && claim.interval->high >= 1;
  claim.reason = holds_one ? "the interval contains 1" : "chance alone may do this among so many comparisons";
}

void make_claims(Sweep& sweep) {
  sweep.main_figure = main_figure_of(sweep);
  if (sweep.main_figure.empty()) return;
  std::size_t jobs = 0;
  for (const SweepCellRuns& cell : sweep.cells) jobs = std::max(jobs, cell.job + 1);
  for (std::size_t job = 0; job < jobs; ++job) {
    JobClaim claim;
    claim.cells = ranked_cells(sweep, job);
    if (!claim.cells.empty()) sweep.jobs.push_back(std::move(claim));
  }
  std::vector<Hypothesis> family;
  for (JobClaim& job : sweep.jobs) {
    compare_with_base(sweep, job, std::ranges::min(job.cells), family);
    doubt_best(sweep, job);
    if (job.p && job.cells.size() > 2) family.push_back({job.p, &job.p});  // for two cells it is the claim made above
  }
  std::vector<std::optional<double>> p;
  for (const Hypothesis& hypothesis : family) p.push_back(hypothesis.p);
  const auto corrected = record::corrected_for_number(p);
  const double kinds = kinds_of_claims(sweep);
  for (std::size_t n = 0; n < family.size(); ++n) *family[n].corrected = std::min(1.0, kinds * *corrected[n]);
  sweep.claims = family.size();
  for (SweepCellRuns& cell : sweep.cells) decide(cell.claim);
  const double claims = kinds * static_cast<double>(family.size());
  for (JobClaim& job : sweep.jobs) {
    if (job.cells.size() == 2) decide_between_two(sweep, job);
    if (job.p && *job.p < record::kClaimLevel) job.winner = job.cells.front();
    find_leaders(sweep, job);
    find_runs_to_decide(sweep, job, claims);
  }
}

std::vector<bool> front_of(const Sweep& sweep, const std::string& first, const std::string& second) {
  const auto has = [](const SweepCellRuns& cell, const std::string& name) {
    return cell.figure(name) != nullptr && !cell.figure(name)->values.empty();
  };
  std::vector<bool> front;
  for (const SweepCellRuns& cell : sweep.cells) {
    const bool is_beaten = std::ranges::any_of(sweep.cells, [&](const SweepCellRuns& other) {
      const auto by_first = stands(sweep, cell, other, first), by_second = stands(sweep, cell, other, second);
      if (!by_first || !by_second) return false;
      return (is_better(*by_first) && by_second->ratio >= 1) || (is_better(*by_second) && by_first->ratio >= 1);
    });
    front.push_back(has(cell, first) && has(cell, second) && !is_beaten);
  }
  return front;
}

std::vector<std::string> alike_notes(const Sweep& sweep) {
  std::map<std::string, std::vector<std::size_t>> found;
  for (std::size_t n = 0; n < sweep.cells.size(); ++n) {
    const SweepCellRuns& cell = sweep.cells[n];
    if (cell.record && !cell.record->config.empty()) found[what_ran(cell)].push_back(n);
  }
  std::map<std::size_t, std::string> notes;  // by the first cell of each group
  for (const auto& [what, cells] : found) {
    if (cells.size() < 2) continue;
    std::vector<std::string> others;
    for (std::size_t n = 1; n < cells.size(); ++n) others.push_back(sweep.cells[cells[n]].name);
    notes[cells.front()] = fmt::format("{} ran as {}: they computed the same, and what they differ by is chance",
                                       listed(others), sweep.cells[cells.front()].name);
  }
  std::vector<std::string> sentences;
  for (auto& [first, note] : notes) sentences.push_back(std::move(note));
  return sentences;
}

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
