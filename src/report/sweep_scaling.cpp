#include "report/sweep_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/plural.h"
#include "report/format.h"

namespace evener::report {
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

std::string mean_words(const std::optional<record::BlockMean>& mean) {
  if (!mean) return "-";
  const std::string text = number_text(mean->mean);
  if (!mean->interval) return text;
  return fmt::format("{} ({} to {})", text, number_text(mean->interval->low), number_text(mean->interval->high));
}

std::string percent_words(const std::optional<record::BlockMean>& mean) {
  if (!mean) return "-";
  const std::string text = percent_text(mean->mean);
  if (!mean->interval) return text;
  return fmt::format("{} ({} to {})", text, percent_text(mean->interval->low), percent_text(mean->interval->high));
}

}  // namespace

std::vector<SweepScaling> scalings_of(Sweep& sweep) {
  // Groups by kind of workers and other axes; in each group the first cell of each number of workers.
  std::map<std::string, std::map<int, std::size_t>> found;
  for (std::size_t n = 0; n < sweep.cells.size(); ++n) {
    const SweepCellRuns& cell = sweep.cells[n];
    const SweepFigure* figure = cell.figure(sweep.main_figure);
    if (!cell.record || figure == nullptr || figure->values.empty()) continue;
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
    scaling.scaling = record::scaling_of(std::move(runs));
  }
  std::ranges::stable_sort(scalings, {}, [](const SweepScaling& one) { return std::ranges::min(one.cells); });
  return scalings;
}

Table scaling_table(const Sweep& sweep) {
  Table table;
  table.columns = {{"workers", false},   {"number", true}, {"speedup", true},  {"efficiency", true},
                   {"Karp-Flatt", true}, {"Amdahl", true}, {"Gustafson", true}};
  for (const SweepScaling& of : sweep.scalings) {
    for (const WorkersScaling& one : of.scaling.workers) {
      const auto& fit = of.scaling.fit;
      table.rows.push_back({of.name, std::to_string(one.workers), mean_words(one.speedup),
                            percent_words(one.efficiency), percent_words(one.karp_flatt),
                            fit ? number_text(fit->speedup(one.workers)) : "-",
                            fit ? number_text(record::gustafson(fit->serial_share, one.workers)) : "-"});
    }
  }
  return table;
}

std::string scaling_sentence(const SweepScaling& of) {
  const auto& fit = of.scaling.fit;
  if (!fit) return "";
  const WorkersScaling& most = of.scaling.workers.back();
  if (most.speedup && most.speedup->interval && most.speedup->interval->high < 1) {
    return fmt::format("More {} are slower: {} do the work {}x as fast as {}.", of.name, most.workers,
                       number_text(most.speedup->mean), of.scaling.workers.front().workers);
  }
  constexpr double kNothing = 0.01, kAll = 0.95;  // an interval that contains both leaves the serial share open
  const auto& interval = of.scaling.share_interval;
  if (interval && interval->low < kNothing && interval->high > kAll) return "";
  std::string text = fmt::format("With more {}, {} of the work stays serial by Amdahl's law", of.name,
                                 percent_text(fit->serial_share));
  if (interval) {
    text += fmt::format(" (95 %: {} to {})", percent_text(interval->low), percent_text(interval->high));
  }
  if (fit->serial_share > 0) {
    text +=
        fmt::format("; no number of workers would be more than {}x as fast as one", number_text(1 / fit->serial_share));
  }
  return text + ".";
}

}  // namespace evener::report
