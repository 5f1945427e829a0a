#include "parallel/pipeline_schedule.h"

#include <algorithm>

#include "base/names.h"

namespace evener::parallel {

PipelineSchedule parse_pipeline_schedule(const std::string& text) {
  constexpr const char* kSchedules[] = {"1f1b", "gpipe", "zero-bubble"};
  return value_named<PipelineSchedule>(kSchedules, "--pipeline-schedule", text);
}

const char* pass_text(PassKind kind) {
  constexpr const char* kPasses[] = {"forward", "backward", "weights"};
  return name_in(kPasses, kind);
}

std::vector<StageTask> stage_tasks(PipelineSchedule schedule, int stage, int stages, int micro_batches) {
  const int ahead = schedule == PipelineSchedule::kGPipe ? micro_batches : std::min(micro_batches, stages - stage);
  std::vector<StageTask> tasks;
  int forward = 0, weights = 0;
  while (forward < ahead - 1) tasks.push_back({PassKind::kForward, forward++});
  for (int backward = 0; backward < micro_batches; ++backward) {
    if (forward < micro_batches) tasks.push_back({PassKind::kForward, forward++});
    tasks.push_back({PassKind::kBackward, backward});
    if (!splits_backward(schedule) || backward + 1 == micro_batches) continue;
    // Each stage is one micro-batch further behind with the weights than the stage before. When all are forward, stages
    // wait longer for each gradient, the first one most: then one after the other is caught up with.
    const bool waits = forward == micro_batches;
    if (weights <= (waits ? backward : backward - stage)) tasks.push_back({PassKind::kWeights, weights++});
  }
  while (splits_backward(schedule) && weights < micro_batches) tasks.push_back({PassKind::kWeights, weights++});
  return tasks;
}

int most_kept(std::span<const StageTask> tasks) {
  const bool split = std::ranges::find(tasks, PassKind::kWeights, &StageTask::kind) != tasks.end();
  const PassKind last = split ? PassKind::kWeights : PassKind::kBackward;
  int kept = 0, most = 0;
  for (const StageTask& task : tasks) {
    kept += task.kind == PassKind::kForward ? 1 : task.kind == last ? -1 : 0;
    most = std::max(most, kept);
  }
  return most;
}

SimulatedStep simulate_step(PipelineSchedule schedule, std::span<const StageTimes> stages, int micro_batches) {
  const int count = static_cast<int>(stages.size());
  SimulatedStep step;
  step.stages.resize(stages.size());
  std::vector<std::vector<StageTask>> tasks;
  for (int s = 0; s < count; ++s) tasks.push_back(stage_tasks(schedule, s, count, micro_batches));
  // When each stage has done each micro-batch; not yet: less than 0.
  const std::vector<double> none(static_cast<std::size_t>(micro_batches), -1.0);
  std::vector<std::vector<double>> forward(stages.size(), none), backward(stages.size(), none);
  std::vector<double> free_s(stages.size(), 0);
  double busy_s = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      while (step.stages[s].size() < tasks[s].size()) {
        const StageTask task = tasks[s][step.stages[s].size()];
        const auto m = static_cast<std::size_t>(task.micro_batch);
        double arrived_s = 0, work_s = stages[s].weights_s;
        if (task.kind == PassKind::kForward) {
          arrived_s = s == 0 ? 0 : forward[s - 1][m];
          work_s = stages[s].forward_s;
        } else if (task.kind == PassKind::kBackward) {
          arrived_s = s + 1 == stages.size() ? 0 : backward[s + 1][m];
          work_s = stages[s].backward_s;
        }
        if (arrived_s < 0) break;
        const double begin_s = std::max(free_s[s], arrived_s);
        free_s[s] = begin_s + work_s;
        if (task.kind == PassKind::kForward) forward[s][m] = free_s[s];
        if (task.kind == PassKind::kBackward) backward[s][m] = free_s[s];
        step.stages[s].push_back({task, begin_s, free_s[s]});
        busy_s += work_s;
        moved = true;
      }
    }
  }
  step.seconds = *std::ranges::max_element(free_s);
  if (step.seconds > 0) step.bubble = 1 - busy_s / (step.seconds * count);
  return step;
}

}  // namespace evener::parallel
