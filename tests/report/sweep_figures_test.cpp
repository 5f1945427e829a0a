// Which runs a sweep's figures are of, and what its tables say of the rare ones: failed, INVALID, of another series,
// made for energy alone, under way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/test_folder.h"
#include "report/sweep_alike.h"
#include "report/sweep_parts.h"
#include "report/sweep_scaling.h"
#include "report/sweep_simulation_helpers.h"

namespace evener::report {
namespace {

using measure::RunEnd;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

/// A run with its speed, energy and time; what has none is absent.
struct MadeRun {
  std::string cell;
  int block = 1;
  std::optional<double> speed = {}, joules = {}, seconds = {};
  std::string part = measure::kMeasurePart;
  RunEnd end = RunEnd::kDone;
  int series = 1;
  std::string reason = {};
};

measure::Record record_of_run(const MadeRun& run) {
  measure::Record record;
  record.model.name = "model";
  record.images_per_s.median = run.speed;
  record.images_per_s.reason = run.speed ? "" : "not measured";
  record.times.total = run.seconds;
  record.energy.joules = run.joules;
  record.energy.seconds = run.seconds;
  record.energy.kind = run.joules ? measure::EnergyClass::kMeasured : measure::EnergyClass::kAbsent;
  measure::set_products(record.energy);
  record.data.images = 1000;
  record.sessions.resize(1);
  record.sessions[0].images = 1000;
  return record;
}

using Change = std::function<void(const MadeRun&, measure::Record&)>;

Sweep sweep_of_runs(const std::vector<MadeRun>& made, measure::SweepRecord record = test::simulated_record(2, 3),
                    const Change& change = {}) {
  measure::SweepJournal journal;
  for (const MadeRun& one : made) {
    measure::SweepRun& run = journal.runs.emplace_back();
    run.series = one.series;
    run.cell = one.cell;
    run.part = one.part;
    run.block = one.block;
    run.end = one.end;
    run.reason = one.reason;
    run.folder = one.cell + "/" + std::to_string(&one - made.data());
    run.began = "day-" + std::to_string(one.block);
    run.seconds = 7.5;
  }
  return sweep_of(record, journal, [&](const measure::SweepRun& run) {
    const MadeRun& one = made.at(std::stoul(run.folder.substr(run.folder.find('/') + 1)));
    measure::Record filled = record_of_run(one);
    if (change) change(one, filled);
    return filled;
  });
}

std::vector<double> values_of(const Sweep& sweep, std::size_t cell, const std::string& name) {
  std::vector<double> values;
  const SweepFigure* figure = sweep.cells.at(cell).figure(name);
  if (figure == nullptr) return values;
  for (const measure::BlockValue& one : figure->values) values.push_back(one.value);
  return values;
}

TEST(SweepFigures, EnergyComesFromItsOwnRunsAndSpeedsFromTheOthers) {
  const std::vector<MadeRun> runs{
      {.cell = "way-0", .block = 1, .speed = 100, .joules = 900, .seconds = 10},
      {.cell = "way-0", .block = 2, .speed = 104, .joules = 800, .seconds = 11},
      {.cell = "way-0", .block = 1, .speed = 50, .joules = 500, .seconds = 20, .part = measure::kEnergyPart},
      {.cell = "way-0", .block = 2, .speed = 40, .joules = 400, .seconds = 25, .part = measure::kEnergyPart}};
  measure::SweepRecord record = test::simulated_record(2, 3);
  record.energy_repeats = 2;
  const Sweep apart = sweep_of_runs(runs, record);
  EXPECT_THAT(values_of(apart, 0, "images_per_s"), ElementsAre(100, 104));
  EXPECT_THAT(values_of(apart, 0, "total_s"), ElementsAre(10, 11));
  EXPECT_THAT(values_of(apart, 0, "energy_joules"), ElementsAre(500, 400));
  EXPECT_THAT(values_of(apart, 0, "edp_joule_seconds"), ElementsAre(500 * 20, 400 * 25));
  EXPECT_THAT(values_of(apart, 0, "ed2p_joule_square_seconds"), ElementsAre(500 * 400, 400 * 625));
  EXPECT_THAT(values_of(apart, 0, "images_per_joule"), ElementsAre(2, 2.5));
  const std::string csv = sweep_csv(apart);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < csv.size();) {
    const std::size_t end = csv.find('\n', begin);
    lines.push_back(csv.substr(begin, end - begin));
    begin = end + 1;
  }
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_THAT(lines[1], AllOf(HasSubstr("way-0,1,measure,day-1,done,7.5,,way-0/0,100,"), HasSubstr(",10,"),
                              Not(HasSubstr("500")), Not(HasSubstr("900")), Not(HasSubstr("measured"))));
  EXPECT_THAT(lines[2], AllOf(HasSubstr(",104,"), HasSubstr(",11,")));
  EXPECT_THAT(lines[3], AllOf(HasSubstr("way-0,1,energy,"), HasSubstr(",500,measured,"), HasSubstr(",10000,"),
                              HasSubstr(",200000"), Not(HasSubstr(",100,"))));
  EXPECT_THAT(lines[4], AllOf(HasSubstr(",400,measured,"), HasSubstr(",250000")));
  record.energy_repeats = 0;
  EXPECT_THAT(values_of(sweep_of_runs({runs[0], runs[1]}, record), 0, "energy_joules"), ElementsAre(900, 800));
}

TEST(SweepFigures, RunsThatDontCountAreLeftOutAndTold) {
  const std::vector<MadeRun> runs{
      {.cell = "way-0", .block = 1, .speed = 1, .part = measure::kWarmupPart},
      {.cell = "way-0", .block = 1, .speed = 100},
      {.cell = "way-0", .block = 2, .speed = 200, .end = RunEnd::kInvalid},
      {.cell = "way-0", .block = 3, .end = RunEnd::kOutOfTime, .reason = "longer than 5 s"},
      {.cell = "way-0", .block = 4, .speed = 7, .end = RunEnd::kBegun},
      {.cell = "way-0", .block = 1, .speed = 8, .series = 2},
      {.cell = "gone", .block = 1, .speed = 9},
      {.cell = "way-1", .block = 1, .part = measure::kWarmupPart, .end = RunEnd::kFailed, .reason = "no such file"},
  };
  Sweep sweep = sweep_of_runs(runs);
  EXPECT_THAT(values_of(sweep, 0, "images_per_s"), ElementsAre(100, 200));
  EXPECT_EQ(sweep.cells[0].done, 1U);
  EXPECT_EQ(sweep.cells[0].invalid, 1U);
  EXPECT_EQ(sweep.cells[0].failed, 1U);
  EXPECT_EQ(sweep.cells[1].failed, 1U) << "a cell that fails to warm up fails";
  EXPECT_THAT(sweep.notes, UnorderedElementsAre(
                               HasSubstr("1 run of another program or machine is not shown"),
                               HasSubstr("1 run of cells that the sweep has no more, or of other data, is not shown"),
                               HasSubstr("one run is under way")));
  const Table table = sweep_table(sweep);
  EXPECT_EQ(table.rows[0].back(), "out of time, 1 of 2 INVALID");
  EXPECT_EQ(table.rows[1].back(), "failed");
  EXPECT_EQ(table.rows[0][1], "2") << "runs with figures";
  EXPECT_THAT(table.notes, testing::Contains("on=way-0, block 3: out of time: longer than 5 s"));
  EXPECT_THAT(table.notes, testing::Contains("on=way-1, block 1: failed: no such file"));
  EXPECT_THAT(sweep_csv(sweep), HasSubstr("way-0,3,measure,day-3,out of time,7.5,longer than 5 s,"));
  std::vector<MadeRun> more = runs;
  more.push_back({.cell = "way-0", .block = 2, .speed = 8, .series = 2});
  more.push_back({.cell = "gone", .block = 2, .speed = 9});
  more.push_back({.cell = "way-1", .block = 4, .end = RunEnd::kBegun});
  EXPECT_THAT(sweep_of_runs(more).notes,
              UnorderedElementsAre(HasSubstr("2 runs of another program or machine are not shown"),
                                   HasSubstr("2 runs of cells"), HasSubstr("2 runs are under way")));
}

TEST(SweepFigures, ABrokenRecordIsARunThatFailed) {
  const Sweep sweep =
      sweep_of_runs({{.cell = "way-0", .block = 1, .speed = 5}, {.cell = "way-1", .block = 1, .speed = 6}},
                    test::simulated_record(2, 3), [](const MadeRun& run, measure::Record&) {
                      if (run.cell == "way-0") throw Error("record.json is broken");
                    });
  EXPECT_EQ(sweep.cells[0].failed, 1U);
  EXPECT_EQ(sweep.cells[0].done, 0U);
  EXPECT_EQ(sweep.cells[0].runs[0].reason, "record.json is broken");
  EXPECT_EQ(sweep.cells[1].done, 1U);
}

TEST(SweepFigures, StatesAndRunsOfCellsThatHaveNone) {
  const Sweep sweep = sweep_of_runs({{.cell = "way-0", .block = 1, .speed = 5}});
  const Table table = sweep_table(sweep);
  EXPECT_EQ(table.rows[0].back(), "VALID");
  EXPECT_EQ(table.rows[1].back(), "not run yet");
  EXPECT_EQ(table.rows[1][1], "0");
  EXPECT_EQ(table.rows[0][0], "way-0");
}

TEST(SweepFigures, TheMainFigureComesFirstWithSpeedupAndVerdict) {
  std::vector<MadeRun> runs;
  for (int block = 1; block <= 3; ++block) {
    runs.push_back({.cell = "way-0", .block = block, .speed = 100.0 + block, .joules = 40, .seconds = 10});
    runs.push_back({.cell = "way-1", .block = block, .speed = 300.0 + block, .joules = 50, .seconds = 20});
  }
  const Table table = sweep_table(sweep_of_runs(runs));
  std::vector<std::string> titles;
  for (const Column& column : table.columns) titles.push_back(column.title);
  EXPECT_THAT(titles, ElementsAre("on", "runs", "images/s", "speedup", "verdict", "time s", "energy", "energy is",
                                  "EDP", "state"));
  EXPECT_EQ(table.rows[0][3], "1x, the base");
  EXPECT_EQ(table.rows[0][4], "-");
  EXPECT_THAT(table.rows[1][3], HasSubstr("2.96x"));
  EXPECT_EQ(table.rows[1][4], "faster");
  EXPECT_EQ(table.rows[1][6], "50 J");
  EXPECT_EQ(table.rows[1][8], "1,000");
}

TEST(SweepFigures, ACellIsNamedByTheAxesThatDiffer) {
  measure::SweepRecord record = test::simulated_record(2, 3);
  record.axes.push_back({{"batch"}, {{"8"}}});
  for (measure::SweepCell& cell : record.cells) cell.values["batch"] = "8";
  EXPECT_EQ(sweep_of_runs({}, record).cells[1].name, "on=way-1");
  record.axes[0].steps.resize(1);  // one cell of single values
  record.cells.resize(1);
  EXPECT_EQ(sweep_of_runs({}, record).cells[0].name, "on=way-0, batch=8");
  record.axes.clear();
  EXPECT_EQ(sweep_of_runs({}, record).cells[0].name, "the cell");
}

TEST(SweepFigures, FoldersOfSweepsAreFoundAndNotMixedWithOthers) {
  const test::TestFolder folder;
  for (const char* name : {"all/b", "all/a", "one"})
    test::write_text(folder / (std::string(name) + "/sweep.json"), "{}");
  test::write_text(folder / "all/run/record.json", "{}");
  test::write_text(folder / "runs/run/record.json", "{}");
  EXPECT_THAT(sweeps_in({folder / "one", folder / "all"}),
              ElementsAre(folder / "one", folder / "all/a", folder / "all/b"));
  EXPECT_THAT(sweeps_in({folder / "runs"}), IsEmpty());
  EXPECT_THROW(sweeps_in({folder / "one", folder / "runs"}), UsageError);
  EXPECT_THROW(sweeps_in({folder / "runs", folder / "one"}), UsageError);
}

TEST(SweepFigures, TheMethodSaysWhatWasDoneAroundTheRuns) {
  measure::SweepRecord record = test::simulated_record(2, 3);
  record.order_seed = 77;
  const std::string plain = sweep_method_part(sweep_of_runs({}, record));
  EXPECT_THAT(plain, AllOf(HasSubstr("order-seed 77"), Not(HasSubstr("warm-up")), Not(HasSubstr("energy alone")),
                           Not(HasSubstr("cool-down")), Not(HasSubstr("limit of a run"))));
  record.warmup = 1;
  record.energy_repeats = 4;
  record.setup = "say setup";
  record.prepare = "say prepare";
  record.cleanup = "say cleanup";
  record.cool_down = "60 C";
  record.run_limit_s = 90;
  record.version = "9.9";
  record.series = {{1, "t", "old", "machine one"}, {2, "t", "new", "machine two"}};
  record.series_now = 2;
  const std::string html = sweep_method_part(sweep_of_runs({}, record));
  const auto row = [&](const std::string& name, const std::string& value) {
    return HasSubstr("<tr><th>" + name + "</th><td>" + value + "</td></tr>");
  };
  EXPECT_THAT(html, row("warm-up", "1 run of each cell, which don&#39;t count"));
  EXPECT_THAT(html, row("energy", "4 runs of each cell for energy alone"));
  EXPECT_THAT(html, row("before all", "say setup"));
  EXPECT_THAT(html, row("before each run", "say prepare"));
  EXPECT_THAT(html, row("after each run", "say cleanup"));
  EXPECT_THAT(html, row("cool-down", "60 C"));
  EXPECT_THAT(html, row("machine", "machine two"));
  EXPECT_THAT(html, row("program", "version 9.9, files new"));
  EXPECT_THAT(html, Not(HasSubstr("machine one")));
}

/// A cell for each placement, of one run each; more cells than CPUs are told.
Sweep scaling_sweep(const std::vector<std::vector<measure::StageRecord>>& replicas_of_cells,
                    const std::function<void(std::size_t, measure::Record&)>& change = {}) {
  std::vector<MadeRun> runs;
  for (std::size_t n = 0; n < replicas_of_cells.size(); ++n) {
    runs.push_back({.cell = "way-" + std::to_string(n), .block = 1, .speed = 100.0 * static_cast<double>(n + 1)});
  }
  return sweep_of_runs(runs, test::simulated_record(runs.size(), 1), [&](const MadeRun& run, measure::Record& record) {
    const std::size_t cell = std::stoul(run.cell.substr(4));
    for (const measure::StageRecord& stage : replicas_of_cells[cell]) {
      record.placement.replicas.emplace_back().stages.push_back(stage);
    }
    if (change) change(cell, record);
  });
}

measure::StageRecord cpu(int threads) {
  measure::StageRecord stage;
  stage.device = "cpu";
  stage.threads = threads;
  return stage;
}

/// "threads: 1 2 4".
std::vector<std::string> scaling_texts(const Sweep& sweep) {
  std::vector<std::string> texts;
  for (const SweepScaling& scaling : sweep.scalings) {
    std::string text = scaling.name + ":";
    for (const measure::WorkersScaling& one : scaling.scaling.workers) text += " " + std::to_string(one.workers);
    texts.push_back(text);
  }
  return texts;
}

TEST(SweepScalingRules, WorkersAreThreadsOfOneReplicaOrReplicasOfOneThread) {
  EXPECT_THAT(scaling_texts(scaling_sweep({{cpu(4)}, {cpu(1)}, {cpu(2)}})), ElementsAre("threads: 1 2 4"));
  EXPECT_THAT(scaling_texts(scaling_sweep({{cpu(1)}, {cpu(1), cpu(1), cpu(1)}, {cpu(2), cpu(2)}})),
              ElementsAre("processes of one thread: 1 3"))
      << "two of two threads are neither";
  EXPECT_THAT(scaling_texts(scaling_sweep({{cpu(1)}, {cpu(1), cpu(2)}})), IsEmpty()) << "unlike replicas";
  measure::StageRecord slowed = cpu(2), gpu = cpu(2);
  slowed.emulated_speed = 0.5;
  gpu.device = "cuda:0";
  EXPECT_THAT(scaling_texts(scaling_sweep({{cpu(1)}, {slowed}})), IsEmpty());
  EXPECT_THAT(scaling_texts(scaling_sweep({{cpu(1)}, {gpu}})), IsEmpty());
  EXPECT_THAT(scaling_texts(scaling_sweep({{cpu(1)}})), IsEmpty());
  EXPECT_THAT(scaling_texts(scaling_sweep({{cpu(2)}, {cpu(2)}})), IsEmpty()) << "one number of workers alone";
}

TEST(SweepScalingRules, MoreThreadsThanCpusAreNoMoreWorkers) {
  const auto cells = std::vector<std::vector<measure::StageRecord>>{{cpu(1)}, {cpu(2)}, {cpu(3)}};
  const auto with = [&](int logical, std::optional<double> quota) {
    return scaling_sweep(cells, [=](std::size_t, measure::Record& record) {
      record.machine.logical_cpus = logical;
      record.machine.quota_cpus = quota;
    });
  };
  EXPECT_THAT(scaling_texts(with(3, {})), ElementsAre("threads: 1 2 3"));
  const Sweep two = with(2, {});
  EXPECT_THAT(scaling_texts(two), ElementsAre("threads: 1 2"));
  EXPECT_THAT(two.notes, ElementsAre("on=way-2 is left out of the scaling: 3 threads on 2 CPUs are no more workers"));
  EXPECT_THAT(scaling_texts(with(8, 1.5)), ElementsAre("threads: 1 2")) << "a quota of 1.5 lets two threads run";
  EXPECT_THAT(scaling_texts(with(2, 7)), ElementsAre("threads: 1 2"));
  EXPECT_THAT(scaling_texts(with(0, {})), ElementsAre("threads: 1 2 3")) << "it is not known how many there are";
  const Sweep one = with(1, {});
  EXPECT_EQ(one.notes.size(), 2U);
  EXPECT_THAT(one.notes[0], HasSubstr("2 threads on 1 CPU are"));
}

TEST(SweepScalingRules, SpeedupsAreOfTimesForTheSameWork) {
  const Sweep sweep = scaling_sweep({{cpu(1)}, {cpu(2)}, {cpu(4)}});  // 100, 200, 300 images/s
  ASSERT_EQ(sweep.scalings.size(), 1U);
  const auto& workers = sweep.scalings[0].scaling.workers;
  EXPECT_FALSE(workers[0].speedup.has_value());
  EXPECT_NEAR(workers[1].speedup->mean, 2, 1e-9);
  EXPECT_NEAR(workers[2].speedup->mean, 3, 1e-9);
  EXPECT_NEAR(workers[2].efficiency->mean, 0.75, 1e-9);
  EXPECT_NEAR(workers[2].karp_flatt->mean, 1.0 / 9, 1e-9) << "(1/3 - 1/4) / (1 - 1/4)";
  EXPECT_THAT(sweep.scalings[0].cells, ElementsAre(0, 1, 2));
  const Table table = scaling_table(sweep);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[2][1], "4");
  EXPECT_THAT(table.rows[2][2], testing::StartsWith("3.00"));
  EXPECT_THAT(table.rows[2][3], testing::StartsWith("75.0 %"));
  EXPECT_THAT(table.rows[2][4], testing::StartsWith("11.1 %"));
  EXPECT_EQ(table.rows[0][2], "-");
}

