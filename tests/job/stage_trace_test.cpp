// The timeline of a pipeline's last steps, as a browser opens it.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/test_folder.h"
#include "job/train/record.h"

namespace evener::job {
namespace {

parallel::StageWork work_from(double begin_s) {
  parallel::StageWork work;
  work.last_steps = {{{parallel::PassKind::kForward, 0, begin_s, begin_s + 0.5},
                      {parallel::PassKind::kBackward, 0, begin_s + 0.5, begin_s + 2}}};
  return work;
}

TEST(StageTrace, OfEachHostBeginsAtZero) {
  const test::TestFolder folder;
  // Two hosts of two stages, whose clocks are a day apart.
  const std::vector<parallel::StageWork> work = {work_from(100), work_from(101), work_from(86500), work_from(86501)};
  write_stage_trace(folder / "trace.json", work, /*stages=*/2, /*hosts=*/2);
  std::ifstream file(folder / "trace.json");
  std::map<std::pair<int, int>, std::vector<double>> begins_us;
  const nlohmann::json trace = nlohmann::json::parse(file);
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") begins_us[{event["pid"], event["tid"]}].push_back(event["ts"]);
  }
  const std::vector<double> first = {0, 5e5}, second = {1e6, 1.5e6};
  for (const int replica : {0, 1}) {
    EXPECT_EQ((begins_us[{replica, 0}]), first) << replica;
    EXPECT_EQ((begins_us[{replica, 1}]), second) << replica;
  }
}

}  // namespace
}  // namespace evener::job
