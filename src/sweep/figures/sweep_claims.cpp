#include "sweep/figures/sweep_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "report/figures.h"
#include "report/format.h"

namespace evener::sweeps {
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

constexpr const char* kJoulesMetric = "energy_joules";

/// Why nothing may be claimed of these energies; "" = it may.
std::string energy_objection(const SweepCellRuns& a, const SweepCellRuns& b, const SweepFigure& of_a,
                             const SweepFigure& of_b) {
  if (!is_of_energy(of_a.metric)) return "";
  if (of_a.energy != of_b.energy) {
    return fmt::format("the energy of {} is {} and that of {} {}", a.name, record::energy_class_name(of_a.energy),
                       b.name, record::energy_class_name(of_b.energy));
  }
  return a.invalid + b.invalid > 0 ? "joules of a busy machine are not the job's alone" : "";
}

/// `cell` against `base` by a figure, before its p-value is corrected; empty if one of them has no mean of it.
CellClaim compared(const Sweep& sweep, std::size_t base, std::size_t cell, const std::string& name) {
  const SweepCellRuns &first = sweep.cells[base], &second = sweep.cells[cell];
  const SweepFigure *of_first = first.figure(name), *of_second = second.figure(name);
  if (of_first == nullptr || of_second == nullptr || !of_first->mean.mean || !of_second->mean.mean) return {};
  CellClaim claim = compare_cells(first, second, *of_first, *of_second, sweep.record.first_stage()).claim;
  if (const std::string objection = energy_objection(first, second, *of_first, *of_second); !objection.empty()) {
    claim.p.reset();
    claim.reason = objection;
  }
  return claim;
}

/// The cells of a job that have the figure, the best first by their means, and how each two compare.
JobClaim compared_by(const Sweep& sweep, std::size_t job, const std::string& figure) {
  JobClaim claim;
  claim.figure = figure;
  for (std::size_t cell = 0; cell < sweep.cells.size(); ++cell) {
    const SweepFigure* own = sweep.cells[cell].figure(figure);
    if (sweep.cells[cell].job == job && sweep.cells[cell].record && own != nullptr && own->mean.mean) {
      claim.cells.push_back(cell);
    }
  }
  for (const std::size_t base : claim.cells) {
    for (const std::size_t cell : claim.cells) {
      if (base < cell) claim.pairs[{base, cell}] = compared(sweep, base, cell, figure);
    }
  }
  std::ranges::stable_sort(claim.cells, [&](std::size_t a, std::size_t b) {
    const SweepFigure &of_a = *sweep.cells[a].figure(figure), &of_b = *sweep.cells[b].figure(figure);
    return of_a.metric.better == Better::kHigher ? *of_a.mean.mean > *of_b.mean.mean
                                                 : *of_a.mean.mean < *of_b.mean.mean;
  });
  return claim;
}

/// Corrects the p-values of all pairs together, and decides them.
void decide_all(Sweep& sweep) {
  std::vector<CellClaim*> family;
  std::vector<std::optional<double>> p;
  for (std::vector<JobClaim>* jobs : {&sweep.jobs, &sweep.energy_jobs}) {
    for (JobClaim& job : *jobs) {
      for (auto& [cells, claim] : job.pairs) {
        if (!claim.p) continue;
        family.push_back(&claim);
        p.push_back(claim.p);
      }
    }
  }
  const auto corrected = record::corrected_for_number(p);
  for (std::size_t n = 0; n < family.size(); ++n) {
    family[n]->p = corrected[n];
    decide(*family[n]);
  }
  sweep.claims = family.size();
}

/// Names the best cell, and those that it isn't told apart from, by the verdicts of the pairs.
void find_best(JobClaim& job) {
  const auto beats = [&](std::size_t cell, std::size_t other) {
    return job.claim(other, cell).verdict == record::Verdict::kFaster;
  };
  const auto is_beaten = [&](std::size_t cell) {
    return std::ranges::any_of(job.cells, [&](std::size_t other) { return beats(other, cell); });
  };
  // At equal load a cell with a worse mean may be the better one.
  const auto unbeaten = std::ranges::find_if_not(job.cells, is_beaten);
  if (unbeaten != job.cells.end()) std::rotate(job.cells.begin(), unbeaten, unbeaten + 1);
  const std::size_t best = job.cells.front();
  // What any cell beats isn't the best, even where the best one itself isn't told apart from it.
  for (const std::size_t cell : job.cells) {
    if (cell == best || !is_beaten(cell)) job.leaders.push_back(cell);
  }
  const auto rest = std::ranges::find_if(job.cells, [&](std::size_t n) { return n != best && !beats(best, n); });
  if (job.leaders.size() == 1 && rest != job.cells.end()) job.leaders.push_back(*rest);
  bool is_known = job.cells.size() > 1;
  double largest = 0;
  for (const std::size_t cell : job.cells) {
    if (cell == best) continue;
    const CellClaim claim = job.claim(cell, best);
    job.beside = std::max(job.beside, claim.beside);
    const bool is_objected = claim.interval && (!claim.p || (claim.unseen && !beats(best, cell)));
    if (is_objected && job.objection.empty()) job.objection = claim.reason;
    is_known = is_known && claim.p;
    largest = std::max(largest, claim.p.value_or(1));
  }
  if (is_known) job.p = largest;
  if (job.cells.size() > 1 && job.leaders.size() == 1) job.winner = best;
}

std::optional<std::size_t> runs_to_decide(const Sweep& sweep, const CellClaim& claim, std::size_t at_once = 1) {
  record::RunComparison seen;
  seen.ratio = claim.speedup;
  seen.deviation = claim.deviation;
  return record::runs_to_decide(seen, static_cast<double>(sweep.claims), at_once);
}

/// Gives each cell's row its claim against the job's first cell, and says how many runs would decide what is undecided:
/// that, and which of the leaders is best.
void tell_rows(Sweep& sweep, JobClaim& job) {
  const std::size_t base = std::ranges::min(job.cells);
  for (const std::size_t cell : job.cells) {
    if (cell == base) continue;
    CellClaim& claim = sweep.cells[cell].claim;
    claim = job.claim(base, cell);
    const bool is_open = claim.p && claim.verdict == record::Verdict::kUndecided && !claim.unseen;
    if (is_open) claim.to_decide = runs_to_decide(sweep, claim);
  }
  if (job.winner || !job.p || !job.objection.empty()) return;
  std::size_t most = 0;
  for (std::size_t n = 1; n < job.leaders.size(); ++n) {
    const auto runs = runs_to_decide(sweep, job.claim(job.leaders[n], job.leaders[0]), job.leaders.size() - 1);
    if (!runs) return;
    most = std::max(most, *runs);
  }
  if (most > 0) job.to_decide = most;
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

/// The whole of which the figure is the median; null without one.
const SweepFigure* whole_of(const SweepCellRuns& cell, const record::Metric& metric) {
  const SweepFigure* whole = metric.name == record::kMedianSpeed ? cell.figure(record::kOverallSpeed) : nullptr;
  return whole == nullptr || whole->values.empty() ? nullptr : whole;
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

ComparedCells compare_cells(const SweepCellRuns& base, const SweepCellRuns& cell, const SweepFigure& of_base,
                            const SweepFigure& of_cell, std::size_t first_stage) {
  const RunComparison comparison = compare_beside_load(base, cell, of_base, of_cell, first_stage);
  CellClaim claim{.speedup = comparison.ratio, .interval = comparison.interval, .deviation = comparison.deviation};
  claim.beside = beside_others(base, cell);
  claim.at_equal_load = comparison.at_equal;
  claim.reason = objection_to(base, cell, comparison);
  if (!claim.reason.empty()) return {comparison, claim};
  claim.p = comparison.p;
  claim.reason = comparison.reason;
  const SweepFigure* const base_whole = whole_of(base, of_base.metric);
  const SweepFigure* const cell_whole = whole_of(cell, of_cell.metric);
  if (!claim.p || base_whole == nullptr || cell_whole == nullptr) return {comparison, claim};
  const RunComparison by_whole = compare_beside_load(base, cell, *base_whole, *cell_whole, first_stage);
  if (!by_whole.p) return {comparison, claim};
  claim.whole = by_whole.ratio;
  const bool is_same_way = (*claim.speedup > 1) == (*claim.whole > 1);
  const double of_whole = is_same_way ? *by_whole.p : 1;
  claim.unseen = *claim.p < record::kClaimLevel && of_whole >= record::kClaimLevel;
  claim.p = std::max(*claim.p, of_whole);
  return {comparison, claim};
}

CellClaim JobClaim::claim(std::size_t base, std::size_t cell) const {
  const auto found = pairs.find({std::min(base, cell), std::max(base, cell)});
  if (found == pairs.end()) return {};
  CellClaim claim = found->second;
  claim.base = base;
  if (base < cell) return claim;
  if (claim.speedup) claim.speedup = 1 / *claim.speedup;
  if (claim.whole) claim.whole = 1 / *claim.whole;
  if (claim.interval) claim.interval = record::Interval{1 / claim.interval->high, 1 / claim.interval->low};
  if (claim.verdict != record::Verdict::kUndecided) {
    const bool was_faster = claim.verdict == record::Verdict::kFaster;
    claim.verdict = was_faster ? record::Verdict::kSlower : record::Verdict::kFaster;
  }
  return claim;
}

void decide(CellClaim& claim) {
  if (!claim.speedup || !claim.p) return;
  if (*claim.p < record::kClaimLevel) {
    claim.verdict = *claim.speedup > 1 ? record::Verdict::kFaster : record::Verdict::kSlower;
    return;
  }
  const bool holds_one = claim.interval && claim.interval->low <= 1 && claim.interval->high >= 1;
  claim.reason = holds_one      ? "the interval contains 1"
                 : claim.unseen ? fmt::format("all images over all seconds show {}x: {}",
                                              report::number_text(*claim.whole), record::kUnseenByMedians)
                                : "chance alone may do this among so many comparisons";
}

void make_claims(Sweep& sweep) {
  sweep.jobs.clear();
  sweep.energy_jobs.clear();
  sweep.main_figure = main_figure_of(sweep);
  if (sweep.main_figure.empty()) return;
  std::size_t jobs = 0;
  for (const SweepCellRuns& cell : sweep.cells) jobs = std::max(jobs, cell.job + 1);
  for (std::size_t job = 0; job < jobs; ++job) {
    JobClaim by_main = compared_by(sweep, job, sweep.main_figure), by_energy = compared_by(sweep, job, kJoulesMetric);
    if (!by_main.cells.empty()) sweep.jobs.push_back(std::move(by_main));
    if (by_energy.cells.size() > 1) sweep.energy_jobs.push_back(std::move(by_energy));
  }
  decide_all(sweep);
  for (JobClaim& job : sweep.energy_jobs) find_best(job);
  for (JobClaim& job : sweep.jobs) {
    find_best(job);
    tell_rows(sweep, job);
  }
}

std::vector<bool> front_of(const Sweep& sweep, const std::string& first, const std::string& second) {
  const std::size_t cells = sweep.cells.size();
  const double claims = static_cast<double>(cells) * static_cast<double>(cells - 1);  // each pair by both figures
  const auto is_better = [&](const CellClaim& claim) {
    return claim.p && *claim.speedup > 1 && *claim.p * claims < record::kClaimLevel;
  };
  std::vector<bool> front;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    bool is_front = std::ranges::all_of(std::array{first, second}, [&](const std::string& name) {
      const SweepFigure* figure = sweep.cells[cell].figure(name);
      return figure != nullptr && figure->mean.mean;
    });
    for (std::size_t other = 0; is_front && other < cells; ++other) {
      if (other == cell) continue;
      const CellClaim by_first = compared(sweep, cell, other, first), by_second = compared(sweep, cell, other, second);
      is_front = !(is_better(by_first) && by_second.speedup.value_or(0) >= 1) &&
                 !(is_better(by_second) && by_first.speedup.value_or(0) >= 1);
    }
    front.push_back(is_front);
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
                                       report::listed(others), sweep.cells[cells.front()].name);
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
      report::load_text(percent), other_threads ? ", and numbers of threads may compare otherwise on a quiet one" : "",
      at_equal ? " Where the load differed within blocks, ratios are those at equal load." : "");
}

std::string objection_to(const SweepCellRuns& baseline, const SweepCellRuns& candidate,
                         const record::RunComparison& comparison) {
  if (baseline.not_comparable + candidate.not_comparable > 0) return "the measurements are INVALID";
  if (!comparison.p || beside_others(baseline, candidate) == BesideOthers::kNo) return "";
  const bool is_faster = *comparison.ratio > 1;
  const SweepCellRuns &slower = is_faster ? baseline : candidate, &faster = is_faster ? candidate : baseline;
  const auto p = record::p_of_excess(faster.others_percent, slower.others_percent);
  if (!p) return "how much other programs took beside each isn't known";
  if (*p >= record::kClaimLevel || pushed_aside(slower, faster)) return "";
  return fmt::format(
      "other programs took {:.0f} % of the CPUs beside {} and {:.0f} % beside {}, which may be the cause",
      mean_load(slower), slower.name, mean_load(faster), faster.name);
}

}  // namespace evener::sweeps
