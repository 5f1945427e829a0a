// Parts of the page and figures beside it, each rule with numbers that tell one side of it from the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "base/error.h"
#include "base/test_folder.h"
#include "record/detection.h"
#include "report/faces_page.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/run.h"
#include "report/sample_records_helpers.h"
#include "report/table.h"

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

record::PredictedImage answer(const std::string& file, const std::string& found, const std::string& truth,
                              double score) {
  record::PredictedImage made;
  made.file = file;
  made.found = found;
  made.truth = truth;
  made.score = score;
  made.is_probability = false;
  made.png_base64 = "QUJD";
  return made;
}

TEST(PredictionsPart, MistakesRightOnesAndSamplesStandApart) {
  report::Run run = test::sample_run("run");
  run.predictions = {answer("a", "cat", "dog", 0.875), answer("b", "dog", "dog", 12.34567), answer("c", "cow", "", 3)};
  run.predictions[0].is_probability = true;
  run.predictions[0].is_sure_mistake = true;
  run.predictions[0].map_base64 = "TUFQ";
  run.predictions[1].is_sure_right = true;
  const std::string page = predictions_part(std::vector{run});
  const std::size_t mistakes = page.find("The surest mistakes"), right = page.find("was right about"),
                    rest = page.find("says of");
  ASSERT_LT(mistakes, right);
  ASSERT_LT(right, rest);
  EXPECT_THAT(page.substr(mistakes, right - mistakes),
              AllOf(HasSubstr("prediction wrong\" title=\"a\""), HasSubstr("<b>cat</b> 88 %<br>is dog"),
                    HasSubstr("base64,TUFQ"), HasSubstr("in orange")));
  EXPECT_THAT(page.substr(right, rest - right), AllOf(HasSubstr("prediction\" title=\"b\""),
                                                      HasSubstr("<b>dog</b> 12.35<"), Not(HasSubstr("in orange"))));
  EXPECT_THAT(page.substr(rest), AllOf(HasSubstr("title=\"c\""), HasSubstr("prediction\""), Not(HasSubstr("<br>is"))));
}

TEST(PredictedImages, KeepsEachFieldAndRefusesWhatIsNoPicture) {
  const test::TestFolder folder;
  record::PredictedImage whole = answer("a", "cat", "dog", 0.875);
  whole.is_probability = true;
  whole.map_base64 = "TUFQ";
  whole.is_sure_mistake = true;
  record::PredictedImage other = answer("b", "x", "", -2);
  other.is_sure_right = true;
  record::write_predicted_images(folder / record::kPredictedImages, {whole, other});
  const auto read = record::read_predicted_images(folder / record::kPredictedImages);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].file, "a");
  EXPECT_EQ(read[0].found, "cat");
  EXPECT_EQ(read[0].truth, "dog");
  EXPECT_EQ(read[0].score, 0.875);
  EXPECT_TRUE(read[0].is_probability);
  EXPECT_EQ(read[0].png_base64, "QUJD");
  EXPECT_EQ(read[0].map_base64, "TUFQ");
  EXPECT_TRUE(read[0].is_sure_mistake);
  EXPECT_FALSE(read[0].is_sure_right);
  EXPECT_TRUE(read[1].is_sure_right);
  EXPECT_FALSE(read[1].is_sure_mistake);
  EXPECT_EQ(read[1].map_base64, "");
  whole.map_base64 = "\"><script>";
  record::write_predicted_images(folder / record::kPredictedImages, {whole});
  EXPECT_THROW(record::read_predicted_images(folder / record::kPredictedImages), Error);
  whole.map_base64 = "";
  whole.png_base64 = "\"><script>";
  record::write_predicted_images(folder / record::kPredictedImages, {whole});
  EXPECT_THROW(record::read_predicted_images(folder / record::kPredictedImages), Error);
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
                                      with_energy("b", 50, 48, 5, EnergyClass::kEstimated), other};
  const Table table = summary_table(runs);
  EXPECT_EQ(cell_of(table, 0, "energy is"), "measured");
  EXPECT_EQ(cell_of(table, 1, "energy is"), "estimated");
  EXPECT_EQ(cell_of(table, 0, "EDP"), "1.00x");
  EXPECT_EQ(cell_of(table, 1, "EDP"), "0.250x (estimated/measured)");
  EXPECT_EQ(cell_of(table, 1, "EDP without idle devices"), "0.300x (estimated/measured)");
  EXPECT_EQ(cell_of(table, 2, "EDP"), "1.00x") << "its own work";
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

