// The timeline of a pipeline's stages: read from a run's folder, and drawn on the page.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/test_folder.h"
#include "report/html.h"
#include "report/html_parts.h"
#include "report/run.h"
#include "report/sample_records_helpers.h"

namespace evener::report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
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

}  // namespace

}  // namespace evener::report
