// Parts of the page and figures beside it, each rule with numbers that tell one side of it from the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/error.h"
#include "base/test_folder.h"
#include "record/detection.h"
#include "report/browser_helpers.h"
#include "report/faces_page.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/run.h"
#include "report/sample_records_helpers.h"
#include "report/share_page.h"
#include "report/sweep_page.h"
#include "report/sweep_simulation_helpers.h"
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

// The page about faces: who is in which part, escaped names, and how it fits a small window.

FacesPage sample() {
  FacesPage page;
  page.title = "photos/";
  page.summary = {"5 faces on 4 photos."};
  page.photos = 4;
  page.all_faces = 5;
  page.faces = {{"a.jpg", "one", 0.99, 6, true},
                {"b.jpg", "two", 0.9999, 6, true},
                {"c.jpg", "three", 0.98, -1, true},
                {"d.jpg", "four", 0.71, -1, false},
                {"d.jpg", "five", 0.8, 6, false}};
  page.pairs = {{0, 1, 0.25}};
  page.histogram.assign(100, 0);
  page.histogram[12] = 1;
  page.histogram[70] = 9;
  return page;
}

/// What stands between a heading and the next.
std::string part(const std::string& html, const std::string& heading) {
  const std::size_t begin = html.find("<h2>" + heading);
  return begin == std::string::npos ? "" : html.substr(begin, html.find("<h2>", begin + 4) - begin);
}

std::string picture(const std::string& bytes) {
  return "base64," + to_base64(bytes) + "\"";
}

TEST(FacesPage, EveryFaceStandsInItsPart) {
  const std::string html = faces_html(sample());
  EXPECT_THAT(
      part(html, "Who is who"),
      AllOf(HasSubstr("Person 7"), HasSubstr("on 3 photos"), HasSubstr(picture("one")), HasSubstr(picture("two")),
            HasSubstr(picture("five")), Not(HasSubstr(picture("three"))), Not(HasSubstr(picture("four")))));
  EXPECT_LT(html.find(picture("two")), html.find(picture("one"))) << "the likeliest stands for the person";
  EXPECT_THAT(part(html, "Seen once"), AllOf(HasSubstr(picture("three")), Not(HasSubstr(picture("four")))));
  EXPECT_THAT(part(html, "Unclear"), AllOf(HasSubstr(picture("four")), Not(HasSubstr(picture("three")))));
  EXPECT_THAT(part(html, "Most alike"),
              AllOf(HasSubstr("0.250"), HasSubstr(picture("one")), HasSubstr(picture("two"))));
  EXPECT_THAT(html, AllOf(HasSubstr("<b>1</b><span>person seen more than once"), HasSubstr("<b>4</b><span>photos")));
  EXPECT_THAT(html, Not(HasSubstr("The page shows")));
}

TEST(FacesPage, NotesStandBeforeTheFaces) {
  FacesPage page = sample();
  page.notes = {"random weights, <b>mind</b>"};
  const std::string html = faces_html(page);
  EXPECT_LT(html.find("random weights, &lt;b&gt;mind"), html.find("Who is who"));
}

TEST(FacesPage, GroupsByRandomWeightsAreNoPersons) {
  FacesPage page = sample();
  page.tells_persons = false;
  const std::string html = faces_html(page);
  EXPECT_THAT(part(html, "Who is who"), HasSubstr("the embedder has random weights, so that these groups"));
  EXPECT_THAT(html, Not(HasSubstr("person seen more than once")));
}

TEST(FacesPage, AFaceStandsInOnePairOnly) {
  FacesPage page = sample();
  page.pairs = {{0, 1, 0.25}, {0, 2, 0.3}, {1, 2, 0.35}, {2, 3, 0.4}};
  const std::string pairs = part(faces_html(page), "Most alike");
  EXPECT_THAT(pairs, AllOf(HasSubstr("0.250"), HasSubstr("0.400"), Not(HasSubstr("0.300")), Not(HasSubstr("0.350"))));
}

TEST(FacesPage, NamesOfFilesAreNoMarkup) {
  FacesPage page = sample();
  page.title = "<script>alert(1)</script>";
  page.faces[0].file = "a\"><img src=x onerror=alert(1)>&.jpg";
  page.summary = {"<b>bold</b>"};
  const std::string html = faces_html(page);
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script>alert")), Not(HasSubstr("<img src=x")), Not(HasSubstr("<b>bold"))));
  EXPECT_THAT(html, AllOf(HasSubstr("&lt;script&gt;"), HasSubstr("&quot;&gt;&lt;img"), HasSubstr("&amp;.jpg")));
}

