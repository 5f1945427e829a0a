// One stage's part in a pipeline: it passes micro-batches of a batch on, forward and backward, in the order of the
// schedule, while its neighbours compute others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/described.h"
#include "comm/communication_thread.h"
#include "comm/communicator.h"
#include "data/batch.h"
#include "engine/trainer.h"
#include "engine/trainer_options.h"
#include "parallel/channels.h"
#include "parallel/pipeline_schedule.h"
#include "parallel/throttle.h"

namespace evener::parallel {

/// Transfers between neighbouring stages of a pipeline, in the background while the stages compute.
/// Sends values to another rank, in the order of send() calls.
class StageSender {
 public:
  /// Nobody else may use the same channel.
  StageSender(std::unique_ptr<comm::Communicator> communicator, int to);

  /// Returns at once; the values' memory must stay unchanged until finish(). Throws if an earlier send failed.
  void send(std::vector<engine::StageValues> values);
  /// Waits until all values have been sent.
  void finish();

 private:
  std::unique_ptr<comm::Communicator> communicator_;
  const int to_;
  std::deque<comm::Pending> under_way_;
  comm::CommunicationThread thread_;  // last: its tasks use the rest
};

/// Receives values from another rank, in the order in which it sends them. One message is received ahead of take().
class StageReceiver {
 public:
  StageReceiver(std::unique_ptr<comm::Communicator> communicator, int from);

  /// Announces a message; sizes[i]: the number of values in its i-th tensor.
  void expect(std::vector<std::size_t> sizes);
  /// Waits for the next message and returns it.
  std::vector<engine::StageValues> take();

 private:
  struct Message {
    std::vector<engine::StageValues> values;
    comm::Pending arrival;
  };
  void fetch();

  std::unique_ptr<comm::Communicator> communicator_;
  const int from_;
  std::deque<std::vector<std::size_t>> expected_;  // not yet being received
  std::deque<Message> coming_;
  comm::CommunicationThread thread_;  // last: its tasks use the rest
};

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

class Pipeline {
 public:
  /// The neighbouring stages are on the previous and the next rank. Moves the links out of `channels`. `trainer` and
  /// `throttle` must outlive the pipeline.
  Pipeline(engine::TrainsStage& trainer, engine::StageOfNetwork place, StageOptions options, Channels& channels,
           Throttle& throttle);

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
  static double& seconds_of(StageWork& work, PassKind kind);

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
