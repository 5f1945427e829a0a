// The timeline of a pipeline's stages: read from a run's folder, and drawn on the page.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "base/error.h"
#include "base/test_folder.h"
#include "report/conclusion.h"
#include "report/html.h"
#include "report/html_parts.h"
#include "report/run.h"
#include "support/browser_helpers.h"
#include "support/sample_records_helpers.h"

namespace evener::report {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string event(int stage, int step, int micro_batch, bool backward, int from_us, int us) {
  const std::string way = backward ? "backward" : "forward";
  return R"(,{"name":"x","cat":")" + way + R"(","ph":"X","pid":0,"tid":)" + std::to_string(stage) +
         ",\"ts\":" + std::to_string(from_us) + ",\"dur\":" + std::to_string(us) +
         ",\"args\":{\"step\":" + std::to_string(step) + ",\"micro_batch\":" + std::to_string(micro_batch) + "}}";
}

class Timeline : public testing::Test {
 protected:
  std::vector<StageTask> read(const std::string& events) {
    std::ofstream(path_) << R"({"traceEvents":[{"name":"process_name","ph":"M","pid":0,"tid":0,"args":{}})" << events
                         << "]}";
    return read_timeline(path_);
  }

  const test::TestFolder folder_;
  const std::filesystem::path path_ = folder_.path() / kTimeline;
};

TEST_F(Timeline, HasTheTasksOfEachStageInOrderOfTime) {
  const auto tasks =
      read(event(1, 0, 0, false, 3000, 1000) + event(0, 0, 0, true, 5000, 2000) + event(0, 0, 0, false, 1000, 2000));
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0].stage, 0);
  EXPECT_EQ(tasks[0].way, "forward");
  EXPECT_DOUBLE_EQ(tasks[0].from_s, 0) << "the first task begins at 0";
  EXPECT_DOUBLE_EQ(tasks[0].to_s, 0.002);
  EXPECT_EQ(tasks[1].way, "backward");
  EXPECT_EQ(tasks[2].stage, 1);
}

TEST_F(Timeline, LeavesOutStepsBeforeALongBreak) {
  const auto tasks =
      read(event(0, 0, 0, false, 0, 100) + event(0, 1, 0, false, 9000, 100) + event(0, 2, 0, false, 9150, 100));
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].step, 0);
  EXPECT_EQ(tasks[1].step, 1);
  EXPECT_NEAR(tasks[1].from_s, 150e-6, 1e-12);
}

TEST_F(Timeline, RefusesWhatIsNone) {
  std::string with_other_way = event(0, 0, 0, false, 0, 1);
  with_other_way.replace(with_other_way.find("forward"), 7, "sideways");
  for (const std::string& events : {event(-1, 0, 0, false, 0, 1), event(0, 0, 0, false, 5, -9), std::string(",7"),
                                    std::string(R"(,{"ph":"X","pid":"zero"})"), with_other_way}) {
    EXPECT_THROW(read(events), Error) << events;
  }
}

TEST_F(Timeline, IsDrawnAsBarsOfEachStage) {
  std::vector<report::Run> runs = {test::sample_run("masks")};
  EXPECT_THAT(html_page(runs, "", ""), Not(HasSubstr("Stages over time")));
  runs[0].timeline = {
      {0, 0, 0, 0, "forward", 0, 0.01}, {0, 0, 0, 0, "backward", 0.03, 0.04}, {0, 1, 0, 0, "forward", 0.01, 0.03}};
  const std::string page = html_page(runs, "", "");
  EXPECT_THAT(page, AllOf(HasSubstr("Stages over time"), HasSubstr("stage 1 <small>waits 50.0 %"),
                          HasSubstr("left:75.000%;width:25.000%\" data-told=\"backward of micro-batch 0: 10 ms, from "
                                    "30 ms on; waited 20 ms before\"")));
  EXPECT_THAT(page, Not(HasSubstr("class=\"step\""))) << "of one step";
  EXPECT_THAT(page, Not(HasSubstr("<script"))) << "it needs none";
  EXPECT_THAT(page, Not(HasSubstr("weights' gradients"))) << "the backward pass isn't split";
  runs[0].timeline.push_back({0, 1, 0, 0, "weights", 0.03, 0.04});
  EXPECT_THAT(html_page(runs, "", ""), AllOf(HasSubstr("</i>weights' gradients"), HasSubstr("class=\"task weights"),
                                             HasSubstr("data-told=\"weights' gradients of micro-batch 0: 10 ms")));
}

