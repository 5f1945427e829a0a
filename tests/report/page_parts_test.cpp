// Parts of the page and figures beside it, each rule with numbers that tell one side of it from the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/test_folder.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/run.h"
#include "report/table.h"
#include "support/sample_records_helpers.h"

namespace evener::report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

report::Run run_with(const std::function<void(record::Record&)>& change, const std::string& name = "run") {
  report::Run run = test::sample_run(name);
  change(run.record);
  return run;
}

TEST(LayersPart, HasSpeedsSharesAndRoofs) {
  const report::Run run = run_with([](record::Record& record) {
    record::LayerRecord first, second, third;
    first.name = "conv<1>";
    first.what = "Conv2d";
    first.joined = {"bn", "relu"};
    first.forward_s = 0.001;
    first.backward_s = 0.002;
    first.flops = 6'000'000;
    first.bytes = 5'000'000;
    first.roofline = 0.4;
    second.name = "fc";
    second.what = "Linear";
    second.forward_s = 0.009;
    second.roofline = 1.7;
    third.what = "reorders";
    record.layers = {first, second, third};
  });
  const std::string page = profile_part(std::vector{run});
  EXPECT_THAT(page, HasSubstr("conv&lt;1&gt; + bn + relu"));
  EXPECT_THAT(page, AllOf(HasSubstr(">1.00 ms<"), HasSubstr(">2.00 ms<"), HasSubstr(">9.00 ms<")));
  EXPECT_THAT(page, HasSubstr("--share:0.2500\"><span>25.0 %")) << "3 of 12 ms";
  EXPECT_THAT(page, HasSubstr("--share:0.7500\"><span>75.0 %"));
  EXPECT_THAT(page, HasSubstr(">2.00<")) << "GFLOP/s: 6 M in 3 ms";
  EXPECT_THAT(page, HasSubstr("--share:0.4000\"><span>40.0 %"));
  EXPECT_THAT(page, HasSubstr("--share:1.0000\"><span>170.0 %")) << "a bar is no longer than its cell";
  EXPECT_THAT(page, AllOf(HasSubstr("(reorders)"), Not(HasSubstr(">reorders<"))));
  EXPECT_EQ(profile_part(std::vector{run_with([](record::Record&) {})}), "");
}

TEST(StagesPart, TellsWhatIsKnownOfEachStage) {
  const report::Run run = run_with([](record::Record& record) {
    record::StageRecord first, second;
    first.device = "cpu";
    first.threads = 3;
    first.emulated_speed = 0.25;
    first.busy_share = 0.75;
    second.device = "cuda:1";
    second.memory_bytes = 3'000'000;
    record::ReplicaRecord replica;
    replica.stages = {first, second};
    record.placement.replicas = {replica};
  });
  const std::string page = stages_part(std::vector{run});
  EXPECT_THAT(page, AllOf(HasSubstr("cpu/t3, slowed to 25.0 % of its speed"), HasSubstr("cuda:1")));
  EXPECT_THAT(page, AllOf(HasSubstr(">75.0 %<"), HasSubstr("3 MB"), Not(HasSubstr("predicted"))));
  EXPECT_THAT(page, AllOf(HasSubstr(">stage 1<"), Not(HasSubstr("replica 0"))));
  report::Run two = run;
  two.record.placement.replicas.push_back(two.record.placement.replicas[0]);
  two.record.placement.replicas[1].stages[1].predicted_memory_bytes = 7'000'000;
  EXPECT_THAT(stages_part(std::vector{two}),
              AllOf(HasSubstr("replica 1, stage 1"), HasSubstr("memory, predicted"), HasSubstr("7 MB")));
  report::Run undivided = run;
  undivided.record.placement.replicas[0].stages.resize(1);
  EXPECT_EQ(stages_part(std::vector{undivided}), "");
}

TEST(JobsPart, ASpeedStandsWithWhatIsKnownOfItsSpread) {
  const auto part = [](std::vector<double> samples) {
    return jobs_part(std::vector{run_with([&](record::Record& record) {
      record.images_per_s = record::throughput_of(std::move(samples), "steps of a kind");
    })});
  };
  EXPECT_THAT(part({100}), AllOf(HasSubstr("100 <small>"), HasSubstr("a single sample"), Not(HasSubstr("range"))));
  EXPECT_THAT(part({100, 120}), HasSubstr("range 100 to 120; the median of 2 steps of a kind"));
  EXPECT_THAT(part({100, 101, 102, 103, 104, 105, 106, 107, 108, 109}), HasSubstr("95 % interval"));
}

