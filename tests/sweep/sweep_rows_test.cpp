// Rows that are rare in sweeps: runs for energy alone, INVALID ones, cells that were added later, runs that agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sweep/figures/sweep.h"
#include "sweep/figures/sweep_claims.h"
#include "sweep/figures/sweep_page.h"
#include "sweep/made_sweep_helpers.h"
#include "sweep/sweep_simulation_helpers.h"

namespace evener::sweeps {
namespace {

using test::made_sweep;
using test::MadeRun;
using test::runs_in_blocks;
using test::simulated_record;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;
using Runs = std::vector<MadeRun>;
using record::EnergyClass;

Runs joined(const std::vector<Runs>& parts) {
  Runs runs;
  for (const Runs& part : parts) runs.insert(runs.end(), part.begin(), part.end());
  return runs;
}

Runs invalid(Runs runs, std::size_t which) {
  runs[which].end = record::RunEnd::kInvalid;
  return runs;
}

std::vector<double> values_of(const SweepCellRuns& cell, const std::string& name) {
  std::vector<double> values;
  for (const record::BlockValue& one : cell.figure(name)->values) values.push_back(one.value);
  return values;
}

std::string in_table(const Sweep& sweep, std::size_t row, const std::string& title) {
  const report::Table table = sweep_table(sweep);
  const auto column = std::ranges::find(table.columns, title, &report::Column::title);
  return column == table.columns.end() ? "no column " + title
                                       : table.rows[row][static_cast<std::size_t>(column - table.columns.begin())];
}

std::string csv_line_of(const Sweep& sweep, const std::string& begin) {
  const std::string csv = sweep_csv(sweep);
  const std::size_t at = csv.find("\n" + begin);
  return at == std::string::npos ? "no such line" : csv.substr(at + 1, csv.find('\n', at + 1) - at - 1);
}

TEST(SweepRows, RunsForEnergyGiveNothingElseAndTheOthersNoEnergy) {
  auto record = simulated_record(1, 3);
  record.energy_repeats = 2;
  Runs runs = runs_in_blocks(0, {100, 110, 120});
  for (MadeRun& run : runs) run.joules = 7;
  runs.push_back({.block = 1, .speed = 55, .part = record::kEnergyPart, .joules = 30});
  runs.push_back({.block = 2, .speed = 56, .part = record::kEnergyPart, .joules = 40});
  runs.push_back({.block = 1, .speed = 1, .part = record::kWarmupPart, .joules = 1});
  runs.push_back({.block = 4, .speed = 2, .joules = 2, .series = 2});
  const Sweep sweep = made_sweep(record, runs);
  EXPECT_THAT(values_of(sweep.cells[0], "images_per_s"), ElementsAre(100, 110, 120));
  EXPECT_THAT(values_of(sweep.cells[0], "energy_joules"), ElementsAre(30, 40));
  EXPECT_EQ(in_table(sweep, 0, "runs"), "3 + 2 for energy");
  EXPECT_THAT(csv_line_of(sweep, "way-0,2,measure"), AllOf(HasSubstr(",110,"), Not(HasSubstr("measured"))));
  EXPECT_THAT(csv_line_of(sweep, "way-0,2,energy"),
              AllOf(HasSubstr(",40,measured"), Not(HasSubstr(",110,")), Not(HasSubstr(",56,"))));
  EXPECT_THAT(sweep_conclusion(sweep)[0], HasSubstr("over 3 runs"));
  EXPECT_THAT(sweep.notes, ElementsAre(HasSubstr("1 run of another program or machine is not shown")));
}

TEST(SweepRows, RunsThatAllCountAreOneNumber) {
  const Sweep sweep = made_sweep(simulated_record(1, 3), invalid(runs_in_blocks(0, {100, 110, 120}), 1));
  EXPECT_EQ(in_table(sweep, 0, "runs"), "3");
  EXPECT_EQ(in_table(sweep, 0, "state"), "1 of 3 INVALID");
}

const Runs kFirst = runs_in_blocks(0, {100, 101, 99, 100.5}), kSlower = runs_in_blocks(1, {80, 81, 79, 80.7}),
           kFaster = runs_in_blocks(2, {150, 151, 148, 150.2});

TEST(SweepRows, WithoutTroubleTheBestIsNamed) {
  const Sweep sweep = made_sweep(simulated_record(3, 4), joined({kFirst, kSlower, kFaster}));
  EXPECT_EQ(sweep.jobs[0].winner, 2U);
  EXPECT_THAT(sweep.jobs[0].leaders, ElementsAre(2));
  EXPECT_EQ(sweep.claims, 3U);
  EXPECT_EQ(sweep.cells[1].claim.verdict, record::Verdict::kSlower);
  EXPECT_FALSE(sweep.cells[1].claim.to_decide.has_value()) << "nothing is left to decide";
  EXPECT_THAT(
      sweep_conclusion(sweep),
      ElementsAre(AllOf(HasSubstr("best is on=way-2"), HasSubstr("1.50x of on=way-0")),
                  "Against on=way-0, the first: 1 better, 1 worse, 0 undecided (corrected for 3 comparisons)."));
}

TEST(SweepRows, ACellWithAnInvalidRunIsNeitherBeatenNorCompared) {
  const Sweep sweep = made_sweep(simulated_record(3, 4), joined({kFirst, invalid(kSlower, 2), kFaster}));
  EXPECT_FALSE(sweep.jobs[0].winner.has_value());
  EXPECT_FALSE(sweep.jobs[0].to_decide.has_value());
  EXPECT_THAT(sweep.jobs[0].leaders, ElementsAre(2, 1)) << "the first cell is beaten";
  EXPECT_EQ(sweep.claims, 1U);
  EXPECT_FALSE(sweep.cells[1].claim.p.has_value());
  EXPECT_EQ(sweep.cells[1].claim.verdict, record::Verdict::kUndecided);
  EXPECT_EQ(sweep.cells[1].claim.reason, "the measurements are INVALID");
  EXPECT_EQ(sweep.cells[2].claim.verdict, record::Verdict::kFaster);
  EXPECT_THAT(sweep_conclusion(sweep)[0], HasSubstr("of INVALID measurements nothing is claimed"));
}

TEST(SweepRows, AnInvalidBestCellBeatsNone) {
  const Sweep sweep = made_sweep(simulated_record(3, 4), joined({kFirst, kSlower, invalid(kFaster, 0)}));
  EXPECT_FALSE(sweep.jobs[0].winner.has_value());
  EXPECT_THAT(sweep.jobs[0].leaders, ElementsAre(2, 0)) << "the second is slower than the first";
  EXPECT_EQ(sweep.cells[1].claim.verdict, record::Verdict::kSlower);
  EXPECT_EQ(sweep.cells[2].claim.verdict, record::Verdict::kUndecided);
}

TEST(SweepRows, NothingIsComparedWithAnInvalidFirstCell) {
  const Sweep sweep = made_sweep(simulated_record(3, 4), joined({invalid(kFirst, 3), kSlower, kFaster}));
  EXPECT_EQ(sweep.claims, 1U) << "the other two";
  EXPECT_EQ(sweep.cells[2].claim.reason, "the measurements are INVALID");
  EXPECT_THAT(sweep.jobs[0].leaders, ElementsAre(2, 0)) << "the other two may be compared";
}

TEST(SweepRows, ACellThatWasAddedLaterIsNotCompared) {
  const Sweep sweep =
      made_sweep(simulated_record(3, 4), joined({kFirst, kSlower, runs_in_blocks(2, {150, 151, 148, 150}, 5)}));
  const CellClaim& claim = sweep.cells[2].claim;
  EXPECT_NEAR(*claim.speedup, 1.5, 0.01);
  EXPECT_FALSE(claim.interval || claim.p || claim.to_decide);
  EXPECT_THAT(claim.reason, StartsWith("none of their runs were made side by side"));
  EXPECT_THAT(sweep.jobs[0].leaders, ElementsAre(2, 0));
  EXPECT_THAT(sweep_conclusion(sweep)[0],
              HasSubstr("not all of them share 3 blocks, and only runs that were made side by side are compared"));
}

// Of two works with two cells each, either difference is likely by chance in one of thirty sweeps: with two of them
// that is too often to claim one, and then nobody is the only leader.
TEST(SweepRows, TheLeadersAreCorrectedForAllClaimsToo) {
  Runs runs = joined({kFirst, runs_in_blocks(1, {101.0, 104.5, 100.6, 103.4})});
  for (const std::size_t cell : {2U, 3U}) {
    for (MadeRun& run : runs_in_blocks(cell, {100, 99, 101, 100})) {
      run.model = "resnet18";
      runs.push_back(run);
    }
  }
  const Sweep sweep = made_sweep(simulated_record(4, 4), runs);
  ASSERT_EQ(sweep.jobs.size(), 2U);
  const double p =
      *compare_figures(*sweep.cells[0].figure("images_per_s"), *sweep.cells[1].figure("images_per_s"), 0).p;
  ASSERT_LT(p, 0.05);
  ASSERT_GT(p, 0.025);
  EXPECT_NEAR(*sweep.cells[1].claim.p, 2 * p, 1e-12);
  EXPECT_FALSE(sweep.jobs[0].winner.has_value());
  EXPECT_THAT(sweep.jobs[0].leaders, ElementsAre(1, 0));
  EXPECT_EQ(sweep.cells[1].claim.reason, "chance alone may do this among so many comparisons");
}

TEST(SweepRows, WhatIsTheSameInAllRunsIsToldSo) {
  const Sweep sweep = made_sweep(simulated_record(1, 3), runs_in_blocks(0, {100, 110, 120}));
  EXPECT_EQ(mean_text(*sweep.cells[0].figure("test_accuracy"), true), "97.2 % in each run");
  EXPECT_EQ(mean_text(*sweep.cells[0].figure("images_per_s"), true), "110 [100 to 120]");
  EXPECT_EQ(mean_text(*sweep.cells[0].figure("images_per_s"), false), "110");
  const auto json = nlohmann::json::parse(sweep_json(sweep));
  const auto& speed = json["cells"][0]["figures"]["images_per_s"];
  EXPECT_EQ(speed["range"], nlohmann::json({100, 120}));
  EXPECT_FALSE(speed.contains("interval_95"));
}

TEST(SweepRows, JsonTellsHowManyRunsWouldDecide) {
  const Sweep sweep = test::simulate(simulated_record(2, 4), {.speeds = {100, 100.8}}, 3);
  ASSERT_TRUE(sweep.jobs[0].to_decide.has_value());
  const auto json = nlohmann::json::parse(sweep_json(sweep));
  EXPECT_EQ(json["runs_to_decide"], nlohmann::json({*sweep.jobs[0].to_decide}));
  EXPECT_EQ(json["cells"][1]["runs_to_decide"], *sweep.jobs[0].to_decide) << "of two cells it is the same question";
  EXPECT_TRUE(json["cells"][0]["runs_to_decide"].is_null());
}

// By which figure cells are compared, and how they are called beside each other.

Sweep two_ways() {
  return test::simulate(test::simulated_record(2, 5), {.speeds = {100, 200}}, 1);
}

TEST(MainFigure, IsASpeedThatAllCellsHave) {
  Sweep sweep = two_ways();
  const SweepFigure speed = *sweep.cells[0].figure("images_per_s");
  SweepFigure latency = speed;
  latency.metric.name = "latency";
  sweep.cells[0].figures.insert(sweep.cells[0].figures.begin(), latency);
  make_claims(sweep);
  EXPECT_EQ(sweep.main_figure, "images_per_s") << "the second cell has no latency";
  sweep.cells[1].figures.insert(sweep.cells[1].figures.begin(), latency);
  make_claims(sweep);
  EXPECT_EQ(sweep.main_figure, "latency");
}

TEST(NameAmong, LeavesOutWhatIsTheSame) {
  Sweep sweep = two_ways();
  sweep.record.axes.push_back({.names = {"batch"}, .steps = {{"8"}, {"16"}}});
  for (SweepCellRuns& cell : sweep.cells) cell.cell.values["batch"] = "8";
  EXPECT_EQ(name_among(sweep, {0, 1}, 1), "on=way-1");
  sweep.cells[1].cell.values["batch"] = "16";
  EXPECT_EQ(name_among(sweep, {0, 1}, 1), "on=way-1, batch=16");
  EXPECT_EQ(name_among(sweep, {1}, 1), sweep.cells[1].name);
}

TEST(ShownValue, LeavesOutTheFolderThatAllValuesAreIn) {
  const std::vector<record::SweepAxis> axes = {
      {.names = {"model", "precision"}, .steps = {{"runs/a", "fp32"}, {"runs/b", "bf16"}}},
      {.names = {"data"}, .steps = {{"photos/"}, {"more/photos"}}},
      {.names = {"on"}, .steps = {{"cpu/t1"}, {"cpu/t2"}}},
      {.names = {"dir"}, .steps = {{"photos/"}}}};
  EXPECT_EQ(shown_value(axes, "model", "runs/a"), "a");
  EXPECT_EQ(shown_value(axes, "precision", "fp32"), "fp32");
  EXPECT_EQ(shown_value(axes, "data", "more/photos"), "more/photos");
  EXPECT_EQ(shown_value(axes, "on", "cpu/t1"), "cpu/t1");
  EXPECT_EQ(shown_value(axes, "dir", "photos/"), "photos/");
}

TEST(ScalingSentence, SaysThatNothingCanBeSaidOfAShareThatCouldBeAny) {
  SweepScaling scaling;
  scaling.name = "threads";
  scaling.scaling.workers.resize(2);
  scaling.scaling.workers.back().workers = 2;
  scaling.scaling.share_interval = record::Interval{0.45, 1};
  EXPECT_EQ(scaling_sentence(scaling),
            "How much of the work stays serial with more threads these runs can't tell (95 %: 45.0 % to 100.0 %).");
  scaling.scaling.fit = record::AmdahlFit{};
  scaling.scaling.fit->serial_share = 0.4;
  scaling.scaling.share_interval = record::Interval{0.2, 0.6};
  EXPECT_THAT(scaling_sentence(scaling), HasSubstr("40.0 % of the work stays serial"));
}

// Energies of a sweep: of which runs they are, and of which class.

/// A run of a cell: it draws `watts` for `seconds` on 600 images; its energy is known where that was long enough.
struct OneRun {
  double seconds = 1, watts = 1;
  bool known = true;
  EnergyClass kind = EnergyClass::kMeasured;
};
using RunsOfCell = std::vector<OneRun>;

constexpr double kImages = 600;

record::Record record_of(const OneRun& run) {
  record::Record record;
  record.model.name = "model";
  record.kind = "infer";
  record.sessions.emplace_back().images = static_cast<std::int64_t>(kImages);
  record.times.total = run.seconds;
  record.images_per_s.median = kImages / run.seconds;
  record.placement.replicas.emplace_back().stages.push_back(
      {.device = "cpu", .threads = 1, .cpus = {}, .emulated_speed = {}});
  if (!run.known) {
    record.energy.reason = "a window of 0.36 s is too short for the counters (at least 1 s)";
    record.energy.devices.emplace_back();
    return record;
  }
  record.energy.joules = record.energy.work_joules = run.seconds * run.watts;
  record.energy.seconds = run.seconds;
  record.energy.kind = run.kind;
  record.energy.process_joules = record.energy.used_joules = *record.energy.joules / 2;
  record::set_products(record.energy);
  return record;
}

/// A sweep of these cells; the runs of `energy` are its part for energy alone.
Sweep made(const std::vector<RunsOfCell>& measured, const std::vector<RunsOfCell>& energy = {}) {
  record::SweepRecord record = test::simulated_record(measured.size(), static_cast<int>(measured[0].size()));
  record.energy_repeats = energy.empty() ? 0 : static_cast<int>(energy[0].size());
  record::SweepJournal journal;
  std::map<std::string, OneRun> runs;
  const auto add = [&](const std::vector<RunsOfCell>& of, const char* part) {
    for (std::size_t cell = 0; cell < of.size(); ++cell) {
      for (std::size_t n = 0; n < of[cell].size(); ++n) {
        record::SweepRun& run = journal.runs.emplace_back();
        run.cell = record.cells[cell].key;
        run.part = part;
        run.block = static_cast<int>(n) + 1;
        run.folder = run.cell + part + std::to_string(n);
        run.end = record::RunEnd::kDone;
        runs[run.folder] = of[cell][n];
      }
    }
  };
  add(measured, record::kMeasurePart);
  add(energy, record::kEnergyPart);
  return sweep_of(record, journal, [&](const record::SweepRun& run) { return record_of(runs.at(run.folder)); });
}

double mean_of(const Sweep& sweep, std::size_t cell, const char* name) {
  const SweepFigure* figure = sweep.cells[cell].figure(name);
  return figure == nullptr ? NAN : figure->mean.mean.value_or(NAN);
}

TEST(SweepEnergy, IsSaidToBeAbsentWhereAllRunsAreTooShortForTheSensors) {
  const OneRun too_short{.known = false};
  const auto is_told = testing::Contains(HasSubstr("no energy is shown: a window of 0.36 s is too short"));
  EXPECT_THAT(made({{too_short, too_short}, {too_short, too_short}}).notes, is_told);
  EXPECT_THAT(made({{{}, {}}, {{}, {}}}).notes, Not(is_told));
}

/// The rows of the CSV file by title.
std::vector<std::map<std::string, std::string>> csv_rows(const Sweep& sweep) {
  const auto cells_of = [](const std::string& line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) {
        cells.emplace_back();
      } else if (c != '"') {
        cells.back() += c;
      }
    }
    return cells;
  };
  std::istringstream text(sweep_csv(sweep));
  std::string line;
  std::getline(text, line);
  const auto titles = cells_of(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(text, line)) {
    const auto cells = cells_of(line);
    EXPECT_EQ(cells.size(), titles.size());
    for (auto& row = rows.emplace_back(); const std::string& title : titles) row[title] = cells[row.size()];
  }
  return rows;
}

