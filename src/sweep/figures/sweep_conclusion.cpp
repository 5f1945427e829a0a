// The conclusion of a sweep in sentences, which name no winner that could be due to noise, and its scaling.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/plural.h"
#include "record/record_kind.h"
#include "report/figures.h"
#include "report/format.h"
#include "sweep/figures/sweep.h"
#include "sweep/figures/sweep_claims.h"

namespace evener::sweeps {
namespace {

using record::WorkersScaling;

/// The number of replicas and of CPU threads of each; 0 unless all replicas are alike and on the CPU.
struct Workers {
  int replicas = 0, threads = 0;
};

Workers workers_of(const record::Record& record) {
  Workers workers;
  for (const record::ReplicaRecord& replica : record.placement.replicas) {
    if (replica.stages.size() != 1 || replica.stages.front().device != "cpu") return {};
    const record::StageRecord& stage = replica.stages.front();
    const int threads = stage.emulated_speed ? 0 : stage.threads.value_or(0);
    if (threads < 1 || (workers.threads != 0 && workers.threads != threads)) return {};
    workers.threads = threads;
    ++workers.replicas;
  }
  return workers;
}

/// The CPUs that all workers share: more threads than this are no additional workers. 0 = unknown.
int cpus_of(const record::MachineRecord& machine) {
  if (!machine.quota_cpus) return machine.logical_cpus;
  return std::min(machine.logical_cpus, static_cast<int>(std::ceil(*machine.quota_cpus)));
}

/// The cell's values on all axes except the placement, as a key: cells with the same text differ only in placement.
std::string others_text(const Sweep& sweep, const SweepCellRuns& cell) {
  std::string text;
  for (const record::SweepAxis& axis : sweep.record.axes) {
    for (const std::string& name : axis.names) {
      const auto value = cell.cell.values.find(name);
      if (name != "on" && axis.steps.size() > 1 && value != cell.cell.values.end()) {
        text += ", " + name + "=" + shown_value(sweep.record.axes, name, value->second);
      }
    }
  }
  return text;
}

/// The figure as times for the same amount of work: speeds are inverted.
std::vector<record::BlockValue> seconds_of(const SweepFigure& figure) {
  std::vector<record::BlockValue> seconds = figure.values;
  if (figure.metric.better == record::Better::kHigher) {
    for (record::BlockValue& one : seconds) one.value = one.value > 0 ? 1 / one.value : 0;
  }
  std::erase_if(seconds, [](const record::BlockValue& one) { return !(one.value > 0); });
  return seconds;
}

template <typename Text>
std::string mean_words(const std::optional<record::BlockMean>& mean, Text text) {
  if (!mean) return "-";
  if (!mean->interval) return text(mean->mean);
  return fmt::format("{} ({} to {})", text(mean->mean), text(mean->interval->low), text(mean->interval->high));
}

constexpr std::size_t kMostCellsNamed = 4;

const SweepFigure& figure_of(const Sweep& sweep, const JobClaim& job, std::size_t cell) {
  return *sweep.cells[cell].figure(job.figure);
}

/// "on=cpu/t2 (26.9 images/s)".
std::string named(const Sweep& sweep, const JobClaim& job, std::size_t cell) {
  const SweepFigure& figure = figure_of(sweep, job, cell);
  return fmt::format("{} ({}{})", name_among(sweep, job.cells, cell), mean_text(figure, false), unit_behind(figure));
}

std::string listed_cells(const Sweep& sweep, const JobClaim& job, const std::vector<std::size_t>& cells) {
  std::vector<std::string> words;
  for (const std::size_t cell : cells) words.push_back(named(sweep, job, cell));
  return report::listed(words, kMostCellsNamed);
}

std::string job_name(const Sweep& sweep, const JobClaim& job) {
  return report::job_text(*sweep.cells[job.cells.front()].record);
}

/// "95 % interval 1.80 to 1.90".
std::string interval_words(const std::optional<record::Interval>& interval) {
  if (!interval) return "";
  return fmt::format(", 95 % interval {} to {}", report::number_text(interval->low),
                     report::number_text(interval->high));
}

std::string winner_sentence(const Sweep& sweep, const JobClaim& job) {
  const std::size_t winner = *job.winner;
  const SweepFigure& figure = figure_of(sweep, job, winner);
  std::string text =
      fmt::format("{}: best is {}, with a {} of {}{}", job_name(sweep, job), name_among(sweep, job.cells, winner),
                  figure.metric.label, mean_text(figure, false), unit_behind(figure));
  const std::size_t base = sweep.cells[winner].claim.base.value_or(job.cells.back());
  const CellClaim claim = job.claim(base, winner);
  text += fmt::format(": {}x of {}{}", report::number_text(*claim.speedup), named(sweep, job, base),
                      interval_words(claim.interval));
  if (job.cells.size() == 2) return text + beside_text(job.beside) + ".";
  return text + fmt::format("; each of the other {} is behind it by more than chance explains{}.", job.cells.size() - 1,
                            beside_text(job.beside));
}

/// The number of repeats that would decide which cell is best.
std::string repeats_words(const Sweep& sweep, const JobClaim& job) {
  if (std::ranges::any_of(job.cells, [&](std::size_t n) { return sweep.cells[n].not_comparable > 0; })) {
    return "; of INVALID measurements nothing is claimed";
  }
  if (!job.objection.empty()) return "; " + job.objection;
  if (!job.p) {
    return fmt::format("; not all of them share {} blocks, and only runs that were made side by side are compared",
                       record::kFewestRuns);
  }
  if (!job.to_decide) return "; what they differ by, if at all, is too small for any reasonable number of repeats";
  return fmt::format("; if they differ as much as it seems ({}x), about {} of each would show it",
                     report::number_text(*job.claim(job.leaders[1], job.leaders[0]).speedup),
                     counted(*job.to_decide, "run"));
}

std::string undecided_sentence_of(const Sweep& sweep, const JobClaim& job) {
  const bool all_invalid =
      std::ranges::all_of(job.cells, [&](std::size_t n) { return sweep.cells[n].not_comparable > 0; });
  std::size_t fewest = figure_of(sweep, job, job.cells.front()).values.size();
  for (const std::size_t cell : job.cells) fewest = std::min(fewest, figure_of(sweep, job, cell).values.size());
  const std::string which = fmt::format("{}: which of the {} cells is best", job_name(sweep, job), job.cells.size());
  if (all_invalid) {
    return fmt::format("{} stays undecided, as the measurements are INVALID: {}.", which,
                       listed_cells(sweep, job, job.cells));
  }
  if (fewest < record::kFewestRuns) {
    return fmt::format("{} stays undecided with {} each (at least {}): {}.", which, counted(fewest, "run"),
                       record::kFewestRuns, listed_cells(sweep, job, job.cells));
  }
  return fmt::format("{} is undecided between {}{}.", which, listed_cells(sweep, job, job.leaders),
                     repeats_words(sweep, job));
}

std::string single_sentence(const Sweep& sweep, const JobClaim& job) {
  const SweepFigure& figure = figure_of(sweep, job, job.cells.front());
  return fmt::format("{}: a {} of {}{} over {}.", job_name(sweep, job), figure.metric.label, mean_text(figure, true),
                     unit_behind(figure), counted(figure.values.size(), "run"));
}

/// The number of cells that are significantly better or worse than the base.
std::string against_base_sentence(const Sweep& sweep, const JobClaim& job) {
  const std::size_t base = std::ranges::min(job.cells);
  std::size_t better = 0, worse = 0, undecided = 0;
  for (const std::size_t cell : job.cells) {
    if (cell == base) continue;
    const record::Verdict verdict = sweep.cells[cell].claim.verdict;
    ++(verdict == record::Verdict::kFaster ? better : verdict == record::Verdict::kSlower ? worse : undecided);
  }
  if (better + worse == 0 || job.cells.size() < 3) return "";
  return fmt::format("Against {}, the first: {} better, {} worse, {} undecided (corrected for {}).",
                     name_among(sweep, job.cells, base), better, worse, undecided, counted(sweep.claims, "comparison"));
}

/// Which cell takes the least energy, if one does beyond chance; "" where a part of the runs was disturbed.
std::string frugal_sentence(const Sweep& sweep, const JobClaim& energy) {
  if (std::ranges::any_of(energy.cells, [&](std::size_t cell) { return sweep.cells[cell].invalid > 0; })) return "";
  const std::size_t least = energy.cells[0], next = energy.cells[1];
  const std::string what = figure_of(sweep, energy, least).metric.label;
  if (!energy.winner) {
    return fmt::format("Which takes the least {} is undecided between {}{}.", what,
                       listed_cells(sweep, energy, energy.leaders),
                       energy.objection.empty() ? "" : "; " + energy.objection);
  }
  const CellClaim claim = energy.claim(next, least);
  return fmt::format("The least {} takes {}: {} takes {}x as much{}.", what, named(sweep, energy, least),
                     named(sweep, energy, next), report::number_text(*claim.speedup), interval_words(claim.interval));
}

void add_warnings(const Sweep& sweep, std::vector<std::string>& sentences) {
  std::vector<std::string> failed, invalid;
  for (const SweepCellRuns& cell : sweep.cells) {
    if (cell.failed > 0) failed.push_back(cell.name);
    if (cell.invalid > cell.in_passing) invalid.push_back(cell.name);
  }
  const auto add = [&](const char* what, const std::vector<std::string>& names) {
    if (names.empty()) return;
    sentences.push_back(
        fmt::format("{}: {}; --again failed repeats them.", what, report::listed(names, kMostCellsNamed)));
  };
  add("Failed", failed);
  add("INVALID as measurements", invalid);
}

/// What the runs' own figures are worth where they were disturbed: no warning, as their ratios hold.
void add_disturbances(const Sweep& sweep, std::vector<std::string>& sentences) {
  std::vector<const SweepCellRuns*> cells;
  std::vector<std::string> others;
  BesideOthers beside = BesideOthers::kNo;
  bool at_equal = false;
  for (const SweepCellRuns& cell : sweep.cells) {
    cells.push_back(&cell);
    beside = std::max(beside, cell.claim.beside);
    at_equal = at_equal || cell.claim.at_equal_load;
    if (cell.in_passing > 0 && cell.beside_others == 0) {
      others.push_back(fmt::format("{} ({})", cell.name, report::listed(cell.words)));
    }
  }
  if (const auto load = load_beside(cells)) sentences.push_back(busy_sentence(*load, beside, at_equal));
  if (!others.empty()) {
    sentences.push_back(fmt::format("Ratios within blocks hold, but single times and speeds are not to be quoted: {}.",
                                    report::listed(others, kMostCellsNamed)));
  }
}

}  // namespace

std::vector<SweepScaling> scalings_of(Sweep& sweep) {
  // Groups by kind of workers and other axes; in each group the first cell of each number of workers.
  std::map<std::string, std::map<int, std::size_t>> found;
  for (std::size_t n = 0; n < sweep.cells.size(); ++n) {
    const SweepCellRuns& cell = sweep.cells[n];
    const SweepFigure* figure = cell.figure(sweep.main_figure);
    if (!cell.record || figure == nullptr || seconds_of(*figure).empty()) continue;
    const Workers workers = workers_of(*cell.record);
    const int threads = workers.replicas * workers.threads, cpus = cpus_of(cell.record->machine);
    if (cpus > 0 && threads > cpus) {
      sweep.notes.push_back(fmt::format("{} is left out of the scaling: {} threads on {} are no more workers",
                                        cell.name, threads, counted(static_cast<std::size_t>(cpus), "CPU")));
      continue;
    }
    const std::string others = others_text(sweep, cell);
    if (workers.replicas == 1) found["threads" + others].emplace(workers.threads, n);
    if (workers.threads == 1) found["processes of one thread" + others].emplace(workers.replicas, n);
  }
  std::vector<SweepScaling> scalings;
  for (const auto& [name, cells] : found) {
    if (cells.size() < 2) continue;
    SweepScaling& scaling = scalings.emplace_back();
    scaling.name = name;
    std::vector<record::WorkersRuns> runs;
    for (const auto& [workers, cell] : cells) {
      scaling.cells.push_back(cell);
      runs.push_back({workers, seconds_of(*sweep.cells[cell].figure(sweep.main_figure))});
    }
    scaling.scaling = record::scaling_of(std::move(runs), sweep.record.first_stage());
    for (const JobClaim& job : sweep.jobs) {
      const CellClaim claim = job.claim(scaling.cells.front(), scaling.cells.back());
      if (claim.speedup) scaling.verdict = claim.verdict;
    }
  }
  std::ranges::stable_sort(scalings, {}, [](const SweepScaling& one) { return std::ranges::min(one.cells); });
  return scalings;
}

report::Table scaling_table(const Sweep& sweep) {
  report::Table table;
  table.columns = {{"workers", false},   {"number", true}, {"speedup", true},  {"efficiency", true},
                   {"Karp-Flatt", true}, {"Amdahl", true}, {"Gustafson", true}};
  const auto percent = [](double share) { return report::percent_text(share); };
  for (const SweepScaling& of : sweep.scalings) {
    for (const WorkersScaling& one : of.scaling.workers) {
      const auto& fit = of.scaling.fit;
      table.rows.push_back({of.name, std::to_string(one.workers), mean_words(one.speedup, report::number_text),
                            mean_words(one.efficiency, percent), mean_words(one.karp_flatt, percent),
                            fit ? report::number_text(fit->speedup(one.workers)) : "-",
                            fit ? report::number_text(record::gustafson(fit->serial_share, one.workers)) : "-"});
    }
  }
  return table;
}

std::string scaling_sentence(const SweepScaling& of) {
  const auto& fit = of.scaling.fit;
  const auto& interval = of.scaling.share_interval;
  const WorkersScaling& most = of.scaling.workers.back();
  if (most.speedup && of.verdict == record::Verdict::kSlower) {
    return fmt::format("More {} are slower: {} do the work {}x as fast as {}.", of.name, most.workers,
                       report::number_text(most.speedup->mean), of.scaling.workers.front().workers);
  }
  if (!fit && interval) {
    return fmt::format("How much of the work stays serial with more {} these runs can't tell (95 %: {} to {}).",
                       of.name, report::percent_text(interval->low), report::percent_text(interval->high));
  }
  if (!fit) return "";
  std::string text = fmt::format("With more {}, {} of the work stays serial by Amdahl's law", of.name,
                                 report::percent_text(fit->serial_share));
  if (interval) {
    text += fmt::format(" (95 %: {} to {})", report::percent_text(interval->low), report::percent_text(interval->high));
  }
  // A fit that misses the measurements may promise less than was measured.
  const bool is_bound = std::ranges::all_of(of.scaling.workers, [&](const WorkersScaling& one) {
    return !one.speedup ||
           one.speedup->mean * fit->speedup(of.scaling.workers.front().workers) * fit->serial_share <= 1;
  });
  if (fit->serial_share > 0 && is_bound) {
    text += fmt::format("; no number of workers would be more than {}x as fast as one",
                        report::number_text(1 / fit->serial_share));
  }
  return text + ".";
}

std::vector<std::string> sweep_conclusion(const Sweep& sweep) {
  std::vector<std::string> sentences;
  if (sweep.jobs.empty()) sentences.push_back("No run has left figures yet.");
  for (const JobClaim& job : sweep.jobs) {
    if (job.cells.size() == 1) {
      sentences.push_back(single_sentence(sweep, job));
    } else {
      sentences.push_back(job.winner ? winner_sentence(sweep, job) : undecided_sentence_of(sweep, job));
      if (std::string text = against_base_sentence(sweep, job); !text.empty()) sentences.push_back(std::move(text));
    }
    for (const JobClaim& energy : sweep.energy_jobs) {
      if (sweep.cells[energy.cells[0]].job != sweep.cells[job.cells[0]].job) continue;
      if (std::string text = frugal_sentence(sweep, energy); !text.empty()) sentences.push_back(std::move(text));
    }
  }
  add_disturbances(sweep, sentences);
  add_warnings(sweep, sentences);
  return sentences;
}

}  // namespace evener::sweeps