TEST(TroublePart, NamesTheRunWhereThereAreSeveral) {
  std::vector<report::Run> runs{run_with([](record::Record& record) { record.warnings = {"nothing <learnt>"}; }, "a"),
                                test::sample_run("b")};
  EXPECT_THAT(warnings_part(runs), HasSubstr(">a: nothing &lt;learnt&gt;<"));
  runs.pop_back();
  EXPECT_THAT(warnings_part(runs), HasSubstr(">nothing &lt;learnt&gt;<"));
}

TEST(RunWarnings, ABrokenTimelineIsTold) {
  const test::TestFolder folder;
  record::write_record(folder.path(), test::sample_record({}));
  std::ofstream(folder / kTimeline) << "{";
  EXPECT_THAT(load_run(folder.path()).warnings, testing::Contains(HasSubstr(kTimeline)));
}

TEST(RunSamples, PowersAndPhasesAreReadByTheirTitles) {
  const test::TestFolder folder;
  record::write_record(folder.path(), test::sample_record({}));
  std::ofstream(folder / "samples.csv") << "time_s,process_cpu_percent,others_cpu_percent,rss_bytes,pss_bytes,gpu "
                                           "0_watts,phase_forward_percent,_watts,meter_watts\n"
                                        << "0.5,150,2,1000,900,61.5,40,1,\n1.0,160,3,2000,,62.5,,1,230\n";
  const Samples samples = load_run(folder.path()).samples;
  EXPECT_THAT(samples.time_s, ElementsAre(0.5, 1.0));
  EXPECT_THAT(samples.cpu_percent, ElementsAre(150, 160));
  EXPECT_THAT(samples.others_percent, ElementsAre(2, 3));
  EXPECT_THAT(samples.rss_bytes, ElementsAre(1000, 2000));
  EXPECT_THAT(samples.pss_bytes, ElementsAre(900, std::nullopt));
  ASSERT_EQ(samples.watts.size(), 2U);
  EXPECT_EQ(samples.watts[0].first, "gpu 0");
  EXPECT_THAT(samples.watts[0].second, ElementsAre(61.5, 62.5));
  EXPECT_EQ(samples.watts[1].first, "meter");
  EXPECT_THAT(samples.watts[1].second, ElementsAre(std::nullopt, 230));
  ASSERT_EQ(samples.phases.size(), 1U);
  EXPECT_EQ(samples.phases[0].first, "forward");
  EXPECT_THAT(samples.phases[0].second, ElementsAre(40, std::nullopt));
}

report::Run with_energy(const std::string& name, double joules, double used, double seconds, record::EnergyClass kind) {
  return run_with(
      [&](record::Record& record) {
        record.energy.joules = joules;
        record.energy.used_joules = used;
        record.energy.seconds = seconds;
        record.energy.kind = kind;
        record.energy.reason = "";
        record::set_products(record.energy);
      },
      name);
}

std::string cell_of(const Table& table, std::size_t row, const std::string& title) {
  for (std::size_t n = 0; n < table.columns.size(); ++n) {
    if (table.columns[n].title == title) return table.rows.at(row).at(n);
  }
  return "no such column";
}