TEST(SweepEnergy, TheMostFrugalIsNamedWhereItIsOneBeyondChance) {
  const auto cell = [](double watts) {
    RunsOfCell runs;
    for (int n = 0; n < 5; ++n) runs.push_back({.seconds = 2, .watts = watts * (1 + 0.01 * (n % 3))});
    return runs;
  };
  EXPECT_THAT(sweep_conclusion(made({cell(40), cell(30), cell(60)})),
              testing::Contains(AllOf(HasSubstr("The least energy (measured) takes "), HasSubstr("(60.5 J): "),
                                      HasSubstr("takes 1.33x as much"))));
  RunsOfCell other = cell(30);
  std::ranges::reverse(other);
  EXPECT_THAT(sweep_conclusion(made({cell(30), other})),
              testing::Contains(HasSubstr("Which takes the least energy (measured) is undecided between")));
  for (OneRun& run : other) run.known = false;
  for (const std::string& sentence : sweep_conclusion(made({cell(30), other}))) {
    EXPECT_THAT(sentence, testing::Not(HasSubstr("least energy")));
  }
}

TEST(SweepEnergy, EnergiesOfDifferentClassesAreNotCompared) {
  const auto cell = [](double watts, EnergyClass kind) {
    RunsOfCell runs;
    for (int n = 0; n < 5; ++n) runs.push_back({.seconds = 2, .watts = watts * (1 + 0.01 * (n % 3)), .kind = kind});
    return runs;
  };
  EXPECT_THAT(
      sweep_conclusion(made({cell(40, EnergyClass::kMeasured), cell(30, EnergyClass::kEstimated)})),
      testing::Contains(AllOf(StartsWith("Which takes the least energy (estimated) is undecided between on=way-1 ("),
                              HasSubstr("; the energy of on=way-0 is measured and that of on=way-1 estimated."))));
}