TEST(FacesPage, APageWithoutFacesSaysSo) {
  FacesPage page;
  page.title = "empty/";
  page.photos = 1;
  const std::string html = faces_html(page);
  EXPECT_THAT(html,
              AllOf(HasSubstr("No two faces are alike"), HasSubstr("<b>1</b><span>photo<"), HasSubstr("<b>0</b>")));
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<svg")), Not(HasSubstr("Most alike")), Not(HasSubstr("Unclear"))));
}

TEST(FacesPage, JudgedPairsHaveTheirCurve) {
  FacesPage page = sample();
  EXPECT_THAT(faces_html(page), Not(HasSubstr("told apart")));
  page.judgement = {"<9 pairs>", {{0, 0}, {0.25, 0.5}, {1, 1}}, 0.25};
  const std::string html = part(faces_html(page), "How well persons are told apart");
  EXPECT_THAT(html, AllOf(HasSubstr("<svg id=\"judgement\""), HasSubstr("&lt;9 pairs&gt;")));
  EXPECT_THAT(faces_html(page),
              AllOf(HasSubstr("\"curve\":[[0.0,0.0],[0.25,0.5],[1.0,1.0]]"), HasSubstr("\"equal_error_rate\":0.25")));
}

TEST(FacesPage, AFaceLeadsToItsPhoto) {
  FacesPage page = sample();
  page.faces[0].link = "../photos/a%20b.jpg";
  page.faces[0].box = {10, 20.5, 30, 44};
  const std::string html = faces_html(page);
  EXPECT_THAT(part(html, "Who is who"),
              AllOf(HasSubstr("<a class=\"face\" href=\"../photos/a%20b.jpg\" data-box=\"10.0 20.5 30.0 44.0\""),
                    HasSubstr("data-words=\"Person 7, a.jpg (99.0 %)\"")));
  EXPECT_THAT(html, HasSubstr("<dialog id=\"photo\">"));
}

TEST(FacesPage, PersonsHaveTheirNames) {
  FacesPage page = sample();
  page.names = {{6, "Ann <b>"}, {11, "Bo \"B\""}};
  page.names_file = "runs/family/names.csv";
  const std::string who = part(faces_html(page), "Who is who");
  EXPECT_THAT(who, AllOf(HasSubstr("data-group=\"7\" value=\"Ann &lt;b&gt;\""), HasSubstr("runs/family/names.csv"),
                         HasSubstr("--resume"), HasSubstr("Person 7, on 3 photos")));
  EXPECT_THAT(who, HasSubstr("data-others=\"&quot;12,\\&quot;Bo \\&quot;\\&quot;B"))
      << "the file that it saves keeps the names of others";
}

TEST(FacesPage, CostsOfAFewChunksAreATableAndOfMorePlots) {
  FacesPage page;
  const auto costs = [&page] { return part(faces_html(page), "What it cost"); };
  EXPECT_EQ(costs(), "");
  page.chunks = {{.worker = 1, .photos = 30, .begin_s = 0, .seconds = 10, .cpu_percent = 80, .rss_bytes = 5'000'000},
                 {.worker = 0, .photos = 20, .begin_s = 5, .seconds = 4, .cpu_percent = 50, .rss_bytes = 4'000'000},
                 {.worker = 0, .photos = 90, .begin_s = 0, .seconds = 3, .cpu_percent = 90, .rss_bytes = 3'000'000}};
  EXPECT_THAT(costs(), HasSubstr("<td>1</td><td>90</td><td>3.0 s</td><td>30.0</td><td>90 %</td><td>3 MB</td></tr>"
                                 "<tr><td>1</td><td>20</td><td>4.0 s</td><td>5.00</td><td>50 %</td><td>4 MB</td></tr>"
                                 "<tr><td>2</td><td>30</td><td>10.0 s</td><td>3.00</td><td>80 %</td>"));
  EXPECT_THAT(costs(), Not(HasSubstr("<svg")));
  page.chunks.push_back({.worker = 2, .photos = 1, .begin_s = 0, .seconds = 0});  // took no time: none
  EXPECT_THAT(costs(), Not(HasSubstr("<svg")));
  page.chunks.back() = {
      .worker = 2, .photos = 24, .begin_s = 12, .seconds = 8, .cpu_percent = 10, .rss_bytes = 6'000'000};
  EXPECT_THAT(costs(), AllOf(HasSubstr("<svg id=\"speed\""), HasSubstr("<svg id=\"memory\""), Not(HasSubstr("<table")),
                             HasSubstr("computing for 54 % of the time")))
      << "(800 + 200 + 270 + 80) / 25 seconds";
  EXPECT_THAT(faces_html(page), HasSubstr("{\"begin_s\":12.0,\"color\":\"#009e73\",\"end_s\":20.0,\"rate\":3.0,"
                                          "\"rss_bytes\":6000000}"));
  for (ChunkOnPage& chunk : page.chunks) chunk.seconds /= 100;
  EXPECT_THAT(costs(), HasSubstr("computing for 54 % of the time")) << "of a quarter of a second";
}