// A pipeline's timeline, rule by rule: which steps it has, how bars lie, what is told of each, how wide it is.

std::vector<StageTask> read_tasks(const std::vector<StageTask>& tasks_us) {
  const test::TestFolder folder;
  std::string events;
  for (const StageTask& task : tasks_us) {
    events += fmt::format(
        R"({}{{"cat":"{}","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"step":{},"micro_batch":{}}}}})",
        events.empty() ? "" : ",", task.way, task.replica, task.stage, task.from_s, task.to_s - task.from_s, task.step,
        task.micro_batch);
  }
  test::write_text(folder / kTimeline, R"({"traceEvents":[)" + events + "]}");
  return read_timeline(folder / kTimeline);
}

StageTask task(int replica, int stage, int step, int micro_batch, double from, double to,
               const std::string& way = "forward") {
  return {replica, stage, step, micro_batch, way, from, to};
}

std::vector<int> steps_of_tasks(const std::vector<StageTask>& tasks) {
  std::vector<int> steps;
  for (const StageTask& one : tasks) steps.push_back(one.step);
  return steps;
}

TEST(TimelineRules, ABreakAsLongAsTheStepAfterItIsNone) {
  // Of two stages; the later step takes from 300 to 400.
  const auto steps = [](double earlier_ends) {
    return steps_of_tasks(
               read_tasks({task(0, 0, 4, 0, 0, 50), task(0, 1, 4, 0, 20, earlier_ends), task(0, 0, 5, 0, 310, 350),
                           task(0, 1, 5, 0, 300, 320), task(0, 1, 5, 1, 360, 400)}))
        .size();
  };
  EXPECT_EQ(steps(200), 5U);
  EXPECT_EQ(steps(199), 3U);
}

TEST(TimelineRules, TasksStandByReplicaStageAndTimeFromTheFirstOn) {
  const auto tasks =
      read_tasks({task(1, 0, 7, 3, 5000, 6000, "weights"), task(0, 1, 7, 2, 4000, 4500, "backward"),
                  task(0, 0, 7, 1, 3000, 3500), task(0, 0, 7, 0, 2000, 2250), task(0, 1, 8, 0, 6500, 7600)});
  ASSERT_EQ(tasks.size(), 5U);
  EXPECT_THAT(steps_of_tasks(tasks), ElementsAre(0, 0, 0, 1, 0));
  EXPECT_EQ(tasks[0].micro_batch, 0);
  EXPECT_DOUBLE_EQ(tasks[0].from_s, 0);
  EXPECT_DOUBLE_EQ(tasks[0].to_s, 250e-6);
  EXPECT_DOUBLE_EQ(tasks[1].from_s, 1e-3);
  EXPECT_EQ(tasks[2].way, "backward");
  EXPECT_DOUBLE_EQ(tasks[2].to_s, 2.5e-3);
  EXPECT_EQ(tasks[4].replica, 1);
  EXPECT_EQ(tasks[4].way, "weights");
}