// Of two cells each figure may differ by chance in one of thirty sweeps: together that is too often to claim one.
TEST(SweepEnergy, SpeedAndEnergyAreCorrectedTogether) {
  const auto runs = [](const std::vector<double>& seconds, const std::vector<double>& joules) {
    RunsOfCell all;
    for (std::size_t n = 0; n < seconds.size(); ++n) {
      all.push_back({.seconds = seconds[n], .watts = joules[n] / seconds[n]});
    }
    return all;
  };
  const std::vector<double> steady = {1, 1.01, 0.99, 1}, less = {0.95, 0.99, 0.965, 0.985};
  const Sweep sweep = made({runs(steady, steady), runs(less, less)});
  const double p =
      *compare_figures(*sweep.cells[0].figure("energy_joules"), *sweep.cells[1].figure("energy_joules"), 0).p;
  ASSERT_LT(p, 0.05);
  ASSERT_GT(p, 0.025);
  EXPECT_EQ(sweep.claims, 2U);
  EXPECT_NEAR(*sweep.cells[1].claim.p, 2 * p, 1e-9);
  EXPECT_THAT(sweep_conclusion(sweep),
              testing::Contains(HasSubstr("Which takes the least energy (measured) is undecided between")));
}

/// Four runs of 0.9 s at 40 W are 36 J each, but too short for a counter; one took 2.1 s and has 84 J. Beside a mean of
/// the five times these 84 J would be those of another run.
TEST(SweepEnergy, OneThatFewRunsKnowHasNoMeanBesideTheTimesOfAll) {
  const OneRun is_short{.seconds = 0.9, .watts = 40, .known = false}, is_long{.seconds = 2.1, .watts = 40};
  const Sweep sweep = made({{is_short, is_short, is_long, is_short, is_short}, RunsOfCell(5, is_long)});
  EXPECT_NEAR(mean_of(sweep, 0, "total_s"), std::exp((4 * std::log(0.9) + std::log(2.1)) / 5), 1e-9);
  for (const char* name : {"energy_joules", "edp_joule_seconds", "ed2p_joule_square_seconds", "images_per_joule",
                           "process_joules", "used_devices_joules"}) {
    EXPECT_TRUE(std::isnan(mean_of(sweep, 0, name))) << name;
    EXPECT_FALSE(std::isnan(mean_of(sweep, 1, name))) << name;
  }
  EXPECT_NEAR(mean_of(sweep, 1, "energy_joules"), 84, 1e-9);
  const SweepFigure* energy = sweep.cells[0].figure("energy_joules");
  EXPECT_THAT(energy->reason, AllOf(HasSubstr("1 of 5 runs have it"), HasSubstr("0.36 s is too short")));
  EXPECT_THAT(sweep.notes, testing::Contains(AllOf(HasSubstr("way-0"), HasSubstr("1 of 5 runs have it"))));
  // What is known of single runs stays.
  const auto rows = csv_rows(sweep);
  EXPECT_EQ(rows[2].at("energy_joules"), "84");
  EXPECT_EQ(rows[1].at("energy_joules"), "");
  const auto json = nlohmann::json::parse(sweep_json(sweep))["cells"][0]["figures"]["energy_joules"];
  EXPECT_TRUE(json["mean"].is_null());
  EXPECT_TRUE(json["range"].is_null());
  EXPECT_THAT(json.value("reason", ""), HasSubstr("1 of 5 runs have it"));
  EXPECT_EQ(json["values"], nlohmann::json({84.0}));
  const report::Table table = sweep_table(sweep);
  const auto column = std::ranges::find(table.columns, "energy", &report::Column::title) - table.columns.begin();
  EXPECT_EQ(table.rows[0][static_cast<std::size_t>(column)], "-");
}

