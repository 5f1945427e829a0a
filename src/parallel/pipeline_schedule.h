// Schedules of a pipeline: in which order each stage does forward and backward passes of micro-batches, and a
// simulation of the resulting times.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace evener::parallel {

enum class PipelineSchedule {
  k1F1B,  // one forward, one backward (PipeDream-Flush, Narayanan et al. 2021): each stage keeps the activations of few
          // micro-batches
  kGPipe,  // all forward, then all backward (Huang et al. 2019): each stage keeps all activations
  // 1F1B with a split backward pass: gradients of the inputs are computed at once, as the previous stage waits for
  // them, and gradients of the weights later, when the stage would be idle (ZB-H1, Qi et al. 2024).
  kZeroBubble,
};
/// "1f1b", "gpipe" or "zero-bubble". Throws UsageError.
PipelineSchedule parse_pipeline_schedule(const std::string& text);
constexpr bool splits_backward(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::kZeroBubble;
}

/// Kinds of passes of a micro-batch. kBackward includes the gradients of the weights, unless the schedule splits the
/// backward pass; then kWeights computes them.
enum class PassKind : std::uint8_t { kForward, kBackward, kWeights };
/// "forward", "backward" or "weights".
const char* pass_text(PassKind kind);

/// One pass of one micro-batch through a stage.
struct StageTask {
  PassKind kind = PassKind::kForward;
  int micro_batch = 0;

  bool operator==(const StageTask&) const = default;
};

/// All tasks of `stage` in a step, in order. With 1F1B a stage keeps at most min(micro_batches, stages - stage)
/// micro-batches at once; with kZeroBubble at most min(micro_batches, stages), as many as 1F1B's first stage.
std::vector<StageTask> stage_tasks(PipelineSchedule schedule, int stage, int stages, int micro_batches);

/// The largest number of micro-batches that are kept at once: forward is done, another pass is still to come.
int most_kept(std::span<const StageTask> tasks);

/// Times of one micro-batch on a stage.
struct StageTimes {
  double forward_s = 0, backward_s = 0;
  double weights_s = 0;  // 0 unless the schedule splits the backward pass: then it isn't part of backward_s
};

/// A simulated step: each task takes exactly its stage's time, and transfers between stages take none.
struct SimulatedStep {
  struct Task {
    StageTask task;
    double from_s = 0, to_s = 0;
  };
  std::vector<std::vector<Task>> stages;
  double seconds = 0;
  /// The share of the stages' time in which they wait; (p - 1) / (m + p - 1) for p equal stages and m micro-batches.
  double bubble = 0;
};
SimulatedStep simulate_step(PipelineSchedule schedule, std::span<const StageTimes> stages, int micro_batches);

}  // namespace evener::parallel
