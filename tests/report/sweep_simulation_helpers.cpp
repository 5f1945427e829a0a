#include "report/sweep_simulation_helpers.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random.h"
#include "bench/sweep/schedule.h"
#include "record/validity.h"

namespace evener::test {

record::SweepRecord simulated_record(std::size_t cells, int repeats) {
  record::SweepRecord record;
  record.command = "train";
  record.repeats = repeats;
  record.series = {{}};
  record.axes.emplace_back().names = {"on"};
  for (std::size_t n = 0; n < cells; ++n) {
    const std::string name = "way-" + std::to_string(n);
    record.axes.front().steps.push_back({name});
    record::SweepCell& cell = record.cells.emplace_back();
    cell.key = name;
    cell.folder = name;
    cell.values = {{"on", name}};
  }
  return record;
}

report::Sweep simulate(const record::SweepRecord& record, const SimulatedSweep& sweep, std::uint64_t trial) {
  record::SweepRecord of_trial = record;
  of_trial.order_seed = trial;
  bench::Schedule schedule(of_trial, {});
  Random random(11, Purpose::kSynthetic, trial);
  const double runs = static_cast<double>(record.cells.size()) * record.repeats;
  const auto disturbed =
      sweep.disturbance == nullptr ? std::function<double(Random&)>() : sweep.disturbance->begin(runs);
  const auto load = sweep.load == nullptr ? std::function<double(std::size_t, Random&)>() : sweep.load->begin(runs);
  std::map<std::string, double> others_percent;  // by the runs' folders
  for (double made = 0; auto run = schedule.next(); ++made) {
    const auto cell = std::ranges::find(of_trial.cells, run->cell, &record::SweepCell::key) - of_trial.cells.begin();
    const double slower = 1 - sweep.drift * made / sweep.drift_runs;
    const double factor = disturbed ? std::exp(disturbed(random)) : slower * std::exp(sweep.noise * random.normal());
    const double others = load ? load(static_cast<std::size_t>(cell), random) : 0;
    others_percent[run->folder] = others;
    run->end = others > record::ValidityLimits().others_percent ? record::RunEnd::kInvalid : record::RunEnd::kDone;
    double slower_by = sweep.slower_by;
    if (sweep.slower_by_noise > 0) slower_by *= 1 + sweep.slower_by_noise * random.normal();
    run->figure = sweep.speeds[static_cast<std::size_t>(cell)] * factor * std::exp(-slower_by * others / 100);
    schedule.ended(*run);
  }
  record::SweepJournal journal;
  journal.runs = schedule.runs();
  return report::sweep_of(of_trial, journal, [&](const record::SweepRun& run) {
    const auto cell = std::ranges::find(of_trial.cells, run.cell, &record::SweepCell::key) - of_trial.cells.begin();
    record::Record made;
    made.model.name = "model";
    if (sweep.cpus > 0) made.config = {{"seed", "1"}};
    made.machine.logical_cpus = sweep.cpus;
    made.images_per_s.median = run.figure;
    made.machine.online_cpus = std::max(1, sweep.cpus);
    const double others = others_percent.at(run.folder);
    made.cpu.others_percent = record::Spread{others, others * made.machine.online_cpus, others};
    if (run.end == record::RunEnd::kInvalid) made.validity = {false, {{"other load", "others took CPUs", "end them"}}};
    record::ReplicaRecord& replica = made.placement.replicas.emplace_back();
    replica.stages.push_back(
        {.device = "cpu", .threads = sweep.threads(static_cast<std::size_t>(cell)), .cpus = {}, .emulated_speed = {}});
    return made;
  });
}

bool claims_anything(const report::Sweep& sweep) {
  return std::ranges::any_of(
             sweep.jobs,
             [](const auto& job) { return job.winner.has_value() || job.leaders.size() < job.cells.size(); }) ||
         std::ranges::any_of(sweep.cells,
                             [](const auto& cell) { return cell.claim.verdict != record::Verdict::kUndecided; });
}

}  // namespace evener::test
