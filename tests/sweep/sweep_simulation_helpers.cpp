#include "sweep/sweep_simulation_helpers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>

#include "base/random.h"
#include "record/validity.h"
#include "report/format.h"
#include "sweep/figures/sweep_claims.h"
#include "sweep/run/runner.h"

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

/// The texts of the table's column, from the first cell to the last.
std::vector<std::string> column_of(const sweeps::Sweep& sweep, const char* title) {
  const report::Table table = sweeps::sweep_table(sweep);
  const auto column = std::ranges::find(table.columns, title, &report::Column::title) - table.columns.begin();
  std::vector<std::string> texts;
  for (const auto& row : table.rows) texts.push_back(row.at(static_cast<std::size_t>(column)));
  return texts;
}

/// The cells that are named in a text with their figures, and their number, as it may end with "and 3 more".
std::pair<std::set<std::size_t>, std::size_t> named_cells(const std::string& text) {
  constexpr std::string_view kName = "on=way-", kMore = " more";
  std::set<std::size_t> cells;
  for (std::size_t at = text.find(kName); at != std::string::npos; at = text.find(kName, at + 1)) {
    const std::size_t number = at + kName.size(), end = text.find_first_not_of("0123456789", number);
    if (text.compare(end, 2, " (") == 0) cells.insert(std::stoul(text.substr(number)));
  }
  const std::size_t more = text.find(kMore), space = text.rfind(' ', more - 1);
  return {cells, cells.size() + (more == std::string::npos ? 0 : std::stoul(text.substr(space)))};
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

sweeps::Sweep simulate(const record::SweepRecord& record, const SimulatedSweep& sweep, std::uint64_t trial) {
  record::SweepRecord of_trial = record;
  of_trial.order_seed = trial;
  sweeps::Schedule schedule(of_trial, {});
  Random random(11, Purpose::kSynthetic, trial);
  const double runs = static_cast<double>(record.cells.size()) * record.repeats;
  const auto disturbed =
      sweep.disturbance == nullptr ? std::function<double(Random&)>() : sweep.disturbance->begin(runs);
  const auto load = sweep.load == nullptr ? std::function<double(std::size_t, Random&)>() : sweep.load->begin(runs);
  std::map<std::string, double> others_percent, joules, wholes;  // by the runs' folders
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
    if (!sweep.joules.empty()) {
      joules[run->folder] = sweep.joules[static_cast<std::size_t>(cell)] * std::exp(sweep.noise * random.normal());
    }
    if (!sweep.wholes.empty()) {
      wholes[run->folder] =
          sweep.wholes[static_cast<std::size_t>(cell)] * factor * std::exp(sweep.whole_noise * random.normal());
    }
    schedule.ended(*run);
  }
  record::SweepJournal journal;
  journal.runs = schedule.runs();
  return sweeps::sweep_of(of_trial, journal, [&](const record::SweepRun& run) {
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
    if (!sweep.joules.empty()) {
      made.energy.joules = joules.at(run.folder);
      made.energy.seconds = 10;
      made.energy.kind = record::EnergyClass::kMeasured;
    }
    if (!sweep.wholes.empty()) {
      made.kind = "infer";  // a training's whole is that of its epochs
      record::Metric whole = record::plain_number(record::kOverallSpeed, "", "", wholes.at(run.folder));
      whole.unit = "images/s";
      record::add_metric(made, whole);
    }
    record::ReplicaRecord& replica = made.placement.replicas.emplace_back();
    replica.stages.push_back(
        {.device = "cpu", .threads = sweep.threads(static_cast<std::size_t>(cell)), .cpus = {}, .emulated_speed = {}});
    return made;
  });
}

bool claims_anything(const sweeps::Sweep& sweep) {
  for (const std::string& sentence : sweeps::sweep_conclusion(sweep)) {
    const std::size_t between = sentence.find("undecided between");
    if (sentence.find(": best is ") != std::string::npos || sentence.starts_with("The least ") ||
        sentence.starts_with("Against ") ||
        (between != std::string::npos && named_cells(sentence.substr(between)).second < sweep.cells.size())) {
      return true;
    }
  }
  return std::ranges::any_of(
             sweep.scalings,
             [](const auto& one) { return sweeps::scaling_sentence(one).find("are slower:") != std::string::npos; }) ||
         std::ranges::any_of(sweep.cells, [](const sweeps::SweepCellRuns& cell) {
           return cell.claim.verdict != record::Verdict::kUndecided;  // as its row says
         });
}

std::vector<std::string> contradictions(const sweeps::Sweep& sweep) {
  static const std::regex best(
      "best is on=way-(\\d+),.*: ([0-9.]+)x of on=way-(\\d+) .*interval ([0-9.]+) to ([0-9.]*[0-9])");
  static const std::regex counts("the first: (\\d+) better, (\\d+) worse, (\\d+) undecided");
  const std::vector<std::string> speedups = column_of(sweep, "speedup"), verdicts = column_of(sweep, "verdict");
  std::vector<std::string> found;
  std::smatch match;
  for (const std::string& sentence : sweeps::sweep_conclusion(sweep)) {
    const auto expect = [&](const std::string& row, const std::string& said) {
      if (row != said) found.push_back("'" + row + "' in the table, and: " + sentence);
    };
    const auto ratio = [](double mean, double low, double high) {
      return sweeps::speedup_text({.speedup = mean, .interval = record::Interval{low, high}});
    };
    if (std::regex_search(sentence, match, best)) {
      const std::size_t winner = std::stoul(match[1]), other = std::stoul(match[3]);
      const double mean = std::stod(match[2]), low = std::stod(match[4]), high = std::stod(match[5]);
      if (winner == 0) {
        // Of three digits each: their product is 1 to about a per cent.
        const double product = mean * std::stod(speedups.at(other));
        expect(verdicts.at(other), "slower");
        if (std::abs(product - 1) > 0.011) expect(speedups.at(other), ratio(mean, low, high));
      } else {
        expect(verdicts.at(winner), "faster");
        expect(speedups.at(winner), ratio(mean, low, high));
      }
    } else if (const auto at = sentence.find("is undecided between");
               at != std::string::npos && sentence.find("which of the") < at) {
      const auto [leaders, number] = named_cells(sentence.substr(at));
      for (const std::size_t leader : leaders) {
        if (leader != 0 && leaders.contains(0)) expect(verdicts.at(leader), "undecided");
      }
    } else if (std::regex_search(sentence, match, counts)) {
      expect(std::to_string(std::ranges::count(verdicts, "faster")), match[1]);
      expect(std::to_string(std::ranges::count(verdicts, "slower")), match[2]);
    }
  }
  for (const sweeps::SweepScaling& scaling : sweep.scalings) {
    if (scaling.cells.front() != 0 || sweep.scalings.size() > 1) continue;
    const report::Table table = sweeps::scaling_table(sweep);
    for (std::size_t n = 1; n < scaling.cells.size(); ++n) {
      std::string row = speedups.at(scaling.cells[n]);
      row.erase(row.find('x'), 1);
      if (table.rows.at(n).at(2) != row) found.push_back("'" + row + "' of the table scales by " + table.rows[n][2]);
    }
  }
  return found;
}

}  // namespace evener::test
