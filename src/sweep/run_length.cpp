// `evener sweep --steady P%`: how long the runs of a sweep measure, found by pilot runs of its cells.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/plural.h"
#include "sweep/run/identity.h"
#include "sweep/run/pilot.h"
#include "sweep/sweep_job.h"

namespace evener::sweeps {
namespace {

namespace fs = std::filesystem;

constexpr double kLongestRun_s = 60;

bool is_axis(const SweepPlan& plan, const std::string& key) {
  return std::ranges::any_of(
      plan.axes, [&](const record::SweepAxis& axis) { return std::ranges::find(axis.names, key) != axis.names.end(); });
}

/// The value of an option without an axis, or else its default; absent without a number.
std::optional<double> number_of(const SweepPlan& plan, const OptionBase& option) {
  const auto fixed = plan.fixed.find(option.key());
  const bool is_given = fixed != plan.fixed.end() && !fixed->second.empty();
  return to_number<double>(is_given ? fixed->second.back() : option.default_text());
}

std::string length_text(const RunLength& option, double length) {
  return fmt::format("{} = {:g}", option.key, length);
}

/// Makes the pilot runs of a cell, and takes those that are there.
class PilotRuns {
 public:
  PilotRuns(const RunLength& option, fs::path folder, Executor& executor)
      : option_(option), folder_(std::move(folder)), executor_(executor) {}

  PilotRun run(record::SweepCell cell, double length) const {
    const std::string text = fmt::format("{:g}", length);
    const fs::path folder = folder_ / (cell.folder + "-" + text);
    const std::string name = "--" + option_.key + "=";
    std::erase_if(cell.words, [&](const std::string& word) { return word.starts_with(name); });
    cell.words.push_back(name + text);
    const auto left = executor_.left_in(folder);
    const ExecutedRun executed = left ? *left : executor_.execute(cell, folder);
    if (!record::has_figures(executed.end)) return {.failure = executed.reason, .seconds = executed.seconds};
    const record::Record record = record::read_record(folder);
    return {.failure = {},
            .seconds = executed.seconds,
            .deviation = deviation_within(record),
            .energy_needs = energy_needs(record)};
  }

 private:
  const RunLength& option_;
  const fs::path folder_;
  Executor& executor_;
};

/// What a cell's last pilot run says, after "pilot runs of on=cpu/t1: epochs = 12: ".
std::string verdict_text(const FoundLength& found, const PilotGoal& goal) {
  if (!found.last.failure.empty()) return "it failed, so that its length stays: " + found.last.failure;
  if (!found.last.deviation) return "too few samples for a deviation";
  const double needed_s = seconds_needed(found.last, goal.deviation).value_or(0);
  return fmt::format("speed deviates by {:.2g} % within a run{}", 100 * *found.last.deviation,
                     found.is_steady               ? ""
                     : found.last.energy_needs > 1 ? "; too short for the sensor of energy"
                     : needed_s > goal.longest_run_s
                         ? fmt::format("; {:g} % would take runs of {}, and none is made longer than {}: end what else "
                                       "runs here, or ask for less",
                                       100 * goal.deviation, duration_text(needed_s), duration_text(goal.longest_run_s))
                         : ", more than was asked for");
}

/// How long the sweep will take, by its first pilot run.
std::string forecast_text(const PilotRun& first, const PilotGoal& goal, const SweepPlan& plan) {
  const double needed_s = seconds_needed(first, goal.deviation).value_or(first.seconds);
  const double run_s = std::clamp(needed_s, first.seconds, std::max(first.seconds, goal.longest_run_s));
  const std::size_t cells = cells_of(plan).size();
  return fmt::format("by the first pilot run a run takes about {}, and each block of {} about {}", duration_text(run_s),
                     counted(cells, "cell"), duration_text(run_s * static_cast<double>(cells)));
}

/// What is told of all cells.
std::string steady_sentence(const RunLength& option, double length, double deviation,
                            const std::vector<FoundLength>& cells) {
  const auto restless = std::ranges::count_if(cells, [](const FoundLength& cell) { return !cell.is_steady; });
  const std::string all =
      fmt::format("{} in each run, by pilot runs (--steady {:g}%): ", length_text(option, length), 100 * deviation);
  if (restless == 0) return all + fmt::format("within a run speed deviates by {:g} % at most", 100 * deviation);
  return all + fmt::format("within a run of {} of {} it still deviates by more, or by how much isn't known", restless,
                           counted(cells.size(), "cell"));
}

}  // namespace

RunLength run_length_of(const SweepPlan& plan) {
  const MeasuredCommand command = measured_command(plan.commands, plan.command);
  const LengthOption& option = command.length;
  if (option.key.empty()) {
    throw UsageError(
        fmt::format("--steady can't make runs of '{0}' longer, whose images are given: give more of them, "
                    "or more runs by --until ci=P%",
                    plan.command));
  }
  if (!option.needed.empty() && !plan.fixed.contains(option.needed) && !is_axis(plan, option.needed)) {
    throw UsageError(
        fmt::format("--steady makes runs of '{}' longer where they have a --{}; without one the images are given: give "
                    "more of them, or more runs by --until ci=P%",
                    plan.command, option.needed));
  }
  if (is_axis(plan, option.key)) {
    throw UsageError(fmt::format("--steady finds the value of '{}', which is an axis here", option.key));
  }
  const double length = number_of(plan, *option_of_key(command, option.key)).value_or(option.usual);
  if (!(length > 0)) {
    throw UsageError(
        fmt::format("--steady makes runs longer, and with '{} = {:g}' they measure nothing", option.key, length));
  }
  return {.key = option.key, .length = length, .is_whole = option.is_whole};
}

SteadyPlan steady_plan(const SweepPlan& plan, double deviation, std::optional<double> run_limit_s,
                       const fs::path& folder, Executor& executor, measure::Observer& observer,
                       const std::string& program, const std::string& machine) {
  RunLength option = run_length_of(plan);
  const PilotGoal goal{
      .deviation = deviation, .longest_run_s = run_limit_s.value_or(kLongestRun_s), .is_whole = option.is_whole};
  // Another program or machine needs another length.
  const std::string identity = short_hash(program + machine);
  const PilotRuns pilot(option, folder / record::kPilotFolder / identity.substr(0, 6), executor);
  std::vector<FoundLength> found;
  bool is_told = false;
  for (const record::SweepCell& cell : cells_of(plan)) {
    const std::string known = cell_name(plan.axes, cell.values), name = known.empty() ? "the cell" : known;
    found.push_back(steady_length(option.length, goal, [&](double length) {
      observer.show(fmt::format("pilot run of {}, {} ...", name, length_text(option, length)));
      PilotRun run = pilot.run(cell, length);
      if (run.failure.empty() && !std::exchange(is_told, true)) observer.note(forecast_text(run, goal, plan));
      return run;
    }));
    option.length = found.back().length;
    observer.note(fmt::format("pilot runs of {}: {}: {}", name, length_text(option, option.length),
                              verdict_text(found.back(), goal)));
  }
  SteadyPlan steady{.plan = plan, .sentence = steady_sentence(option, option.length, deviation, found)};
  steady.plan.fixed[option.key] = {fmt::format("{:g}", option.length)};
  return steady;
}

}  // namespace evener::sweeps