TEST(FacesPage, FitsASmallWindowAndFetchesNothing) {
  if (const std::string reason = test::why_no_browser(); !reason.empty()) GTEST_SKIP() << reason;
  const test::TestFolder folder;
  FacesPage page = sample();
  page.title = "/a/very/long/path/without/any/space/whatsoever/to/photos/of/a/long/summer/in/the/south/of/france";
  for (int i = 0; i < 40; ++i) page.faces.push_back(page.faces[0]);
  page.names_file = "/a/very/long/path/without/any/space/whatsoever/to/photos/of/a/long/summer/in/names.csv";
  for (int i = 0; i < 6; ++i) page.chunks.push_back({i % 2, 10, 1.0 * i, 1, 80, 300'000'000});
  page.judgement = {"9 pairs.", {{0, 0}, {0.25, 0.5}, {1, 1}}, 0.25};
  std::ofstream(folder / "faces.html") << faces_html(page);
  const std::string dom = test::dom_of(folder / "faces.html", folder / "profile", 500);
  EXPECT_THAT(dom, HasSubstr("data-overflow=\"overflow=false\""));
  EXPECT_THAT(dom, HasSubstr("data-requests=\"requests=0 \""));
  for (const char* drawn : {"class=\"near\"", "class=\"limit\"", "class=\"chance\"", "class=\"chunk\"",
                            "points=\"60,330 140,170 380,10\"", ">10</text>", ">300 MB</text>"}) {
    EXPECT_THAT(dom, HasSubstr(drawn));
  }
}

// Pages of several sweeps, of faces and of a network to share: what they are made of, and where things lie.

TEST(SweepsPage, CountsCellsWithoutFiguresAndNamesEachMachineOnce) {
  Sweep first = test::simulate(test::simulated_record(3, 3), {.speeds = {100, 200, 300}}, 1);
  Sweep second = test::simulate(test::simulated_record(2, 3), {.speeds = {100, 200}}, 2);
  first.name = "001-first";
  second.record.title = "Second <one>";
  for (Sweep* sweep : {&first, &second}) {
    for (SweepCellRuns& cell : sweep->cells) {
      cell.record->machine.cpu = "Zen";
      cell.record->machine.cores = 4;
      cell.record->machine.memory_bytes = 8'000'000'000;
    }
  }
  const std::vector<Sweep> whole{first, second};
  std::string page = sweeps_page(whole, "", "");
  EXPECT_THAT(page, AllOf(HasSubstr("<h1>2 sweeps</h1>"), HasSubstr("<h2>001-first</h2>"),
                          HasSubstr("Second &lt;one&gt;"), Not(HasSubstr("could not be measured"))));
  const std::string machine = "<li>Zen, 4 cores, 8 GB memory</li>";
  EXPECT_EQ(page.find(machine), page.rfind(machine));
  EXPECT_NE(page.find(machine), std::string::npos);
  first.cells[1].record.reset();
  second.cells[0].record.reset();
  second.cells[1].record->machine.cores = 1;
  page = sweeps_page(std::vector<Sweep>{first, second}, "", "", "a <hint>");
  EXPECT_THAT(page, AllOf(HasSubstr("2 of 5 cells could not be measured here"), HasSubstr("Zen, 1 core,"),
                          HasSubstr(machine), HasSubstr("a &lt;hint&gt;")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("id=\"data\"")), HasSubstr("table class=\"figures sortable\"")));
  first.reference.emplace_back().figure.cell = "c";
  first.reference[0].published_to_compare = 2;
  first.reference[0].verdict = "higher";
  page = sweeps_page(std::vector<Sweep>{first, second}, "", "/* plots */");
  EXPECT_THAT(page, AllOf(HasSubstr("2 sweeps: published against measured"), HasSubstr("1 published ratio or accuracy"),
                          HasSubstr("\"experiment\":\"001\"")));
}