TEST(SweepScalingRules, CellsThatDifferInMoreScaleApart) {
  measure::SweepRecord record = test::simulated_record(4, 1);
  record.axes.push_back({{"batch"}, {{"8"}, {"16"}}});
  std::vector<MadeRun> runs;
  for (std::size_t n = 0; n < 4; ++n) {
    record.cells[n].values["batch"] = n < 2 ? "8" : "16";
    runs.push_back({.cell = "way-" + std::to_string(n), .block = 1, .speed = 100.0 + static_cast<double>(n)});
  }
  const Sweep sweep = sweep_of_runs(runs, record, [](const MadeRun& run, measure::Record& made) {
    const bool is_odd = run.cell == "way-1" || run.cell == "way-3";
    made.placement.replicas.emplace_back().stages.push_back(cpu(is_odd ? 2 : 1));
  });
  EXPECT_THAT(scaling_texts(sweep), UnorderedElementsAre("threads, batch=8: 1 2", "threads, batch=16: 1 2"));
}

TEST(SweepAlike, CellsThatComputedTheSameAreNoted) {
  const auto notes = [](const std::function<void(std::size_t, measure::Record&)>& change) {
    return alike_notes(scaling_sweep({{cpu(2)}, {cpu(2)}, {cpu(2)}}, [&](std::size_t cell, measure::Record& record) {
      record.config = {{"seed", "1"}, {"on", std::to_string(cell)}};
      change(cell, record);
    }));
  };
  EXPECT_THAT(notes([](std::size_t, measure::Record&) {}),
              ElementsAre(HasSubstr("on=way-1 and on=way-2 ran as on=way-0:")));
  EXPECT_THAT(notes([](std::size_t cell, measure::Record& record) {
                if (cell == 0) record.config["seed"] = "2";
              }),
              ElementsAre(HasSubstr("on=way-2 ran as on=way-1:")));
  EXPECT_THAT(notes([](std::size_t cell, measure::Record& record) {
                record.placement.replicas[0].stages[0].threads = static_cast<int>(cell) + 1;
              }),
              IsEmpty());
  EXPECT_THAT(notes([](std::size_t cell, measure::Record& record) {
                record.placement.replicas[0].stages[0].emulated_speed = 0.5 + 0.1 * static_cast<double>(cell);
              }),
              IsEmpty());
  EXPECT_THAT(notes([](std::size_t, measure::Record& record) { record.config.clear(); }), IsEmpty())
      << "nothing is known of them";
}