/// Runs for energy alone are longer and slower; each figure is of one kind of run, and no figure of both.
TEST(SweepEnergy, RunsForEnergyAloneGiveAllFiguresOfEnergyAndNoOther) {
  const RunsOfCell timed = {{.seconds = 2, .watts = 999}, {.seconds = 2.5, .watts = 999}, {.seconds = 2, .watts = 999}};
  const RunsOfCell metered = {{.seconds = 8, .watts = 50}, {.seconds = 10, .watts = 50}};
  const Sweep sweep = made({timed}, {metered});
  EXPECT_NEAR(mean_of(sweep, 0, "total_s"), std::cbrt(2 * 2.5 * 2), 1e-9);
  EXPECT_NEAR(mean_of(sweep, 0, "images_per_s"), std::cbrt(300.0 * 240 * 300), 1e-9) << "no speed of an energy run";
  EXPECT_NEAR(mean_of(sweep, 0, "energy_joules"), std::sqrt(400.0 * 500), 1e-9);
  EXPECT_NEAR(mean_of(sweep, 0, "edp_joule_seconds"), std::sqrt(400.0 * 8 * 500 * 10), 1e-6);
  EXPECT_NEAR(mean_of(sweep, 0, "ed2p_joule_square_seconds"), std::sqrt(400.0 * 64 * 500 * 100), 1e-6);
  EXPECT_NEAR(mean_of(sweep, 0, "images_per_joule"), std::sqrt(600 / 400.0 * 600 / 500), 1e-9);
  EXPECT_EQ(sweep.cells[0].figure("images_per_s")->values.size(), 3u);
  EXPECT_EQ(sweep.cells[0].figure("energy_joules")->values.size(), 2u);
  const auto rows = csv_rows(sweep);
  ASSERT_EQ(rows.size(), 5u);
  for (const auto& row : rows) {
    const bool is_metered = row.at("part") == record::kEnergyPart;
    for (const char* name : {"energy_joules", "energy_class", "edp_joule_seconds", "ed2p_joule_square_seconds",
                             "images_per_joule", "process_joules"}) {
      EXPECT_EQ(row.at(name).empty(), !is_metered) << name << " in " << row.at("part");
    }
    for (const char* name : {"images_per_s", "total_s"}) EXPECT_EQ(row.at(name).empty(), is_metered) << name;
  }
  EXPECT_EQ(rows[3].at("energy_joules"), "400");
  EXPECT_EQ(rows[4].at("ed2p_joule_square_seconds"), "50000");
}

