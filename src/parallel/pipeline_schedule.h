// In which order the stages of a pipeline pass the micro-batches of a batch forward and backward, and what comes of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace evener::parallel {

enum class PipelineSchedule {
  k1F1B,   // one forward, one backward (PipeDream-Flush, Narayanan et al. 2021): few micro-batches are kept
  kGPipe,  // all forward, then all backward (Huang et al. 2019): every micro-batch is kept
  // 1F1B with the backward pass split in two: the gradients that the stage before waits for at once, those of the
  // weights when the stage would wait (ZB-H1, Qi et al. 2024).
  kZeroBubble,
};
/// "1f1b", "gpipe" or "zero-bubble". Throws UsageError.
PipelineSchedule parse_pipeline_schedule(const std::string& text);
constexpr bool splits_backward(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::kZeroBubble;
}

/// How a stage passes a micro-batch: kBackward computes the gradients of the weights too, unless the schedule splits
/// it.
enum class PassKind : std::uint8_t { kForward, kBackward, kWeights };
/// "forward", "backward" or "weights".
const char* pass_text(PassKind kind);

/// What a stage does with one micro-batch.
struct StageTask {
  PassKind kind = PassKind::kForward;
  int micro_batch = 0;

  bool operator==(const StageTask&) const = default;
};

/// All tasks of `stage` in a step, in their order. With 1F1B it keeps no more than min(micro_batches, stages - stage)
/// micro-batches at once; with a split backward pass min(micro_batches, stages), as much as 1F1B's first stage.
std::vector<StageTask> stage_tasks(PipelineSchedule schedule, int stage, int stages, int micro_batches);

/// The most micro-batches at once that are forward and have a pass to come.
int most_kept(std::span<const StageTask> tasks);

/// What one micro-batch takes on a stage.
struct StageTimes {
  double forward_s = 0, backward_s = 0;
  double weights_s = 0;  // where the schedule splits the backward pass: otherwise it is part of backward_s
};

/// A step as it would go if each task took exactly the times of its stage and values crossed in no time.
struct SimulatedStep {
  struct Task {
    StageTask task;
    double from_s = 0, to_s = 0;
  };
  std::vector<std::vector<Task>> stages;
  double seconds = 0;
  /// The share of the stages' time that they wait; (p - 1) / (m + p - 1) for equal stages.
  double bubble = 0;
};
SimulatedStep simulate_step(PipelineSchedule schedule, std::span<const StageTimes> stages, int micro_batches);

}  // namespace evener::parallel