TEST(SweepPlotData, HasEachCellsValuesBlocksAndEnds) {
  std::vector<MadeRun> runs{{.cell = "way-0", .block = 1, .speed = 100, .joules = 5, .seconds = 2},
                            {.cell = "way-0", .block = 4, .speed = 110, .joules = 6, .seconds = 3}};
  measure::SweepRecord record = test::simulated_record(2, 3);
  record.axes.push_back({{"batch", "lr"}, {{"8", "0.1"}, {"8", "0.2"}, {"16", "0.1"}}});
  record.axes.push_back({{"seed"}, {{"1"}}});
  record.cells[0].predicted = measure::CellPrediction{.images_per_s = 90, .run_s = 1};
  const auto json = nlohmann::json::parse(sweep_plot_data(sweep_of_runs(runs, record)));
  EXPECT_EQ(json["main"], "images_per_s");
  ASSERT_EQ(json["axes"].size(), 3U) << "of each name, where there is a choice";
  EXPECT_EQ(json["axes"][1]["name"], "batch");
  EXPECT_EQ(json["axes"][1]["values"], (nlohmann::json{"8", "16"}));
  EXPECT_EQ(json["axes"][2]["values"], (nlohmann::json{"0.1", "0.2"}));
  const auto& speed = json["cells"][0]["figures"]["images_per_s"];
  EXPECT_EQ(speed["values"], (nlohmann::json{100, 110}));
  EXPECT_EQ(speed["blocks"], (nlohmann::json{1, 4}));
  EXPECT_EQ(speed["low"], 100);
  EXPECT_EQ(speed["high"], 110);
  EXPECT_EQ(json["cells"][0]["predicted"], 90);
  EXPECT_TRUE(json["cells"][1]["predicted"].is_null());
  EXPECT_TRUE(json["cells"][1]["figures"].empty());
  EXPECT_EQ(json["figures"][0]["name"], "images_per_s");
  EXPECT_EQ(json["figures"][0]["better"], "higher");
  EXPECT_EQ(json["fronts"][0]["x"], "total_s");
  EXPECT_EQ(json["fronts"][0]["y"], "energy_joules");
  EXPECT_EQ(json["fronts"][0]["front"], (nlohmann::json{true, false}));
}

