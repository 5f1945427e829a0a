// What is made of a sweep's cells together: scaling, cells that are alike, the front, and what is drawn of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "report/html_table.h"
#include "sweep/figures/sweep_claims.h"
#include "sweep/figures/sweep_page.h"
#include "sweep/made_sweep_helpers.h"
#include "sweep/sweep_simulation_helpers.h"

namespace evener::sweeps {
namespace {

using record::RunEnd;
using test::CellRun;
using test::claims_anything;
using test::OtherLoad;
using test::simulate;
using test::simulated_record;
using test::SimulatedSweep;
using test::sweep_of_runs;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

/// A cell for each placement, of one run each; more cells than CPUs are told.
Sweep scaling_sweep(const std::vector<std::vector<record::StageRecord>>& replicas_of_cells,
                    const std::function<void(std::size_t, record::Record&)>& change = {}) {
  std::vector<CellRun> runs;
  for (std::size_t n = 0; n < replicas_of_cells.size(); ++n) {
    runs.push_back({.cell = "way-" + std::to_string(n), .block = 1, .speed = 100.0 * static_cast<double>(n + 1)});
  }
  return sweep_of_runs(runs, test::simulated_record(runs.size(), 1), [&](const CellRun& run, record::Record& record) {
    const std::size_t cell = std::stoul(run.cell.substr(4));
    for (const record::StageRecord& stage : replicas_of_cells[cell]) {
      record.placement.replicas.emplace_back().stages.push_back(stage);
    }
    if (change) change(cell, record);
  });
}

record::StageRecord cpu(int threads) {
  record::StageRecord stage;
  stage.device = "cpu";
  stage.threads = threads;
  return stage;
}

/// "threads: 1 2 4".
std::vector<std::string> scaling_texts(const Sweep& sweep) {
  std::vector<std::string> texts;
  for (const SweepScaling& scaling : sweep.scalings) {
    std::string text = scaling.name + ":";
    for (const record::WorkersScaling& one : scaling.scaling.workers) text += " " + std::to_string(one.workers);
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
  record::StageRecord slowed = cpu(2), gpu = cpu(2);
  slowed.emulated_speed = 0.5;
  gpu.device = "cuda:0";
  EXPECT_THAT(scaling_texts(scaling_sweep({{cpu(1)}, {slowed}})), IsEmpty());
  EXPECT_THAT(scaling_texts(scaling_sweep({{cpu(1)}, {gpu}})), IsEmpty());
  EXPECT_THAT(scaling_texts(scaling_sweep({{cpu(1)}})), IsEmpty());
  EXPECT_THAT(scaling_texts(scaling_sweep({{cpu(2)}, {cpu(2)}})), IsEmpty()) << "one number of workers alone";
}

TEST(SweepScalingRules, MoreThreadsThanCpusAreNoMoreWorkers) {
  const auto cells = std::vector<std::vector<record::StageRecord>>{{cpu(1)}, {cpu(2)}, {cpu(3)}};
  const auto with = [&](int logical, std::optional<double> quota) {
    return scaling_sweep(cells, [=](std::size_t, record::Record& record) {
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
  const report::Table table = scaling_table(sweep);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[2][1], "4");
  EXPECT_THAT(table.rows[2][2], testing::StartsWith("3.00"));
  EXPECT_THAT(table.rows[2][3], testing::StartsWith("75.0 %"));
  EXPECT_THAT(table.rows[2][4], testing::StartsWith("11.1 %"));
  EXPECT_EQ(table.rows[0][2], "-");
}

TEST(SweepScalingRules, TheSentenceHasTheSerialShareItsIntervalAndWhatFollows) {
  SweepScaling of;
  of.name = "threads";
  of.scaling.workers.resize(2);
  record::WorkersScaling& most = of.scaling.workers.back();
  most.workers = 4;
  EXPECT_EQ(scaling_sentence(of), "") << "nothing was fitted";
  of.scaling.fit.emplace();
  of.scaling.fit->serial_share = 0.25;
  EXPECT_EQ(scaling_sentence(of),
            "With more threads, 25.0 % of the work stays serial by Amdahl's law; no number of workers would be more "
            "than 4.00x as fast as one.");
  of.scaling.share_interval = record::Interval{0.2, 0.3};
  EXPECT_THAT(scaling_sentence(of), HasSubstr("Amdahl's law (95 %: 20.0 % to 30.0 %); no number"));
  most.speedup.emplace();
  most.speedup->mean = 0.5;
  most.speedup->interval = record::Interval{0.3, 0.9};
  EXPECT_THAT(scaling_sentence(of), HasSubstr("stays serial")) << "chance alone may do this among so many comparisons";
  of.verdict = record::Verdict::kSlower;
  EXPECT_EQ(scaling_sentence(of), "More threads are slower: 4 do the work 0.500x as fast as 1.");
  of.verdict = record::Verdict::kFaster;
  most.speedup->mean = 3.9;
  EXPECT_THAT(scaling_sentence(of), HasSubstr("more than 4.00x as fast"));
  most.speedup->mean = 4.1;
  EXPECT_THAT(scaling_sentence(of), AllOf(HasSubstr("stays serial"), Not(HasSubstr("no number of workers"))))
      << "as more was measured";
  of.scaling.fit->serial_share = 0;
  EXPECT_THAT(scaling_sentence(of), Not(HasSubstr("no number of workers")));
}

TEST(SweepScalingRules, CellsThatDifferInMoreScaleApart) {
  record::SweepRecord record = test::simulated_record(4, 1);
  record.axes.push_back({{"batch"}, {{"8"}, {"16"}}});
  std::vector<CellRun> runs;
  for (std::size_t n = 0; n < 4; ++n) {
    record.cells[n].values["batch"] = n < 2 ? "8" : "16";
    runs.push_back({.cell = "way-" + std::to_string(n), .block = 1, .speed = 100.0 + static_cast<double>(n)});
  }
  const Sweep sweep = sweep_of_runs(runs, record, [](const CellRun& run, record::Record& made) {
    const bool is_odd = run.cell == "way-1" || run.cell == "way-3";
    made.placement.replicas.emplace_back().stages.push_back(cpu(is_odd ? 2 : 1));
  });
  EXPECT_THAT(scaling_texts(sweep), UnorderedElementsAre("threads, batch=8: 1 2", "threads, batch=16: 1 2"));
}

TEST(SweepAlike, CellsThatComputedTheSameAreNoted) {
  const auto notes = [](const std::function<void(std::size_t, record::Record&)>& change) {
    return alike_notes(scaling_sweep({{cpu(2)}, {cpu(2)}, {cpu(2)}}, [&](std::size_t cell, record::Record& record) {
      record.config = {{"seed", "1"}, {"on", std::to_string(cell)}};
      change(cell, record);
    }));
  };
  EXPECT_THAT(notes([](std::size_t, record::Record&) {}),
              ElementsAre(HasSubstr("on=way-1 and on=way-2 ran as on=way-0:")));
  EXPECT_THAT(notes([](std::size_t cell, record::Record& record) {
                if (cell == 0) record.config["seed"] = "2";
              }),
              ElementsAre(HasSubstr("on=way-2 ran as on=way-1:")));
  EXPECT_THAT(notes([](std::size_t cell, record::Record& record) {
                record.placement.replicas[0].stages[0].threads = static_cast<int>(cell) + 1;
              }),
              IsEmpty());
  EXPECT_THAT(notes([](std::size_t cell, record::Record& record) {
                record.placement.replicas[0].stages[0].emulated_speed = 0.5 + 0.1 * static_cast<double>(cell);
              }),
              IsEmpty());
  EXPECT_THAT(notes([](std::size_t, record::Record& record) { record.config.clear(); }), IsEmpty())
      << "nothing is known of them";
}

TEST(SweepPlotData, HasEachCellsValuesBlocksAndEnds) {
  std::vector<CellRun> runs{{.cell = "way-0", .block = 1, .speed = 100, .joules = 5, .seconds = 2},
                            {.cell = "way-0", .block = 4, .speed = 110, .joules = 6, .seconds = 3}};
  record::SweepRecord record = test::simulated_record(2, 3);
  record.axes.push_back({{"batch", "lr"}, {{"8", "0.1"}, {"8", "0.2"}, {"16", "0.1"}}});
  record.axes.push_back({{"seed"}, {{"1"}}});
  record.cells[0].predicted = record::CellPrediction{.images_per_s = 90, .run_s = 1};
  const auto json = nlohmann::json::parse(sweep_json(sweep_of_runs(runs, record)));
  EXPECT_EQ(json["main_figure"], "images_per_s");
  ASSERT_EQ(json["axes"].size(), 3U) << "of each name, where there is a choice";
  EXPECT_EQ(json["axes"][1]["name"], "batch");
  EXPECT_EQ(json["axes"][1]["values"], (nlohmann::json{"8", "16"}));
  EXPECT_EQ(json["axes"][2]["values"], (nlohmann::json{"0.1", "0.2"}));
  const auto& speed = json["cells"][0]["figures"]["images_per_s"];
  EXPECT_EQ(speed["values"], (nlohmann::json{100, 110}));
  EXPECT_EQ(speed["blocks"], (nlohmann::json{1, 4}));
  EXPECT_EQ(speed["range"], (nlohmann::json{100, 110}));
  EXPECT_EQ(json["cells"][0]["predicted_images_per_s"], 90);
  EXPECT_TRUE(json["cells"][1]["predicted_images_per_s"].is_null());
  EXPECT_TRUE(json["cells"][1]["figures"].empty());
  EXPECT_EQ(json["figures"][0]["name"], "images_per_s");
  EXPECT_EQ(json["figures"][0]["better"], "higher");
  EXPECT_EQ(json["fronts"][0]["x"], "total_s");
  EXPECT_EQ(json["fronts"][0]["y"], "energy_joules");
  EXPECT_EQ(json["fronts"][0]["front"], (nlohmann::json{true, false}));
}

TEST(SweepParts, TablesSortByTheNumberThatLeads) {
  report::Table table;
  table.columns = {{"name", false}, {"x", true}};
  for (const char* text : {"26.9 (26.1 to 27.7)", "1,234 MB", "-5 %", "-", "fast 3", "12 [11 to 13]"}) {
    table.rows.push_back({"<a>", text});
  }
  table.notes = {"a & b"};
  const std::string html = report::table_html(table, true);
  EXPECT_THAT(html,
              AllOf(HasSubstr("data-sort=\"26.9\""), HasSubstr("data-sort=\"1234\""), HasSubstr("data-sort=\"-5\"")));
  EXPECT_THAT(html, HasSubstr("<span>26.9</span> <span>(26.1 to 27.7)</span>"));
  EXPECT_THAT(html, HasSubstr("<span>12</span> <span>[11 to 13]</span>"));
  EXPECT_THAT(
      html, AllOf(Not(HasSubstr("data-sort=\"-\"")), Not(HasSubstr("data-sort=\"3\"")), HasSubstr("data-sort=\"12\"")));
  EXPECT_THAT(html, HasSubstr("<tbody><tr><td data-title=\"name\""));
  EXPECT_THAT(html, AllOf(HasSubstr("&lt;a&gt;"), HasSubstr("<li>a &amp; b</li>"), HasSubstr("class=\"sort\"")));
  EXPECT_THAT(report::table_html(table, false), AllOf(Not(HasSubstr("class=\"sort\"")), Not(HasSubstr("sortable\""))));
}

TEST(SweepParts, RunsAreListedWithWhatTheyWereAndCameTo) {
  record::SweepRecord record = test::simulated_record(2, 3);
  record.cells[0].environment = {{"OMP", "1"}};
  record.cells[0].words = {"train", "--x"};
  record.energy_repeats = 1;
  Sweep sweep = sweep_of_runs({{.cell = "way-0", .block = 3, .speed = 5},
                               {.cell = "way-0", .block = 2, .joules = 5, .part = record::kEnergyPart},
                               {.cell = "way-0", .block = 4, .end = RunEnd::kFailed, .reason = "why <so>"}},
                              record);
  const std::string html = sweep_runs_part(sweep);
  EXPECT_THAT(html, AllOf(HasSubstr("on=way-0: 3 runs"), HasSubstr("on=way-1: 0 runs"), HasSubstr("OMP=1"),
                          HasSubstr("evener"), HasSubstr("--x")));
  EXPECT_THAT(
      html, AllOf(HasSubstr(">3<"), HasSubstr(">energy 2<"), HasSubstr("failed: why &lt;so&gt;"), HasSubstr("7.5 s")));
}

// What sweeps claim beside other programs, on sweeps whose truth is known.

constexpr int kSweeps = 200;

/// In how many of the sweeps `holds` is true.
template <class Holds>
int sweeps_with(const SimulatedSweep& simulated, int repeats, int trials, Holds holds) {
  int count = 0;
  for (int trial = 0; trial < trials; ++trial) {
    count += holds(
        simulate(simulated_record(simulated.speeds.size(), repeats), simulated, static_cast<std::uint64_t>(trial)));
  }
  return count;
}

TEST(SweepLoad, EqualCellsStayUndecidedUnderEachLoad) {
  int all = 0, sweeps = 0;
  for (const OtherLoad& load : test::other_loads()) {
    const int claims = sweeps_with({.speeds = {100, 100}, .noise = 0.025, .load = &load}, 5, kSweeps, claims_anything);
    std::printf("%s: %d of %d sweeps of equal cells claim anything\n", load.name, claims, kSweeps);
    EXPECT_LE(claims, (load.leans ? 0.05 : 0.07) * kSweeps) << load.name;
    all += claims;
    sweeps += kSweeps;
  }
  EXPECT_LE(all, 0.05 * sweeps);
}

TEST(SweepLoad, ALoadThatLeansOnOneOfSeveralCellsMakesNoWinner) {
  for (const OtherLoad& load : test::other_loads()) {
    if (!load.leans) continue;
    const SimulatedSweep simulated{.speeds = {100, 100, 100, 100}, .noise = 0.025, .load = &load, .slower_by = 3};
    EXPECT_LE(sweeps_with(simulated, 5, 50, claims_anything), 0.05 * 50) << load.name;
  }
}

TEST(SweepLoad, TenPercentAreFoundBesideOtherPrograms) {
  for (const OtherLoad& load : test::other_loads()) {
    if (load.leans) continue;
    const SimulatedSweep simulated{.speeds = {100, 110}, .noise = 0.02, .load = &load, .slower_by_noise = 0.05};
    const int found = sweeps_with(simulated, 5, 100, [](const Sweep& sweep) { return sweep.jobs[0].winner == 1U; });
    std::printf("%s: %d of 100 sweeps find a difference of 10 %%\n", load.name, found);
    EXPECT_GE(found, 80) << load.name;
  }
}

// Three of five blocks have the load beside the first cell, two beside the second: as they are, the ratios are 0.9 or
// 1.34, and at equal load 1.1.
TEST(SweepLoad, RatiosAreThoseAtEqualLoadWhereItSwitchesWithinBlocks) {
  int run = 0;
  const OtherLoad switching{"switches", false, [&run](double) {
                              return [&run](std::size_t cell, Random&) {
                                const bool loaded = run++ / 2 % 2 == static_cast<int>(cell);
                                return loaded ? 20.0 : 0.0;
                              };
                            }};
  const Sweep sweep = simulate(simulated_record(2, 5), {.speeds = {100, 110}, .noise = 0.01, .load = &switching}, 3);
  const CellClaim& claim = sweep.cells[1].claim;
  EXPECT_EQ(claim.verdict, record::Verdict::kFaster) << claim.reason;
  EXPECT_NEAR(claim.speedup.value(), 1.1, 0.02);
  EXPECT_LT(claim.interval->high - claim.interval->low, 0.1);
  EXPECT_EQ(sweep.jobs[0].winner, 1U);
  EXPECT_TRUE(claim.at_equal_load);
  EXPECT_THAT(sweep_conclusion(sweep), Contains(EndsWith("ratios are those at equal load.")));
}

// The second cell is the faster one by a tenth, and has the worse mean, as chance put the heavier load beside it.
TEST(SweepLoad, TheBetterCellAtEqualLoadMayHaveTheWorseMean) {
  int run = 0;
  const OtherLoad unequal{"unequal", false, [&run](double) {
                            return [&run](std::size_t cell, Random&) {
                              const bool is_even = run++ / 2 % 2 == 0;
                              if (is_even) return cell == 1 ? 50.0 : 0.0;
                              return cell == 0 ? 10.0 : 0.0;
                            };
                          }};
  const Sweep sweep = simulate(simulated_record(2, 5), {.speeds = {100, 110}, .noise = 0.005, .load = &unequal}, 3);
  EXPECT_LT(*sweep.cells[1].figure("images_per_s")->mean.mean, *sweep.cells[0].figure("images_per_s")->mean.mean);
  EXPECT_EQ(sweep.cells[1].claim.verdict, record::Verdict::kFaster);
  EXPECT_EQ(sweep.jobs[0].winner, 1U);
  EXPECT_EQ(sweep.jobs[0].cells.front(), 1U);
  EXPECT_THAT(sweep_conclusion(sweep)[0], HasSubstr(": 1.11x of on=way-0 ("));
  EXPECT_THAT(sweep_table(sweep).rows[1], Contains("1.11x (1.09 to 1.13)"));
  EXPECT_THAT(test::contradictions(sweep), IsEmpty());
}

const OtherLoad kLeaning{
    "12 % and 30 %", true,
    [](double) { return [](std::size_t cell, Random& random) { return (cell == 0 ? 30 : 12) + random.normal(); }; }};

TEST(SweepLoad, AnUndecidedPairSaysOnWhichCellTheLoadLeaned) {
  const Sweep sweep = simulate(simulated_record(2, 5), {.speeds = {100, 120}, .load = &kLeaning, .cpus = 4}, 1);
  EXPECT_FALSE(claims_anything(sweep));
  EXPECT_TRUE(sweep.cells[1].claim.interval.has_value());
  EXPECT_THAT(sweep_conclusion(sweep)[0], AllOf(HasSubstr("is undecided between"),
                                                HasSubstr("other programs took 30 % of the CPUs beside on=way-0"),
                                                HasSubstr("13 % beside on=way-1")));
  EXPECT_THAT(sweep_table(sweep).notes, Contains(HasSubstr("on=way-1 against on=way-0 is undecided: other programs")));
}

// On 4 CPUs, 4 threads and 30 % of the CPUs don't fit: the 4 threads took what the others lack.
TEST(SweepLoad, MoreThreadsMayPushOthersAsideAndAQuietMachineMayDiffer) {
  SimulatedSweep simulated{.speeds = {100, 180}, .load = &kLeaning, .cpus = 4};
  simulated.threads = [](std::size_t cell) { return cell == 0 ? 1 : 4; };
  const Sweep sweep = simulate(simulated_record(2, 5), simulated, 1);
  EXPECT_EQ(sweep.jobs[0].winner, 1U);
  EXPECT_EQ(sweep.cells[1].claim.beside, BesideOthers::kWithOtherThreads);
  EXPECT_THAT(sweep_conclusion(sweep)[0],
              AllOf(HasSubstr("best is on=way-1"),
                    HasSubstr("beside other programs: on a quiet machine the difference may be another")));
  simulated.threads = [](std::size_t cell) { return cell == 0 ? 1 : 2; };  // there was room for all
  EXPECT_FALSE(claims_anything(simulate(simulated_record(2, 5), simulated, 1)));
}

TEST(SweepLoad, ABusyMachineIsToldInPassing) {
  const OtherLoad& even = test::other_loads().front();
  const Sweep sweep = simulate(simulated_record(2, 5), {.speeds = {100, 120}, .load = &even}, 1);
  EXPECT_THAT(sweep_conclusion(sweep),
              ElementsAre(AllOf(HasSubstr("best is on=way-1"), EndsWith(", beside other programs.")),
                          StartsWith("Measured beside other programs (8 % of the CPUs): ")));
  const report::Table table = sweep_table(sweep);
  EXPECT_THAT(table.rows[1], Contains("faster"));
  EXPECT_EQ(table.rows[1].back(), "beside others");
  EXPECT_THAT(sweep_header_part(sweep), AllOf(HasSubstr("beside other programs"), Not(HasSubstr("warns"))));
}

}  // namespace
}  // namespace evener::sweeps
