#include "report/sweep_simulation_helpers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "base/random.h"
#include "bench/sweep/runner.h"
#include "record/validity.h"

namespace evener::test {
namespace {

std::function<double(Random&)> independent(double deviation) {
  return [deviation](Random& random) { return deviation * random.normal(); };
}

/// A tenth slower at the end, along a straight line.
std::function<double(Random&)> drifting(double runs, double deviation) {
  const auto made = std::make_shared<double>(0);
  return [=](Random& random) { return std::log(1 - 0.1 * (*made)++ / runs) + deviation * random.normal(); };
}

/// Other work that comes and goes: neighbouring runs have so much of their disturbance in common.
std::function<double(Random&)> lasting(double likeness) {
  const auto now = std::make_shared<std::optional<double>>();
  return [=](Random& random) {
    const double fresh = random.normal();
    *now = now->has_value() ? likeness * **now + std::sqrt(1 - likeness * likeness) * fresh : fresh;
    return 0.03 * **now;
  };
}

using Load = std::function<double(std::size_t, Random&)>;

double not_below_0(double percent) {
  return std::max(0.0, percent);
}

/// Programs that begin and end: a tenth of the CPUs or hardly any, for some runs each.
Load coming_and_going(double stays) {
  const auto busy = std::make_shared<bool>(true);
  return [=](std::size_t, Random& random) {
    if (random.uniform() > stays) *busy = !*busy;
    return not_below_0((*busy ? 12 : 3) + random.normal());
  };
}

Load growing(double runs) {
  const auto made = std::make_shared<double>(0);
  return [=](std::size_t, Random& random) { return not_below_0(5 + 30 * (*made)++ / runs + random.normal()); };
}

/// Takes so many percent more beside the cell.
Load leaning(std::size_t on, double more, double deviation) {
  return [=](std::size_t cell, Random& random) {
    return not_below_0(8 + (cell == on ? more : 0) + deviation * random.normal());
  };
}

}  // namespace

const std::vector<OtherLoad>& other_loads() {
  static const std::vector<OtherLoad> all = {
      {"even", false, [](double) { return leaning(0, 0, 1.5); }},
      {"comes and goes after some runs", false, [](double) { return coming_and_going(0.9); }},
      {"comes and goes from run to run", false, [](double) { return coming_and_going(0.5); }},
      {"grows", false, growing},
      {"leans on the first cell by 3 %", true, [](double) { return leaning(0, 3, 1.5); }},
      {"leans on the last cell by 5 %", true, [](double) { return leaning(1, 5, 2); }},
      {"leans on the first cell by 20 %", true, [](double) { return leaning(0, 20, 4); }},
  };
  return all;
}

const std::vector<Disturbance>& disturbances() {
  static const std::vector<Disturbance> all = {
      {"independent", [](double) { return independent(0.01); }},
      {"drifting by 10 %", [](double runs) { return drifting(runs, 0.01); }},
      {"drifting by 10 %, steady otherwise", [](double runs) { return drifting(runs, 0.001); }},
      {"one-sided (exponential)",
       [](double) { return [](Random& random) { return 0.03 * std::log(1 - random.uniform()); }; }},
      {"lasting, neighbours alike by 0.5", [](double) { return lasting(0.5); }},
      {"lasting, neighbours alike by 0.8", [](double) { return lasting(0.8); }},
      {"lasting, neighbours alike by 0.95", [](double) { return lasting(0.95); }},
      {"outliers: one of ten runs takes 1.4 times as long",
       [](double) {
         return [](Random& random) {
           const double outlier = random.uniform() < 0.1 ? -std::log(1.4) : 0;
           return outlier + 0.01 * random.normal();
         };
       }},
  };
  return all;
}

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