TEST(SweepParts, AxesOfNumbersAreDrawnAlong) {
  Sweep sweep;
  sweep.record.axes = {{{"batch"}, {{"8"}, {"16"}}},  {{"size"}, {{"32x32"}, {"64x64"}}},
                       {{"lr"}, {{"0.1"}, {"1e-2"}}}, {{"on"}, {{"cpu/t1"}, {"cpu/t2"}}},
                       {{"seed"}, {{"1"}}},           {{"a", "b"}, {{"1", "x"}, {"2", "y"}}},
                       {{"v"}, {{".5"}, {"1"}}},      {{"w"}, {{"5."}, {"1"}}},
                       {{"e"}, {{""}, {"1"}}}};
  EXPECT_THAT(numeric_axes(sweep), ElementsAre("batch", "size", "a"));
}

TEST(SweepParts, TablesSortByTheNumberThatLeads) {
  Table table;
  table.columns = {{"name", false}, {"x", true}};
  for (const char* text : {"26.9 (26.1 to 27.7)", "1,234 MB", "-5 %", "-", "fast 3", "12 [11 to 13]"}) {
    table.rows.push_back({"<a>", text});
  }
  table.notes = {"a & b"};
  const std::string html = table_html(table, true);
  EXPECT_THAT(html,
              AllOf(HasSubstr("data-sort=\"26.9\""), HasSubstr("data-sort=\"1234\""), HasSubstr("data-sort=\"-5\"")));
  EXPECT_THAT(html, HasSubstr("<span>26.9</span> <span>(26.1 to 27.7)</span>"));
  EXPECT_THAT(html, HasSubstr("<span>12</span> <span>[11 to 13]</span>"));
  EXPECT_THAT(
      html, AllOf(Not(HasSubstr("data-sort=\"-\"")), Not(HasSubstr("data-sort=\"3\"")), HasSubstr("data-sort=\"12\"")));
  EXPECT_THAT(html, AllOf(HasSubstr("&lt;a&gt;"), HasSubstr("<li>a &amp; b</li>"), HasSubstr("class=\"sort\"")));
  EXPECT_THAT(table_html(table, false), AllOf(Not(HasSubstr("class=\"sort\"")), Not(HasSubstr("sortable\""))));
}

TEST(SweepParts, RunsAreListedWithWhatTheyWereAndCameTo) {
  measure::SweepRecord record = test::simulated_record(2, 3);
  record.cells[0].environment = {{"OMP", "1"}};
  record.cells[0].words = {"train", "--x"};
  record.energy_repeats = 1;
  Sweep sweep = sweep_of_runs({{.cell = "way-0", .block = 3, .speed = 5},
                               {.cell = "way-0", .block = 2, .joules = 5, .part = measure::kEnergyPart},
                               {.cell = "way-0", .block = 4, .end = RunEnd::kFailed, .reason = "why <so>"}},
                              record);
  const std::string html = sweep_runs_part(sweep);
  EXPECT_THAT(html, AllOf(HasSubstr("on=way-0: 3 runs"), HasSubstr("on=way-1: 0 runs"), HasSubstr("OMP=1")));
  EXPECT_THAT(
      html, AllOf(HasSubstr(">3<"), HasSubstr(">energy 2<"), HasSubstr("failed: why &lt;so&gt;"), HasSubstr("7.5 s")));
}

}  // namespace
}  // namespace evener::report
