// Pages of several sweeps, of faces and of a network to share: what they are made of, and where things lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/faces_page.h"
#include "report/html_parts.h"
#include "report/sample_records_helpers.h"
#include "report/share_page.h"
#include "report/sweep_page.h"
#include "report/sweep_simulation_helpers.h"

namespace evener::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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

TEST(FacesPageRules, PairsAreShownNearestFirstAndEachFaceOnce) {
  FacesPage page;
  page.faces = {face(-1, 0.1), face(-1, 0.2), face(-1, 0.3), face(-1, 0.4)};
  page.pairs = {{0, 1, 0.25}, {1, 2, 0.5}, {2, 3, 0.75}};
  const std::string html = faces_html(page);
  EXPECT_THAT(html, AllOf(HasSubstr("<b>0.250</b>"), HasSubstr("<b>0.750</b>"), Not(HasSubstr("<b>0.500</b>"))));
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