TEST(SweepEnergy, KeepsTheClassOfEachCellInTablesFilesAndPlots) {
  const auto of = [](EnergyClass kind) { return RunsOfCell(3, OneRun{.seconds = 5, .watts = 30, .kind = kind}); };
  RunsOfCell both = of(EnergyClass::kMeasured);
  both[2].kind = EnergyClass::kEstimated;
  const Sweep sweep = made({of(EnergyClass::kEstimated), of(EnergyClass::kMeasured), both});
  const report::Table table = sweep_table(sweep);
  const auto column = std::ranges::find(table.columns, "energy is", &report::Column::title) - table.columns.begin();
  std::vector<std::string> classes;
  for (const auto& row : table.rows) classes.push_back(row[static_cast<std::size_t>(column)]);
  EXPECT_THAT(classes, ElementsAre("estimated", "measured", "mixed"));
  const auto json = nlohmann::json::parse(sweep_json(sweep))["cells"];
  const auto class_in = [](const auto& cells, std::size_t n, const char* name) {
    return cells[n]["figures"][name]["class"].template get<std::string>();
  };
  for (const char* name : {"energy_joules", "edp_joule_seconds", "ed2p_joule_square_seconds", "images_per_joule"}) {
    for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(class_in(json, n, name), classes[n]) << name;
  }
  EXPECT_EQ(class_in(json, 0, "process_joules"), "estimated") << "a share of an estimate is one";
  EXPECT_EQ(class_in(json, 1, "process_joules"), "derived");
  EXPECT_FALSE(json[0]["figures"]["images_per_s"].contains("class"));
  const auto rows = csv_rows(sweep);
  std::vector<std::string> of_runs;
  for (const auto& row : rows) of_runs.push_back(row.at("energy_class"));
  EXPECT_THAT(of_runs, ElementsAre("estimated", "estimated", "estimated", "measured", "measured", "measured",
                                   "measured", "measured", "estimated"));
  EXPECT_EQ(sweep.cells[0].figure("energy_joules")->metric.label, "energy (estimated)");
  EXPECT_EQ(sweep.cells[1].figure("energy_joules")->metric.label, "energy (measured)");
  for (const record::Metric& metric : sweep_metrics(sweep)) {
    if (metric.name == "energy_joules") {
      EXPECT_EQ(metric.label, "energy (of several classes)") << "the plot is of all cells";
    }
  }
}

}  // namespace

}  // namespace evener::sweeps