FaceOnPage face(int group, double probability, bool clear = true) {
  FaceOnPage made;
  made.file = "p" + std::to_string(static_cast<int>(100 * probability)) + ".jpg";
  made.image = "x";
  made.probability = probability;
  made.group = group;
  made.clear = clear;
  return made;
}

TEST(FacesPageRules, PersonsWithMostFacesComeFirstAndTheirClearestFaceLeads) {
  FacesPage page;
  page.photos = 1;
  page.all_faces = 7;
  page.faces = {face(4, 0.5), face(4, 0.6),  face(2, 0.7, false), face(2, 0.2),
                face(2, 0.3), face(-1, 0.9), face(-1, 0.4, false)};
  const std::string html = faces_html(page);
  EXPECT_THAT(html, HasSubstr("<b>1</b><span>photo</span>"));
  EXPECT_THAT(html, HasSubstr("<b>7</b><span>faces</span>"));
  EXPECT_THAT(html, HasSubstr("<b>2</b><span>persons seen more than once</span>"));
  EXPECT_LT(html.find("Person 3"), html.find("Person 5"));
  const std::size_t three = html.find("on 3 photos"), two = html.find("on 2 photos");
  ASSERT_LT(three, two);
  EXPECT_LT(html.find("p30.jpg"), html.find("p20.jpg")) << "clear and surest";
  EXPECT_LT(html.find("p20.jpg"), html.find("p70.jpg")) << "surer, but not clear";
  EXPECT_LT(html.find("p60.jpg"), html.find("p50.jpg"));
  EXPECT_THAT(html, HasSubstr("Seen once <span class=\"soft\">1</span>"));
  EXPECT_THAT(html, HasSubstr("Unclear <span class=\"soft\">1</span>"));
  EXPECT_THAT(html, Not(HasSubstr("of the faces; faces.csv has all")));
  page.all_faces = 8;
  EXPECT_THAT(faces_html(page), HasSubstr("The page shows 7 of the faces"));
  page.tells_persons = false;
  EXPECT_THAT(faces_html(page), Not(HasSubstr("seen more than once</span>")));
}

TEST(FacesPageRules, TheHistogramHasItsLimit) {
  FacesPage page;
  page.histogram = {0, 34, 17, 1000, 1};
  page.limit = 0.8;
  EXPECT_THAT(faces_html(page), AllOf(HasSubstr("<svg id=\"histogram\""), HasSubstr("the line (0.80)"),
                                      HasSubstr("\"histogram\":[0,34,17,1000,1],\"limit\":0.8")));
  page.histogram = {0, 0};
  EXPECT_THAT(faces_html(page), Not(HasSubstr("How far faces are apart")));
}

TEST(SharePage, SaysWhatItTellsApartHowWellAndFromWhat) {
  SharedNetwork shared;
  shared.training = test::sample_run("run");
  shared.training.record.data.classes = {"bream", "red <fish>", "shrimp"};
  shared.training.record.data.train = 321;
  shared.training.record.model.name = "resnet18";
  shared.folder = "runs/a b";
  shared.weight_bytes = 45'000'000;
  record::Record& judging = shared.judging.record;
  judging.kind = "infer";
  judging.machine.cpu = "Zen";
  judging.confusion.part = "test";
  record::Metric accuracy;
  accuracy.name = "accuracy";
  accuracy.unit = "share";
  accuracy.value = 0.9;
  accuracy.of_images = 1000;
  record::add_metric(judging, accuracy);
  record::Metric speed;
  speed.name = "network_images_per_s";
  speed.unit = "images/s";
  speed.value = 123;
  record::add_metric(judging, speed);
  std::string page = share_page(shared);
  EXPECT_THAT(page, AllOf(HasSubstr("Tells bream, red &lt;fish&gt; and shrimp apart"), HasSubstr("A resnet18"),
                          HasSubstr("3 classes")));
  EXPECT_THAT(page, AllOf(HasSubstr("90.0 % <small>of 1000 images"), HasSubstr("88 to 92 %"), HasSubstr("321 images")));
  EXPECT_THAT(page, AllOf(HasSubstr("45 MB"), HasSubstr("123 images per second"), HasSubstr(">Zen<")));
  EXPECT_THAT(page, Not(HasSubstr("chose the best")));
  judging.confusion.part = "validation";
  EXPECT_THAT(share_page(shared), HasSubstr("they chose the best of its states"));
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
