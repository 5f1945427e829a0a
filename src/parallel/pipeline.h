// One stage's part in a pipeline: it passes micro-batches of a batch on, forward and backward, in the order of the
// schedule, while its neighbours compute others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/described.h"
#include "data/batch.h"
#include "engine/capabilities.h"
#include "engine/trainer_options.h"
#include "parallel/channels.h"
#include "parallel/pipeline_schedule.h"
#include "parallel/stage_links.h"
#include "parallel/throttle.h"

namespace evener::parallel {

struct StageOptions {
  int micro_batches = 1;   // of a whole batch's share
  std::int64_t share = 1;  // samples of a whole batch that each replica gets, at most
  PipelineSchedule schedule = PipelineSchedule::k1F1B;
  bool own_process = false;                  // so that its memory on a CPU can be told
  std::vector<std::int64_t> received, sent;  // numbers per sample of each value that comes and goes
};

/// What a stage did in the whole steps that it trained, without the first one, which makes what later ones reuse.
struct StageWork {
  /// In seconds since an arbitrary moment that all ranks of a host have in common.
  struct Task {
    PassKind kind = PassKind::kForward;
    std::int64_t micro_batch = 0;
    double from_s = 0, to_s = 0;
  };
  std::int64_t steps = 0, micro_batches = 0;  // micro-batches of all those steps
  // Of all steps; the rest of step_s it waited, or exchanged. weights_s: as StageTimes has it.
  double step_s = 0, forward_s = 0, backward_s = 0, weights_s = 0;
  std::int64_t most_kept = 0;                 // micro-batches that were forward and had a pass to come
  std::int64_t sent_bytes = 0;                // in those steps, forward and backward
  std::optional<std::int64_t> memory_bytes;   // that its tensors took at most; absent: a CPU's that others' lie in too
  std::vector<std::vector<Task>> last_steps;  // of the last of them, the oldest first
};

template <typename Visitor>
void describe(Visitor& visitor, Of<StageTimes> auto& times) {
  visitor.value("forward_s", times.forward_s);
  visitor.value("backward_s", times.backward_s);
  visitor.value("weights_s", times.weights_s);
}
template <typename Visitor>
void describe(Visitor& visitor, Of<StageWork::Task> auto& task) {
  visitor.value("kind", task.kind);
  visitor.value("micro_batch", task.micro_batch);
  visitor.value("from_s", task.from_s);
  visitor.value("to_s", task.to_s);
}
template <typename Visitor>
void describe(Visitor& visitor, Of<StageWork> auto& work) {
  visitor.value("steps", work.steps);
  visitor.value("micro_batches", work.micro_batches);
  visitor.value("step_s", work.step_s);
  visitor.value("forward_s", work.forward_s);
  visitor.value("backward_s", work.backward_s);
  visitor.value("weights_s", work.weights_s);
  visitor.value("most_kept", work.most_kept);
  visitor.value("sent_bytes", work.sent_bytes);
  visitor.value("memory_bytes", work.memory_bytes);
  visitor.value("last_steps", work.last_steps);
}

/// What the steps of a run's pipelines came to, per step, and what the simulation makes of the same tasks' mean times.
struct PipelineFigures {
  std::int64_t micro_batches = 0;
  double step_s = 0, simulated_step_s = 0;
  double bubble = 0, simulated_bubble = 0;  // the share of the stages' time that they didn't compute
  std::vector<StageTimes> stages;           // of one micro-batch, means over the replicas
};

/// `work`: of all ranks. Nothing where no whole step followed the first one.
std::optional<PipelineFigures> pipeline_figures(PipelineSchedule schedule, std::span<const StageWork> work, int stages);

class Pipeline {
 public:
  /// The stage before is the rank before, and the one after the next rank. Takes the links out of `channels`. All else
  /// outlives it.
  Pipeline(engine::TrainsStage& trainer, engine::StageOfNetwork place, StageOptions options, Channels& channels,
           Throttle& throttle);

  /// Adds the gradients of this replica's share of a batch, `weight` times those of each sample. `before_last` is
  /// called before the backward pass that makes gradients final. The sums are the last stage's; others have none.
  engine::Sums train(const data::Batch& share, double weight, const std::function<void()>& before_last);
  /// To be called when all ranks have done the step.
  void end_step();
  engine::Sums evaluate(const data::Batch& share, std::vector<std::int32_t>* predicted);

  const engine::StageOfNetwork& place() const { return place_; }
  const StageWork& work() const { return work_; }

 private:
  /// The micro-batches of a share, as views on its samples.
  std::vector<data::Batch> micro_batches_of(const data::Batch& share) const;
  std::vector<engine::StageValues> take(StageReceiver* from);
  void send(StageSender* to, std::vector<engine::StageValues> values);
  engine::Sums do_task(const StageTask& task, const data::Batch& part, double weight);
  static double& seconds_of(StageWork& work, PassKind kind);

  engine::TrainsStage& trainer_;
  const engine::StageOfNetwork place_;
  const StageOptions options_;
  Throttle& throttle_;
  // Values from the stage before and to the one after, and their gradients; null where there is none.
  std::unique_ptr<StageReceiver> values_in_, gradients_in_;
  std::unique_ptr<StageSender> values_out_, gradients_out_;
  bool warm_ = false;  // a whole step was done
  double step_began_s_ = 0;
  StageWork work_, step_;               // step_: of the step that is being done
  std::vector<StageWork::Task> tasks_;  // of that
};

}  // namespace evener::parallel
