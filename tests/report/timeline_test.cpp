// The timeline of a pipeline's stages: read from a run's folder, and drawn on the page.
#include "report/timeline.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/error.h"
#include "base/test_folder.h"
#include "report/html.h"
#include "report/sample_records_helpers.h"

namespace evener::report {
namespace {

using testing::AllOf;
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

}  // namespace
}  // namespace evener::report
