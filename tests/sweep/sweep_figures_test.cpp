// Which runs a sweep's figures are of, and what its tables say of the rare ones: failed, INVALID, of another series,
// made for energy alone, under way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_folder.h"
#include "sweep/figures/sweep_page.h"
#include "sweep/made_sweep_helpers.h"

namespace evener::sweeps {
namespace {

using record::RunEnd;
using test::CellRun;
using test::sweep_of_runs;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

std::vector<double> values_of(const Sweep& sweep, std::size_t cell, const std::string& name) {
  std::vector<double> values;
  const SweepFigure* figure = sweep.cells.at(cell).figure(name);
  if (figure == nullptr) return values;
  for (const record::BlockValue& one : figure->values) values.push_back(one.value);
  return values;
}

TEST(SweepFigures, EnergyComesFromItsOwnRunsAndSpeedsFromTheOthers) {
  const std::vector<CellRun> runs{
      {.cell = "way-0", .block = 1, .speed = 100, .joules = 900, .seconds = 10},
      {.cell = "way-0", .block = 2, .speed = 104, .joules = 800, .seconds = 11},
      {.cell = "way-0", .block = 1, .speed = 50, .joules = 500, .seconds = 20, .part = record::kEnergyPart},
      {.cell = "way-0", .block = 2, .speed = 40, .joules = 400, .seconds = 25, .part = record::kEnergyPart}};
  record::SweepRecord record = test::simulated_record(2, 3);
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
  const std::vector<CellRun> runs{
      {.cell = "way-0", .block = 1, .speed = 1, .part = record::kWarmupPart},
      {.cell = "way-0", .block = 1, .speed = 100},
      {.cell = "way-0", .block = 2, .speed = 200, .end = RunEnd::kInvalid},
      {.cell = "way-0", .block = 3, .end = RunEnd::kOutOfTime, .reason = "longer than 5 s"},
      {.cell = "way-0", .block = 4, .speed = 7, .end = RunEnd::kBegun},
      {.cell = "way-0", .block = 1, .speed = 8, .series = 2},
      {.cell = "gone", .block = 1, .speed = 9},
      {.cell = "way-1", .block = 1, .part = record::kWarmupPart, .end = RunEnd::kFailed, .reason = "no such file"},
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
  const report::Table table = sweep_table(sweep);
  EXPECT_EQ(table.rows[0].back(), "out of time, 1 of 2 INVALID");
  EXPECT_EQ(table.rows[1].back(), "failed");
  EXPECT_EQ(table.rows[0][1], "2") << "runs with figures";
  EXPECT_THAT(table.notes, testing::Contains("on=way-0, block 3: out of time: longer than 5 s"));
  EXPECT_THAT(table.notes, testing::Contains("on=way-1, block 1: failed: no such file"));
  EXPECT_THAT(sweep_csv(sweep), HasSubstr("way-0,3,measure,day-3,out of time,7.5,longer than 5 s,"));
  std::vector<CellRun> more = runs;
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
                    test::simulated_record(2, 3), [](const CellRun& run, record::Record&) {
                      if (run.cell == "way-0") throw Error("record.json is broken");
                    });
  EXPECT_EQ(sweep.cells[0].failed, 1U);
  EXPECT_EQ(sweep.cells[0].done, 0U);
  EXPECT_EQ(sweep.cells[0].runs[0].reason, "record.json is broken");
  EXPECT_EQ(sweep.cells[1].done, 1U);
}

TEST(SweepFigures, StatesAndRunsOfCellsThatHaveNone) {
  const Sweep sweep = sweep_of_runs({{.cell = "way-0", .block = 1, .speed = 5}});
  const report::Table table = sweep_table(sweep);
  EXPECT_EQ(table.rows[0].back(), "VALID");
  EXPECT_EQ(table.rows[1].back(), "not run yet");
  EXPECT_EQ(table.rows[1][1], "0");
  EXPECT_EQ(table.rows[0][0], "way-0");
}

TEST(SweepFigures, TheMainFigureComesFirstWithSpeedupAndVerdict) {
  std::vector<CellRun> runs;
  for (int block = 1; block <= 3; ++block) {
    runs.push_back({.cell = "way-0", .block = block, .speed = 100.0 + block, .joules = 40, .seconds = 10});
    runs.push_back({.cell = "way-1", .block = block, .speed = 300.0 + block, .joules = 50, .seconds = 20});
  }
  const report::Table table = sweep_table(sweep_of_runs(runs));
  std::vector<std::string> titles;
  for (const report::Column& column : table.columns) titles.push_back(column.title);
  EXPECT_THAT(titles, ElementsAre("on", "runs", "images/s", "speedup", "verdict", "time s", "energy", "energy is",
                                  "EDP J s", "state"));
  EXPECT_EQ(table.rows[0][3], "1x, the base");
  EXPECT_EQ(table.rows[0][4], "-");
  EXPECT_THAT(table.rows[1][3], HasSubstr("2.96x"));
  EXPECT_EQ(table.rows[1][4], "faster");
  EXPECT_EQ(table.rows[1][6], "50 J");
  EXPECT_EQ(table.rows[1][8], "1,000");
}

TEST(SweepFigures, AFigureOfTwoRunsHasItsRangeAndOneOfARunItself) {
  const Sweep sweep = sweep_of_runs({{.cell = "way-0", .block = 1, .speed = 100},
                                     {.cell = "way-0", .block = 2, .speed = 121},
                                     {.cell = "way-1", .block = 1, .speed = 300}});
  const auto text = [&](std::size_t cell, bool with_spread) {
    return mean_text(*sweep.cells[cell].figure("images_per_s"), with_spread);
  };
  EXPECT_EQ(text(0, true), "110 [100 to 121]");
  EXPECT_EQ(text(0, false), "110");
  EXPECT_EQ(text(1, true), "300");
  EXPECT_EQ(mean_text(SweepFigure{}, true), "-");
}

TEST(SweepFigures, ACellIsNamedByTheAxesThatDiffer) {
  record::SweepRecord record = test::simulated_record(2, 3);
  record.axes.push_back({{"batch"}, {{"8"}}});
  for (record::SweepCell& cell : record.cells) cell.values["batch"] = "8";
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
  record::SweepRecord record = test::simulated_record(2, 3);
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
  record.steady = "epochs = 12";
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
  EXPECT_THAT(html, row("length of a run", "epochs = 12"));
  EXPECT_THAT(html, row("machine", "machine two"));
  EXPECT_THAT(html, row("program", "version 9.9, files new"));
  EXPECT_THAT(html, Not(HasSubstr("machine one")));
}

TEST(SweepSentences, ACellAloneIsToldWithItsRuns) {
  record::SweepRecord one = test::simulated_record(1, 3);
  EXPECT_THAT(sweep_conclusion(sweep_of_runs({}, one)), ElementsAre("No run has left figures yet."));
  const Sweep sweep =
      sweep_of_runs({{.cell = "way-0", .block = 1, .speed = 50}, {.cell = "way-0", .block = 2, .speed = 50}}, one);
  const auto sentences = sweep_conclusion(sweep);
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_THAT(sentences[0], AllOf(HasSubstr("training speed of 50.0"), HasSubstr("images/s over 2 runs.")));
  EXPECT_EQ(sweep_table(sweep).columns[0].title, "on") << "a single cell has a name, too";
  EXPECT_EQ(sweep_table(sweep).columns[2].title, "images/s");
  EXPECT_EQ(sweep_table(sweep).columns[3].title, "state") << "there is nothing to compare it with";
}

TEST(SweepSentences, TheFewestRunsOfACellDecideWhetherAnythingIsSaid) {
  std::vector<CellRun> runs;
  for (int block = 1; block <= 4; ++block) runs.push_back({.cell = "way-0", .block = block, .speed = 100.0 + block});
  for (int block = 1; block <= 2; ++block) runs.push_back({.cell = "way-1", .block = block, .speed = 300.0 + block});
  EXPECT_THAT(sweep_conclusion(sweep_of_runs(runs))[0], HasSubstr("stays undecided with 2 runs each"));
  for (CellRun& run : runs) run.cell = run.cell == "way-0" ? "way-1" : "way-0";
  EXPECT_THAT(sweep_conclusion(sweep_of_runs(runs))[0], HasSubstr("stays undecided with 2 runs each"));
}

TEST(SweepSentences, TroublesNameTheirCells) {
  std::vector<CellRun> runs{{.cell = "way-0", .block = 1, .speed = 100, .end = RunEnd::kInvalid},
                            {.cell = "way-1", .block = 1, .speed = 200},
                            {.cell = "way-1", .block = 2, .end = RunEnd::kKilled}};
  const auto sentences = sweep_conclusion(sweep_of_runs(runs));
  ASSERT_EQ(sentences.size(), 3U);
  EXPECT_EQ(sentences[1], "Failed: on=way-1; --again failed repeats them.");
  EXPECT_EQ(sentences[2], "INVALID as measurements: on=way-0; --again failed repeats them.");
  runs[1].end = RunEnd::kInvalid;
  EXPECT_THAT(sweep_conclusion(sweep_of_runs(runs))[0], HasSubstr("stays undecided, as the measurements are INVALID"));
}

TEST(SweepSentences, TheHeaderHasWhatWasMeasuredAndWhen) {
  record::SweepRecord record = test::simulated_record(2, 3);
  record.started = "2026-11-24T10:00:00Z";
  record.title = "A <title>";
  const std::vector<CellRun> runs{{.cell = "way-0", .block = 1, .speed = 100},
                                  {.cell = "way-1", .block = 1, .end = RunEnd::kFailed}};
  const std::string header = sweep_header_part(sweep_of_runs(runs, record, [](const CellRun&, record::Record& made) {
    made.machine.cpu = "Zen";
    made.machine.cores = 6;
    made.machine.memory_bytes = 16'000'000'000;
  }));
  EXPECT_THAT(header,
              AllOf(HasSubstr("<li>2 cells</li><li>2 runs</li><li>Zen</li><li>6 cores</li><li>16 GB memory</li>"),
                    HasSubstr("<li>started 2026-11-24T10:00:00Z</li>"), HasSubstr("<h1>A &lt;title&gt;</h1>"),
                    HasSubstr("<p class=\"lead warns\">Failed: on=way-1")));
  record.started = "";
  EXPECT_THAT(sweep_header_part(sweep_of_runs({}, record)), Not(HasSubstr("started")));
}

}  // namespace
}  // namespace evener::sweeps
