// What is made of a sweep's cells together: scaling, cells that are alike, the front, and what is drawn of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/html_table.h"
#include "report/made_sweep_helpers.h"
#include "report/sweep_claims.h"
#include "report/sweep_page.h"

namespace evener::report {
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
  const Table table = scaling_table(sweep);
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
  EXPECT_EQ(scaling_sentence(of), "More threads are slower: 4 do the work 0.500x as fast as 1.");
  most.speedup->interval = record::Interval{0.3, 1};
  EXPECT_THAT(scaling_sentence(of), HasSubstr("stays serial")) << "it may be as fast";
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
  EXPECT_THAT(html, HasSubstr("<tbody><tr><td data-title=\"name\""));
  EXPECT_THAT(html, AllOf(HasSubstr("&lt;a&gt;"), HasSubstr("<li>a &amp; b</li>"), HasSubstr("class=\"sort\"")));
  EXPECT_THAT(table_html(table, false), AllOf(Not(HasSubstr("class=\"sort\"")), Not(HasSubstr("sortable\""))));
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

}  // namespace
}  // namespace evener::report
