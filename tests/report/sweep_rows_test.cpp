// Rows that are rare in sweeps: runs for energy alone, INVALID ones, cells that were added later, runs that agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/made_sweep_helpers.h"
#include "report/sweep_claims.h"
#include "report/sweep_simulation_helpers.h"

namespace evener::report {
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
  const Table table = sweep_table(sweep);
  const auto column = std::ranges::find(table.columns, title, &Column::title);
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
  EXPECT_THAT(sweep.jobs[0].leaders, ElementsAre(2, 0, 1));
  EXPECT_EQ(sweep.cells[1].claim.verdict, record::Verdict::kSlower);
  EXPECT_EQ(sweep.cells[2].claim.verdict, record::Verdict::kUndecided);
}

TEST(SweepRows, NothingIsComparedWithAnInvalidFirstCell) {
  const Sweep sweep = made_sweep(simulated_record(3, 4), joined({invalid(kFirst, 3), kSlower, kFaster}));
  EXPECT_EQ(sweep.claims, 0U);
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
  EXPECT_THAT(sweep.jobs[0].leaders, ElementsAre(2, 0, 1));
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
  sweep.jobs.clear();
  make_claims(sweep);
  EXPECT_EQ(sweep.main_figure, "images_per_s") << "the second cell has no latency";
  sweep.cells[1].figures.insert(sweep.cells[1].figures.begin(), latency);
  sweep.jobs.clear();
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

TEST(ScalingSentence, SaysNothingOfAShareThatCouldBeAny) {
  SweepScaling scaling;
  scaling.name = "threads";
  scaling.scaling.workers.resize(2);
  scaling.scaling.workers.back().workers = 2;
  scaling.scaling.fit = record::AmdahlFit{};
  scaling.scaling.fit->serial_share = 0.4;
  scaling.scaling.share_interval = record::Interval{0, 1};
  EXPECT_EQ(scaling_sentence(scaling), "");
  scaling.scaling.share_interval = record::Interval{0.2, 1};
  EXPECT_THAT(scaling_sentence(scaling), HasSubstr("40.0 % of the work stays serial"));
}

}  // namespace

}  // namespace evener::report