TEST(TimelineRules, ReplicasAndStagesHaveABound) {
  EXPECT_EQ(read_tasks({task(4095, 0, 0, 0, 0, 1)}).size(), 1U);
  EXPECT_THROW(read_tasks({task(4096, 0, 0, 0, 0, 1)}), Error);
  EXPECT_THROW(read_tasks({task(0, 4096, 0, 0, 0, 1)}), Error);
  EXPECT_THROW(read_tasks({task(0, 0, 0, -1, 0, 1)}), Error);
  EXPECT_THROW(read_tasks({task(0, 0, -1, 0, 0, 1)}), Error);
  EXPECT_EQ(read_tasks({task(0, 0, 0, 0, 5, 5), task(0, 0, 0, 1, 5, 6)}).size(), 2U) << "a task may take no time";
  EXPECT_EQ(read_tasks({}).size(), 0U);
}

std::string page_of(const std::vector<StageTask>& tasks) {
  std::vector<report::Run> runs = {test::sample_run("masks")};
  runs[0].timeline = tasks;
  return timeline_part(runs);
}

TEST(TimelineRules, BarsTellTheirWayTimeAndWait) {
  const std::string page = page_of({task(0, 0, 0, 3, 0, 0.01), task(0, 0, 0, 4, 0.01, 0.02),
                                    task(0, 0, 0, 5, 0.05, 0.08, "backward"), task(0, 1, 0, 3, 0.02, 0.03)});
  EXPECT_THAT(page,
              HasSubstr("style=\"left:0.000%;width:12.500%\" data-told=\"forward of micro-batch 3: 10 ms, from 0"));
  EXPECT_THAT(page, HasSubstr("data-told=\"forward of micro-batch 4: 10 ms, from 10 ms on\"")) << "without a wait";
  EXPECT_THAT(page, HasSubstr("left:62.500%;width:37.500%\" data-told=\"backward of micro-batch 5: 30 ms, from 50 ms "
                              "on; waited 30 ms before\""));
  EXPECT_THAT(page, HasSubstr("micro-batch 3: 10 ms, from 20 ms on; waited 20 ms before")) << "of its own stage";
  EXPECT_THAT(page, AllOf(HasSubstr("stage 0 <small>waits 37.5 %"), HasSubstr("stage 1 <small>waits 87.5 %")));
  EXPECT_THAT(page, HasSubstr("class=\"task backward late\"")) << "the middle lies in the second half";
  EXPECT_THAT(page, Not(HasSubstr("class=\"task forward late\"")));
  EXPECT_THAT(page, Not(HasSubstr("replica 0")));
  EXPECT_THAT(page, HasSubstr("The last step of the training"));
}

TEST(TimelineRules, NarrowBarsHaveNoNumber) {
  EXPECT_THAT(page_of({task(0, 0, 0, 0, 0, 6), task(0, 0, 0, 1, 6, 1000)}), Not(HasSubstr(" small\"")));
  EXPECT_THAT(page_of({task(0, 0, 0, 0, 0, 5.9), task(0, 0, 0, 1, 6, 1000)}), HasSubstr(" small\""));
}

TEST(TimelineRules, StepsAreMarkedWhereTheirFirstTaskBegins) {
  const std::string page = page_of({task(0, 0, 0, 0, 0, 2), task(0, 0, 1, 0, 5, 7), task(0, 0, 2, 0, 8, 10),
                                    task(1, 0, 0, 0, 1, 2), task(1, 0, 1, 0, 4, 6)});
  EXPECT_THAT(page, HasSubstr("<span class=\"step\" style=\"left:0.000%\">step 1</span>"));
  EXPECT_THAT(page, HasSubstr("left:40.000%\">step 2</span>"));
  EXPECT_THAT(page, HasSubstr("left:80.000%\">step 3</span>"));
  EXPECT_THAT(page,
              AllOf(HasSubstr("replica 0, stage 0"), HasSubstr("replica 1, stage 0"), HasSubstr("The last 3 steps")));
}

