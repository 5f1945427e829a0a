#include "report/timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>

#include "base/error.h"
#include "base/files.h"

namespace evener::report {
namespace {

constexpr std::uint64_t kTimelineLimitBytes = std::uint64_t{64} << 20;
constexpr int kMostReplicas = 4096;
constexpr double kMicroseconds = 1e6;
constexpr std::array<std::string_view, 3> kWays = {"forward", "backward", "weights"};

StageTask task_of(const nlohmann::json& event) {
  StageTask task;
  task.replica = event.at("pid");
  task.stage = event.at("tid");
  task.step = event.at("args").at("step");
  task.micro_batch = event.at("args").at("micro_batch");
  task.way = event.at("cat");
  task.from_s = event.at("ts").get<double>() / kMicroseconds;
  task.to_s = task.from_s + event.at("dur").get<double>() / kMicroseconds;
  const bool known = std::ranges::find(kWays, task.way) != kWays.end();
  const bool possible = known && std::min({task.replica, task.stage, task.step, task.micro_batch}) >= 0 &&
                        std::max(task.replica, task.stage) < kMostReplicas && std::isfinite(task.to_s) &&
                        task.to_s >= task.from_s;
  if (!possible) throw Error("a task that is none");
  return task;
}

/// The first step after the last long break.
int first_step(const std::vector<StageTask>& tasks) {
  struct Span {
    double from_s = std::numeric_limits<double>::infinity(), to_s = 0;
  };
  std::map<int, Span> steps;
  for (const StageTask& task : tasks) {
    Span& span = steps[task.step];
    span.from_s = std::min(span.from_s, task.from_s);
    span.to_s = std::max(span.to_s, task.to_s);
  }
  int first = steps.empty() ? 0 : steps.rbegin()->first;
  for (auto later = steps.rbegin(); later != steps.rend(); ++later) {
    const auto earlier = std::next(later);
    if (earlier == steps.rend()) break;
    if (later->second.from_s - earlier->second.to_s > later->second.to_s - later->second.from_s) break;
    first = earlier->first;
  }
  return first;
}

}  // namespace

std::vector<StageTask> read_timeline(const std::filesystem::path& path) {
  std::vector<StageTask> tasks;
  try {
    const nlohmann::json trace = nlohmann::json::parse(read_file(path, kTimelineLimitBytes));
    for (const auto& event : trace.at("traceEvents")) {
      if (event.at("ph") == "X") tasks.push_back(task_of(event));
    }
  } catch (const std::exception& problem) {
    throw Error(path.string() + " can't be read: " + problem.what());
  }
  const int first = first_step(tasks);
  std::erase_if(tasks, [first](const StageTask& task) { return task.step < first; });
  std::ranges::sort(tasks, {}, [](const StageTask& task) { return std::tuple(task.replica, task.stage, task.from_s); });
  double begin_s = std::numeric_limits<double>::infinity();
  for (const StageTask& task : tasks) begin_s = std::min(begin_s, task.from_s);
  for (StageTask& task : tasks) {
    task.step -= first;
    task.from_s -= begin_s;
    task.to_s -= begin_s;
  }
  return tasks;
}

}  // namespace evener::report
