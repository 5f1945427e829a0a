#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/test_folder.h"
#include "report/browser_helpers.h"
#include "report/conclusion.h"
#include "report/html.h"
#include "report/html_parts.h"
#include "report/sample_records_helpers.h"

namespace evener::report {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A run of inference measured as a server, which answered a thousand queries in 1 to 1000 ms.
report::Run server_run(const std::string& name) {
  report::Run run = test::sample_run(name, {.data = "photos", .placement = "cpu/t1"});
  record::Record& record = run.record;
  record.kind = "infer";
  record.training = {};
  record.images_per_s = {};
  record.scenario.name = "server";
  record.scenario.percentile = 0.99;
  record.scenario.latency_limit_s = 0.1;
  record.scenario.queries = record.scenario.samples = 1000;
  record.scenario.parts_s = {{"queue", 0.1}, {"compute", 0.3}};
  record.scenario.rates = {{20, 200, 10.0, 0.05, 0.01, true}, {80, 200, 2.5, 0.9, 0.2, false}};
  add_metric(record, {.name = "queries_per_s",
                      .unit = "queries/s",
                      .title = "queries/s",
                      .label = "rate of arriving queries",
                      .role = record::MetricRole::kSpeed,
                      .value = 40});
  for (int n = 1; n <= 1000; ++n) run.latencies_s.push_back(0.001 * n);
  return run;
}

TEST(Latencies, AreReadByTheTitleOfTheirColumn) {
  const test::TestFolder folder;
  std::ofstream(folder / "a.csv") << "query,latency_s,compute_s\n0,0.25,0.1\n1,0.125,\n2,nan,\n3,,\n4,-1,\n5,0.5";
  EXPECT_THAT(read_latencies(folder / "a.csv"), ElementsAre(0.125, 0.25, 0.5));
  std::ofstream(folder / "b.csv") << "query,lane\n0,1\n";
  try {
    read_latencies(folder / "b.csv");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no column 'latency_s'"));
  }
  std::ofstream(folder / "empty.csv") << "";
  EXPECT_THROW(read_latencies(folder / "empty.csv"), Error);
}

TEST(Latencies, AHistogramHoldsAllOfThem) {
  const std::vector<double> latencies{0, 0.001, 0.001, 0.002, 0.1};
  const LatencyHistogram histogram = latency_histogram(latencies);
  ASSERT_EQ(histogram.edges_s.size(), histogram.shares.size() + 1);
  EXPECT_TRUE(std::ranges::is_sorted(histogram.edges_s));
  EXPECT_NEAR(std::accumulate(histogram.shares.begin(), histogram.shares.end(), 0.0), 1, 1e-12);
  EXPECT_NEAR(histogram.shares.front(), 0.2, 1e-12);
  EXPECT_NEAR(histogram.shares.back(), 0.2, 1e-12);
  EXPECT_GT(histogram.edges_s.back(), 0.1);
  EXPECT_THAT(latency_histogram({}).shares, IsEmpty());
  EXPECT_LT(latency_histogram({0.5, 0.5}).edges_s.front(), 0.5);
}

TEST(Latencies, TheCurveReachesAsFarAsThereAreQueries) {
  const auto data = latency_data(server_run("a"));
  const auto one_in = data["curve"]["one_in"].get<std::vector<double>>();
  const auto latency_s = data["curve"]["latency_s"].get<std::vector<double>>();
  EXPECT_NEAR(one_in.back(), 1000, 1e-6);
  EXPECT_NEAR(latency_s.front(), 0.001, 1e-9);
  EXPECT_NEAR(latency_s[10], 0.901, 0.0011);  // nine tenths
  EXPECT_NEAR(data["marks"][1]["latency_s"].get<double>(), 0.99, 0.001);
  EXPECT_NEAR(data["mean_s"].get<double>(), 0.5005, 1e-9);
  EXPECT_EQ(data["rates"].size(), 2u);
  EXPECT_TRUE(latency_data(test::sample_run("training")).is_null());
}

TEST(Latencies, OfARunAreLoadedWithIt) {
  const test::TestFolder folder;
  const report::Run made = server_run("run");
  record::write_record(folder.path(), made.record);
  std::ofstream(folder / "samples.csv") << "";
  EXPECT_THAT(load_run(folder.path()).warnings, Contains(HasSubstr("no plots of latency")));
  std::ofstream(folder / "latencies.csv") << "latency_s\n0.5\n0.25\n";
  const report::Run run = load_run(folder.path());
  EXPECT_THAT(run.latencies_s, ElementsAre(0.25, 0.5));
  EXPECT_EQ(run.record.scenario.rates.size(), 2u);
  EXPECT_TRUE(run.record.scenario.rates[0].held);
  EXPECT_EQ(run.record.scenario.rates[1].latency_s, 0.9);
}

TEST(LatencyPage, HasItsPartOnlyForScenarios) {
  const std::vector<report::Run> runs{server_run("server"), test::sample_run("training")};
  const std::string page = html_page(runs, "/* Plotly */");
  EXPECT_THAT(page, HasSubstr("Latency of resnet34 on photos, server"));
  EXPECT_THAT(page, HasSubstr("plot-rates-0"));
  EXPECT_THAT(page, Not(HasSubstr("plot-latency-1\"")));
  EXPECT_THAT(html_page(std::vector<report::Run>{runs[1]}, ""), Not(HasSubstr("plot-latency")));
  EXPECT_THAT(conclusion(std::vector<report::Run>{runs[0]}),
              Contains(HasSubstr("resnet34 answered 1000 queries of photos on cpu/t1")));
}

TEST(LatencyPage, LatencyAsTheMainFigureHasItsUnit) {
  report::Run run = server_run("single");
  run.record.scenario.name = "single-stream";
  run.record.metrics.clear();
  add_metric(run.record, {.name = "latency_p90_estimate_s",
                          .unit = "s",
                          .title = "p90 estimate s",
                          .label = "p90 latency",
                          .better = record::Better::kLower,
                          .role = record::MetricRole::kSpeed,
                          .value = 0.0179});
  EXPECT_THAT(html_page(std::vector<report::Run>{run}, ""), HasSubstr("<p class=\"big\">17.9 <small> ms</small>"));
  EXPECT_THAT(conclusion(std::vector<report::Run>{run}), Contains(HasSubstr("at a p90 latency of 17.9 ms")));
}

TEST(LatencyPage, ScenariosAreNotComparedWithEachOther) {
  std::vector<report::Run> runs{server_run("a"), server_run("b"), server_run("c")};
  runs[1].record.scenario.name = "offline";
  runs[2].record.scenario.latency_limit_s = 0.015;
  EXPECT_THAT(conclusion(runs), Not(Contains(HasSubstr("as fast"))));
  runs[2].record.scenario.latency_limit_s = 0.1;
  EXPECT_THAT(conclusion(std::vector<report::Run>{runs[0], runs[2]}), Contains(HasSubstr("as fast")));
}

class LatencyInBrowser : public ::testing::TestWithParam<int> {};

TEST_P(LatencyInBrowser, PlotsAreDrawn) {
  if (const std::string reason = test::why_no_browser(); !reason.empty()) GTEST_SKIP() << reason;
  const test::TestFolder folder;
  std::vector<report::Run> runs{server_run("quiet"), server_run("<b>loud</b>"), test::sample_run("training")};
  runs.resize(static_cast<std::size_t>(GetParam() > 1000 ? 3 : 1));
  const WrittenPage page = write_html(folder / "report.html", runs);
  ASSERT_EQ(page.hint, "");
  const std::string dom = test::dom_of(page.path, folder / "profile", GetParam());
  const std::string body = dom.substr(dom.find("<main"), dom.find("</main>") - dom.find("<main"));
  EXPECT_THAT(body, Not(HasSubstr("could not be drawn")));
  for (const char* plot : {"latency", "percentiles", "rates", "parts"}) {
    const std::size_t at = body.find("id=\"plot-" + std::string(plot) + "-0\"");
    ASSERT_NE(at, std::string::npos) << plot;
    EXPECT_THAT(body.substr(body.rfind("<div", at), 100), HasSubstr("js-plotly-plot")) << plot;
  }
  EXPECT_THAT(body, Not(HasSubstr(">loud</tspan>")));
  EXPECT_THAT(body, HasSubstr("99.9 %"));
  EXPECT_THAT(dom, HasSubstr("data-overflow=\"overflow=false\""));
}

INSTANTIATE_TEST_SUITE_P(Widths, LatencyInBrowser, ::testing::Values(1400, 500));

}  // namespace
}  // namespace evener::report
