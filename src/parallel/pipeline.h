// One stage's part in a pipeline: it passes micro-batches of a batch on, forward and backward, in the order of the
// schedule, while its neighbours compute others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/described.h"
#include "comm/communicator.h"
#include "data/batch.h"
#include "engine/trainer.h"
#include "engine/trainer_options.h"
#include "parallel/pipeline_schedule.h"
#include "parallel/throttle.h"

namespace evener::parallel {

/// Links of a pipeline stage to the stages before and after it; null where there is no such neighbour.
struct StageChannels {
  std::unique_ptr<comm::Communicator> values_in, values_out, gradients_in, gradients_out;
};

/// The communicators of one rank. Only one thread of a rank may use a channel at a time.
struct Channels {
  std::unique_ptr<comm::Communicator> control;  // commands of rank 0; always all ranks
  // `sums` carries batch-norm statistics and losses, `gradients` gradients. Only replicas that currently train are
  // members; in a pipeline, each stage shares these channels with the same stage of the other replicas.
  std::unique_ptr<comm::Communicator> sums, gradients;
  std::span<std::byte> memory = {};  // shared by all replicas; empty: none, as always on several hosts
  StageChannels links = {};
};

/// Channels of a run with a single rank: every collective returns at once.
Channels make_self_channels();

struct StageOptions {
  int micro_batches = 1;   // in the replica's share of a whole batch
  std::int64_t share = 1;  // samples of a whole batch that a replica gets at most
  PipelineSchedule schedule = PipelineSchedule::k1F1B;
  bool own_process = false;                  // then its memory on a CPU can be measured
  std::vector<std::int64_t> received, sent;  // values per sample of each tensor received, and sent
};

/// What a stage did in training steps on whole batches, without the first such step, which prepares memory and
/// primitives for the others.
struct StageWork {
  /// Times are in seconds since an arbitrary moment, the same for all ranks of a host.
  struct Task {
    PassKind kind = PassKind::kForward;
    std::int64_t micro_batch = 0;
    double from_s = 0, to_s = 0;
  };
  std::int64_t steps = 0, micro_batches = 0;  // micro-batches of all those steps
  // Sums over all steps. The part of step_s that is in none of the others went into waiting and exchanging. weights_s:
  // see StageTimes.
  double step_s = 0, forward_s = 0, backward_s = 0, weights_s = 0;
  std::int64_t most_kept = 0;                 // the most micro-batches kept at once for a later pass
  std::int64_t sent_bytes = 0;                // forward and backward, in all those steps
  std::optional<std::int64_t> memory_bytes;   // peak of its tensors; absent: other stages share the CPU process
  std::vector<std::vector<Task>> last_steps;  // the tasks of the last steps, the oldest step first
};

void describe(auto& visitor, Of<StageTimes> auto& times) {
  visitor.members(times.forward_s, times.backward_s, times.weights_s);
}
void describe(auto& visitor, Of<StageWork::Task> auto& task) {
  visitor.members(task.kind, task.micro_batch, task.from_s, task.to_s);
}
void describe(auto& visitor, Of<StageWork> auto& work) {
  visitor.members(work.steps, work.micro_batches, work.step_s, work.forward_s, work.backward_s, work.weights_s,
                  work.most_kept, work.sent_bytes, work.memory_bytes, work.last_steps);
}

/// Mean figures of a step over all pipelines of a run, beside those of a simulated step whose tasks take the measured
/// mean times.
struct PipelineFigures {
  std::int64_t micro_batches = 0;
  double step_s = 0, simulated_step_s = 0;
  double bubble = 0, simulated_bubble = 0;  // share of the stages' time without computing
  std::vector<StageTimes> stages;           // of one micro-batch, means over the replicas
};

/// `work`: of all ranks, by rank. Absent if no step on a whole batch followed the first one.
std::optional<PipelineFigures> pipeline_figures(PipelineSchedule schedule, std::span<const StageWork> work, int stages);

class StageSender;
class StageReceiver;

class Pipeline {
 public:
  /// The neighbouring stages are on the previous and the next rank. Moves the links out of `channels`. `trainer` and
  /// `throttle` must outlive the pipeline.
  Pipeline(engine::TrainsStage& trainer, engine::StageOfNetwork place, StageOptions options, Channels& channels,
           Throttle& throttle);
  ~Pipeline();

  /// Passes this replica's share of a batch through the stage, forward and backward, and adds `weight` times each
  /// sample's gradient to the trainer's gradients. Calls `before_last` before the last task, which makes the gradients
  /// final. Returns the sums of losses on the last stage; on the others they are empty.
  engine::Sums train(const data::Batch& share, double weight, const std::function<void()>& before_last);
  /// Call this after train(), when all ranks have done the step, to count it in work().
  void end_step();
  engine::Sums evaluate(const data::Batch& share, std::vector<std::int32_t>* predicted);

  const engine::StageOfNetwork& place() const { return place_; }
  const StageWork& work() const { return work_; }

 private:
  /// Micro-batches as views of the share's samples.
  std::vector<data::Batch> micro_batches_of(const data::Batch& share) const;
  std::vector<engine::StageValues> take(StageReceiver* from);
  void send(StageSender* to, std::vector<engine::StageValues> values);
  engine::Sums do_task(const StageTask& task, const data::Batch& part, double weight);

  engine::TrainsStage& trainer_;
  const engine::StageOfNetwork place_;
  const StageOptions options_;
  Throttle& throttle_;
  // Activations from the previous stage and to the next one, and their gradients; null where there is no neighbour.
  std::unique_ptr<StageReceiver> values_in_, gradients_in_;
  std::unique_ptr<StageSender> values_out_, gradients_out_;
  bool warm_ = false;  // a step on a whole batch has been done
  double step_began_s_ = 0;
  StageWork work_, step_;               // step_: of the present step
  std::vector<StageWork::Task> tasks_;  // of the present step
};

}  // namespace evener::parallel
