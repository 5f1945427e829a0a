#include "sweep/figures/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/plural.h"
#include "record/validity.h"
#include "report/figures.h"
#include "sweep/figures/sweep_claims.h"

namespace evener::sweeps {
namespace {

namespace fs = std::filesystem;

using record::Metric;
using record::SweepRun;

/// "on=cpu/t2, batch=32": a cell's values on the axes that `takes` accepts.
template <class Takes>
std::string joined_values(const std::vector<record::SweepAxis>& axes, const record::SweepCell& cell, Takes takes) {
  std::string name;
  for (const record::SweepAxis& axis : axes) {
    for (const std::string& part : axis.names) {
      const auto value = cell.values.find(part);
      if (value != cell.values.end() && takes(axis, part))
        name += (name.empty() ? "" : ", ") + part + "=" + shown_value(axes, part, value->second);
    }
  }
  return name;
}

std::string name_of_cell(const std::vector<record::SweepAxis>& axes, const record::SweepCell& cell) {
  const bool all_single = std::ranges::all_of(axes, [](const auto& axis) { return axis.steps.size() < 2; });
  const std::string name =
      joined_values(axes, cell, [&](const auto& axis, const auto&) { return axis.steps.size() > 1 || all_single; });
  return name.empty() ? "the cell" : name;
}

/// Puts the class into the figure's label: "energy (estimated)".
void name_energy_class(SweepFigure& figure) {
  if (figure.energy == record::EnergyClass::kAbsent) return;
  std::string& label = figure.metric.label;
  label = fmt::format("{} ({})", label.substr(0, label.rfind(" (")), record::energy_class_name(figure.energy));
}

/// The energy class of a run's figure. process_joules, a share of the CPU's energy by CPU time, is at best derived.
record::EnergyClass class_of(const Metric& metric, const record::Record& record) {
  if (!is_of_energy(metric) || !metric.value) return record::EnergyClass::kAbsent;
  const bool is_share = metric.name == "process_joules" && record.energy.kind == record::EnergyClass::kMeasured;
  return is_share ? record::EnergyClass::kDerived : record.energy.kind;
}

void add_figures(const Sweep& sweep, SweepCellRuns& cell, const record::Record& record, const SweepRun& run) {
  for (Metric& metric : record::metrics_of(record)) {
    if (!counts_in(sweep.record, metric, run.part)) continue;
    auto known = std::ranges::find(cell.figures, metric.name, [](const SweepFigure& one) { return one.metric.name; });
    if (known == cell.figures.end()) {
      known = cell.figures.insert(known, SweepFigure{.metric = metric, .values = {}, .mean = {}});
    }
    known->energy = record::together(known->energy, class_of(metric, record));
    if (metric.value) {
      known->values.push_back({run.block, *metric.value});
    } else if (known->reason.empty()) {
      known->reason = metric.reason;  // the first run's reason
    }
  }
}

/// Computes the mean over all runs in which the figure counts. If only some runs have an energy (perhaps since the
/// others were too short for a counter), there is no mean: it would be over other runs than the times beside it.
void take_mean(const Sweep& sweep, const SweepCellRuns& cell, SweepFigure& figure) {
  const std::string why = std::exchange(figure.reason, {});
  const auto runs = static_cast<std::size_t>(std::ranges::count_if(cell.runs, [&](const SweepRun& run) {
    return record::has_figures(run.end) && counts_in(sweep.record, figure.metric, run.part);
  }));
  if (is_of_energy(figure.metric) && figure.values.size() < runs) {
    if (figure.values.empty()) return;
    figure.reason = fmt::format("{} of {} have it, so there is no mean{}{}", figure.values.size(), counted(runs, "run"),
                                why.empty() ? "" : "; another one: ", why);
    return;
  }
  figure.mean = record::mean_of_runs(figure.values);
}

/// Whether the run had --until-accuracy.
bool asks_for_accuracy(const record::Record& record) {
  const auto asked = record.config.find("until-accuracy");
  return asked != record.config.end() && std::strtod(asked->second.c_str(), nullptr) > 0;
}

/// Takes in what the run's rules spoil, and other programs' load beside it.
void take_validity(SweepCellRuns& cell, const record::Record& record, const SweepRun& run) {
  const auto load = record::others_load_percent(record);
  if (load && run.part == record::kMeasurePart) cell.others_percent.push_back({run.block, *load});
  if (run.end != record::RunEnd::kInvalid) return;
  const auto& reasons = record.validity.reasons;
  cell.not_comparable +=
      record::spoiled_by(record.validity).value_or(record::Spoils::kComparisons) == record::Spoils::kComparisons;
  cell.beside_others += record::is_beside_others(record.validity);
  bool in_passing = !reasons.empty();
  for (const auto& reason : reasons) {
    const std::string word = record::validity_rule(reason.rule).in_passing;
    in_passing = in_passing && !word.empty();
    if (!word.empty() && std::ranges::find(cell.words, word) == cell.words.end()) cell.words.push_back(word);
  }
  cell.in_passing += in_passing;
}

void take_run(const Sweep& sweep, SweepCellRuns& cell, SweepRun run, const RecordOfRun& record_of) {
  cell.energies.push_back(record::EnergyClass::kAbsent);
  if (record::has_figures(run.end)) {
    try {
      record::Record record = record_of(run);
      add_figures(sweep, cell, record, run);
      take_validity(cell, record, run);
      cell.energies.back() = record.energy.kind;
      if (asks_for_accuracy(record)) cell.to_accuracy_s.push_back(record.times.to_accuracy);
      if (!cell.record) cell.record = std::move(record);
    } catch (const Error& error) {
      run.end = record::RunEnd::kFailed;
      run.reason = error.what();
    }
  }
  cell.done += run.end == record::RunEnd::kDone;
  cell.invalid += run.end == record::RunEnd::kInvalid;
  cell.failed += !record::has_figures(run.end);
  cell.runs.push_back(std::move(run));
}

/// Why no run has an energy though there are sensors, or stated powers; else "".
std::string why_without_energy(const Sweep& sweep) {
  std::string why;
  for (const SweepCellRuns& cell : sweep.cells) {
    const SweepFigure* energy = cell.figure("energy_joules");
    if (energy != nullptr && !energy->values.empty()) return "";
    if (!why.empty() || !cell.record || cell.record->energy.devices.empty()) continue;
    why = fmt::format("no energy is shown: {}; longer runs would have it", cell.record->energy.reason);
  }
  return why;
}

void note_left_out(Sweep& sweep, std::size_t other_series, std::size_t other_cells, std::size_t unfinished) {
  if (other_series > 0) {
    sweep.notes.push_back(fmt::format("{} of another program or machine {} not shown: results are not mixed",
                                      counted(other_series, "run"), other_series == 1 ? "is" : "are"));
  }
  if (other_cells > 0) {
    sweep.notes.push_back(fmt::format("{} of cells that the sweep has no more, or of other data, {} not shown",
                                      counted(other_cells, "run"), other_cells == 1 ? "is" : "are"));
  }
  if (unfinished > 0) {
    sweep.notes.push_back(fmt::format("{} under way, or cut short: the sweep's command goes on with it",
                                      unfinished == 1 ? "one run is" : counted(unfinished, "run") + " are"));
  }
}

void take_runs(Sweep& sweep, const record::SweepJournal& journal, const RecordOfRun& record_of) {
  std::size_t other_series = 0, other_cells = 0, unfinished = 0;
  std::map<std::string, SweepCellRuns*> by_key;
  for (SweepCellRuns& cell : sweep.cells) by_key[cell.cell.key] = &cell;
  for (const SweepRun& run : journal.runs) {
    const auto cell = by_key.find(run.cell);
    if (run.part == record::kWarmupPart && record::has_figures(run.end)) continue;
    if (run.series != sweep.record.series_now) {
      ++other_series;
    } else if (cell == by_key.end()) {
      ++other_cells;
    } else if (run.end == record::RunEnd::kBegun) {
      ++unfinished;
    } else {
      take_run(sweep, *cell->second, run, record_of);
    }
  }
  note_left_out(sweep, other_series, other_cells, unfinished);
}

/// Numbers the jobs by the records of their first runs; a cell without a record belongs to the first job.
void number_jobs(Sweep& sweep) {
  std::vector<const record::Record*> jobs;
  for (SweepCellRuns& cell : sweep.cells) {
    if (!cell.record) continue;
    const auto known =
        std::ranges::find_if(jobs, [&](const auto* job) { return report::same_job(*job, *cell.record); });
    cell.job = static_cast<std::size_t>(known - jobs.begin());
    if (known == jobs.end()) jobs.push_back(&*cell.record);
  }
}

/// Loads reference figures, if the folder has any; a broken file becomes a note and doesn't stop the report.
void take_reference(Sweep& sweep) {
  const fs::path path = sweep.folder / record::kReferenceFile;
  std::error_code none;
  if (!fs::exists(path, none)) return;
  try {
    sweep.reference = hold_against(read_reference(path), sweep);
  } catch (const Error& error) {
    sweep.notes.push_back(fmt::format("the figures measured elsewhere are not shown: {}", error.what()));
  }
}

}  // namespace

const SweepFigure* SweepCellRuns::figure(const std::string& name) const {
  const auto found = std::ranges::find(figures, name, [](const SweepFigure& one) { return one.metric.name; });
  return found == figures.end() ? nullptr : &*found;
}

std::string shown_value(const std::vector<record::SweepAxis>& axes, const std::string& part, const std::string& value) {
  if (part == "on") return value;  // "cpu/t2" isn't a path
  std::set<std::string> folders;
  for (const record::SweepAxis& axis : axes) {
    for (std::size_t n = 0; n < axis.names.size(); ++n) {
      if (axis.names[n] != part) continue;
      for (const auto& step : axis.steps) folders.insert(step[n].substr(0, step[n].find_last_of('/') + 1));
    }
  }
  const std::size_t folder = folders.size() == 1 ? folders.begin()->size() : 0;
  return folder < value.size() ? value.substr(folder) : value;
}

std::string name_among(const Sweep& sweep, const std::vector<std::size_t>& among, std::size_t cell) {
  const record::SweepCell& own = sweep.cells[cell].cell;
  const std::string name = joined_values(sweep.record.axes, own, [&](const auto&, const std::string& part) {
    return std::ranges::any_of(among, [&](std::size_t n) {
      const auto& values = sweep.cells[n].cell.values;
      const auto value = values.find(part);
      return value == values.end() || value->second != own.values.at(part);
    });
  });
  return name.empty() ? sweep.cells[cell].name : name;
}

bool is_of_energy(const Metric& metric) {
  return metric.unit.find('J') != std::string::npos;
}

bool counts_in(const record::SweepRecord& sweep, const Metric& metric, const std::string& part) {
  return sweep.energy_repeats == 0 || is_of_energy(metric) == (part == record::kEnergyPart);
}

bool is_sweep(const fs::path& folder) {
  std::error_code none;
  return fs::exists(folder / record::kSweepFile, none);
}

std::vector<fs::path> sweeps_in(const std::vector<fs::path>& folders) {
  std::vector<fs::path> sweeps, others;
  for (const fs::path& folder : folders) {
    std::vector<fs::path> inside;
    std::error_code none;
    if (is_sweep(folder)) {
      inside.push_back(folder);
    } else {
      for (const auto& entry : fs::directory_iterator(folder, none)) {
        if (is_sweep(entry.path())) inside.push_back(entry.path());
      }
    }
    if (inside.empty()) others.push_back(folder);
    std::ranges::sort(inside);
    sweeps.insert(sweeps.end(), inside.begin(), inside.end());
  }
  if (!sweeps.empty() && !others.empty()) {
    throw UsageError(fmt::format("{} is the folder of a sweep and {} is not; report them apart",
                                 sweeps.front().string(), others.front().string()));
  }
  return sweeps;
}

Sweep sweep_of(const record::SweepRecord& record, const record::SweepJournal& journal, const RecordOfRun& record_of) {
  Sweep sweep;
  sweep.record = record;
  for (const record::SweepCell& cell : sweep.record.cells) {
    SweepCellRuns& runs = sweep.cells.emplace_back();
    runs.cell = cell;
    runs.name = name_of_cell(sweep.record.axes, cell);
  }
  take_runs(sweep, journal, record_of);
  for (const std::string& warning : journal.warnings) sweep.notes.push_back(warning);
  for (SweepCellRuns& cell : sweep.cells) {
    for (SweepFigure& figure : cell.figures) {
      take_mean(sweep, cell, figure);
      name_energy_class(figure);
    }
    if (const SweepFigure* energy = cell.figure("energy_joules"); energy != nullptr && !energy->reason.empty()) {
      sweep.notes.push_back(fmt::format("{}: the energy of {}", cell.name, energy->reason));
    }
  }
  if (const std::string why = why_without_energy(sweep); !why.empty()) sweep.notes.push_back(why);
  number_jobs(sweep);
  make_claims(sweep);
  for (std::string& note : alike_notes(sweep)) sweep.notes.push_back(std::move(note));
  sweep.scalings = scalings_of(sweep);
  return sweep;
}

Sweep load_sweep(const fs::path& folder) {
  Sweep sweep = sweep_of(record::read_sweep(folder), record::read_journal(folder),
                         [&](const SweepRun& run) { return record::read_record(folder / run.folder); });
  sweep.folder = folder;
  take_reference(sweep);
  const fs::path whole = fs::absolute(folder).lexically_normal();
  sweep.name = whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
  return sweep;
}

}  // namespace evener::sweeps