FacesPage costs(std::vector<ChunkOnPage> chunks) {
  FacesPage page;
  page.chunks = std::move(chunks);
  return page;
}

TEST(FacesCosts, AFewChunksAreATableAndMoreArePlots) {
  std::vector<ChunkOnPage> chunks{
      {.worker = 1, .photos = 30, .begin_s = 0, .seconds = 10, .cpu_percent = 80, .rss_bytes = 5'000'000},
      {.worker = 0, .photos = 20, .begin_s = 5, .seconds = 4, .cpu_percent = 50, .rss_bytes = 4'000'000},
      {.worker = 0, .photos = 90, .begin_s = 0, .seconds = 3, .cpu_percent = 90, .rss_bytes = 3'000'000}};
  const std::string table = faces_costs_part(costs(chunks));
  EXPECT_THAT(table, HasSubstr("<td>1</td><td>90</td><td>3.0 s</td><td>30.0</td><td>90 %</td><td>3 MB</td></tr>"
                               "<tr><td>1</td><td>20</td><td>4.0 s</td><td>5.00</td><td>50 %</td><td>4 MB</td></tr>"
                               "<tr><td>2</td><td>30</td><td>10.0 s</td><td>3.00</td><td>80 %</td>"));
  EXPECT_THAT(table, Not(HasSubstr("<svg")));
  chunks.push_back({.worker = 2, .photos = 1, .begin_s = 0, .seconds = 0});  // took no time: none
  EXPECT_THAT(faces_costs_part(costs(chunks)), Not(HasSubstr("<svg")));
  chunks.back() = {.worker = 2, .photos = 24, .begin_s = 12, .seconds = 8, .cpu_percent = 10, .rss_bytes = 6'000'000};
  const std::string plots = faces_costs_part(costs(chunks));
  EXPECT_THAT(plots, HasSubstr("computing for 54 % of the time")) << "(800 + 200 + 270 + 80) / 25 seconds";
  // Up to 33 photos a second and 20 s: x from 76 to 505, y from 190 to 12.
  EXPECT_THAT(plots, HasSubstr("class=\"chunk\" x1=\"76.0\" y1=\"28.2\" x2=\"140.3\" y2=\"28.2\""));
  EXPECT_THAT(plots, HasSubstr("class=\"chunk\" x1=\"333.4\" y1=\"173.8\" x2=\"505.0\" y2=\"173.8\""));
  EXPECT_THAT(plots, HasSubstr("points=\"140.3,109.1 269.1,82.1 290.5,55.2 505.0,28.2 \""))
      << "memory in the order of time";
  for (ChunkOnPage& chunk : chunks) chunk.seconds /= 100;
  EXPECT_THAT(faces_costs_part(costs(chunks)), HasSubstr("computing for 54 % of the time"))
      << "of a quarter of a second";
  EXPECT_EQ(faces_costs_part(costs({})), "");
}

TEST(Formats, NumbersKeepThreeDigitsAndShowThousands) {
  const std::pair<double, const char*> rows[] = {
      {0, "0"},          {0.5, "0.500"},           {9.996, "10.00"}, {12.34, "12.3"},       {123.4, "123"},
      {1234.4, "1,230"}, {-1234567, "-1,230,000"}, {999.6, "1,000"}, {0.001234, "0.00123"}, {-0.5, "-0.500"}};
  for (const auto& [value, text] : rows) EXPECT_EQ(number_text(value), text) << value;
  EXPECT_EQ(listed({"a", "b", "c"}, 3), "a, b and c");
  EXPECT_EQ(listed({"a", "b", "c", "d"}, 2), "a, b and 2 more");
  EXPECT_EQ(url_path("a b/ü~.html"), "a%20b/%C3%BC~.html");
  EXPECT_EQ(csv_cell("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(escape_markdown("a|b\n_c"), "a\\|b \\_c");
}

}  // namespace
}  // namespace evener::report