TEST(EnergyColumns, ProductsStandAgainstTheFirstRunOfTheSameWork) {
  using record::EnergyClass;
  report::Run other = with_energy("c", 4, 4, 5, EnergyClass::kMeasured);
  other.record.model.name = "another";
  const std::vector<report::Run> runs{with_energy("a", 100, 80, 10, EnergyClass::kMeasured),
                                      with_energy("b", 50, 48, 5, EnergyClass::kEstimated), other,
                                      test::sample_run("d")};
  const Table table = summary_table(runs);
  EXPECT_EQ(cell_of(table, 0, "energy is"), "measured");
  EXPECT_EQ(cell_of(table, 1, "energy is"), "estimated");
  EXPECT_EQ(cell_of(table, 0, "EDP"), "1.00x");
  EXPECT_EQ(cell_of(table, 1, "EDP"), "0.250x (estimated/measured)");
  EXPECT_EQ(cell_of(table, 1, "EDP without idle devices"), "0.300x (estimated/measured)");
  EXPECT_EQ(cell_of(table, 2, "EDP"), "1.00x") << "its own work";
  EXPECT_EQ(cell_of(table, 3, "energy is"), "absent");
  EXPECT_EQ(cell_of(table, 3, "EDP"), "-");
  EXPECT_EQ(cell_of(summary_table(std::vector{runs[0]}), 0, "EDP"), "no such column");
  EXPECT_EQ(cell_of(summary_table(std::vector{runs[0]}), 0, "energy is"), "measured");
  const std::vector<report::Run> all_used{with_energy("a", 100, 100, 10, EnergyClass::kMeasured),
                                          with_energy("b", 50, 50, 5, EnergyClass::kMeasured)};
  EXPECT_EQ(cell_of(summary_table(all_used), 1, "EDP without idle devices"), "no such column");
  EXPECT_EQ(cell_of(summary_table(all_used), 1, "EDP"), "0.250x");
  const std::string csv = csv_text(runs);
  EXPECT_THAT(csv, HasSubstr(",energy_class,edp_against_first,used_devices_edp_against_first,"));
  EXPECT_THAT(csv, HasSubstr(",estimated,0.25,0.3,"));
  EXPECT_EQ(edp_against(runs[0].record, with_energy("z", 0, 0, 1, EnergyClass::kMeasured).record, false), std::nullopt);
}

TEST(Formats, NumbersKeepThreeDigitsAndShowThousands) {
  const std::pair<double, const char*> rows[] = {
      {0, "0"},          {0.5, "0.500"},           {9.996, "10.00"}, {12.34, "12.3"},       {123.4, "123"},
      {1234.4, "1,230"}, {-1234567, "-1,230,000"}, {999.6, "1,000"}, {0.001234, "0.00123"}, {-0.5, "-0.500"}};
  for (const auto& [value, text] : rows) EXPECT_EQ(number_text(value), text) << value;
  EXPECT_EQ(url_path("a b/ü~.html"), "a%20b/%C3%BC~.html");
}

TEST(PlotData, ManySamplesAreDrawnAsMeansOfNeighbours) {
  std::vector<report::Run> runs = {test::sample_run("run")};
  Samples& samples = runs[0].samples = {};
  for (int n = 0; n < 1501; ++n) {
    samples.time_s.push_back(n);
    samples.cpu_percent.push_back(n % 2 == 0 ? 100 : 50);
    samples.others_percent.push_back(n == 0 ? std::nullopt : std::optional(7.0 + n));
    samples.rss_bytes.push_back(std::nullopt);
    samples.pss_bytes.push_back(5);
  }
  samples.watts = {{"gpu 0", std::vector<std::optional<double>>(1501, 40)},
                   {"idle", std::vector<std::optional<double>>(1501, 0)},
                   {"silent", std::vector<std::optional<double>>(1501)}};
  samples.watts[0].second[1] = 60;
  samples.phases = {{"forward", std::vector<std::optional<double>>(1501, 30)}};
  const auto drawn = nlohmann::json::parse(plot_data(runs))["runs"][0]["samples"];
  EXPECT_EQ(drawn["time"].size(), 751U);
  EXPECT_EQ(drawn["time"][1], 2);
  EXPECT_EQ(drawn["cpu"][0], 75);
  EXPECT_EQ(drawn["cpu"][750], 100) << "the last one alone";
  EXPECT_EQ(drawn["others"][0], 8) << "of one that is there";
  EXPECT_EQ(drawn["others"][1], 9.5);
  EXPECT_TRUE(drawn["rss"][0].is_null());
  EXPECT_EQ(drawn["pss"][3], 5);
  ASSERT_EQ(drawn["watts"].size(), 1U) << drawn["watts"];
  EXPECT_EQ(drawn["watts"][0]["name"], "gpu 0");
  EXPECT_EQ(drawn["watts"][0]["values"][0], 50);
  EXPECT_EQ(drawn["phases"][0]["values"][0], 30);
  runs[0].samples.time_s.pop_back();
  EXPECT_EQ(nlohmann::json::parse(plot_data(runs))["runs"][0]["samples"]["time"].size(), 1500U);
}

}  // namespace
}  // namespace evener::report