TEST(TimelineRules, TheAxisHasAFewRoundMarks) {
  const auto marks = [](double end_s) {
    const std::string page = page_of({task(0, 0, 0, 0, 0, end_s)});
    const std::string axis = page.substr(page.find("class=\"axis\""));
    std::vector<std::string> all;
    for (std::size_t at = axis.find("%\">"); at != std::string::npos; at = axis.find("%\">", at + 1)) {
      all.push_back(axis.substr(at + 3, axis.find('<', at) - at - 3));
    }
    return all;
  };
  EXPECT_THAT(marks(6.3), ElementsAre("0", "2.0 s", "4.0 s", "6.0 s"));
  EXPECT_THAT(marks(0.055), ElementsAre("0", "10 ms", "20 ms", "30 ms", "40 ms", "50 ms"));
  EXPECT_THAT(marks(13), ElementsAre("0", "5.0 s", "10.0 s"));
  EXPECT_THAT(marks(31), ElementsAre("0", "10.0 s", "20.0 s", "30.0 s"))
      << "six and a bit would be more than five each";
}

TEST(TimelineRules, ManyBarsAreScrolled) {
  const auto page = [](int bars) {
    std::vector<StageTask> tasks;
    for (int n = 0; n < bars; ++n) tasks.push_back(task(0, 0, 0, n, n, n + 1));
    tasks.push_back(task(0, 1, 0, 0, 0, 1));  // another stage's don't count
    return page_of(tasks);
  };
  EXPECT_THAT(page(10), AllOf(HasSubstr("min-width:560px"), Not(HasSubstr(" wide\""))));
  EXPECT_THAT(page(50), HasSubstr("min-width:800px"));
  EXPECT_THAT(page(71), Not(HasSubstr(" wide\"")));
  EXPECT_THAT(page(72), HasSubstr("timeline wide\" style=\"min-width:1108px"));
  EXPECT_THAT(page(500), HasSubstr("min-width:2400px"));
}

TEST(TimelineRules, TheBubbleIsThatOfTheWholeTraining) {
  std::vector<report::Run> runs = {test::sample_run("masks")};
  runs[0].timeline = {task(0, 0, 0, 0, 0, 1)};
  EXPECT_THAT(timeline_part(runs), Not(HasSubstr("the bubble")));
  record::Metric bubble;
  bubble.unit = "share";
  bubble.name = "pipeline_bubble";
  bubble.value = 0.25;
  record::add_metric(runs[0].record, bubble);
  bubble.name = "pipeline_bubble_simulated";
  bubble.value = 0.125;
  record::add_metric(runs[0].record, bubble);
  EXPECT_THAT(timeline_part(runs), AllOf(HasSubstr("waited 25.0 % of their time"), HasSubstr("makes it 12.5 %")));
  runs[0].timeline = {task(0, 0, 0, 0, 0, 0)};
  EXPECT_EQ(timeline_part(runs), "") << "nothing took any time";
}

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
  EXPECT_THAT(page, HasSubstr("id=\"latency\""));
  EXPECT_THAT(html_page(std::vector<report::Run>{runs[1]}, ""), Not(HasSubstr("id=\"latency\"")));
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
  EXPECT_THAT(conclusion(runs), Not(Contains(HasSubstr("fastest"))));
  runs[2].record.scenario.latency_limit_s = 0.1;
  EXPECT_THAT(conclusion(std::vector<report::Run>{runs[0], runs[2]}), Contains(HasSubstr("fastest")));
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
  EXPECT_THAT(body, HasSubstr(runs.size() > 1 ? "<h2>Latency of resnet34 on photos, server</h2>" : "<h2>Latency</h2>"));
  EXPECT_THAT(body, AllOf(HasSubstr("99.9 %"), Not(HasSubstr("plot-latency-1"))));
  EXPECT_THAT(dom, HasSubstr("data-overflow=\"overflow=false\""));
}

INSTANTIATE_TEST_SUITE_P(Widths, LatencyInBrowser, ::testing::Values(1400, 500));

}  // namespace

}  // namespace evener::report
