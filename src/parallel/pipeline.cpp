#include "parallel/pipeline.h"

#include <algorithm>
#include <deque>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/phase.h"
#include "comm/communication_thread.h"
#include "parallel/shares.h"

namespace evener::parallel {
namespace {

/// Messages that are received ahead of take().
constexpr std::size_t kFetchedAhead = 1;

/// The number of last steps whose tasks are kept, for the timeline.
constexpr std::size_t kKeptSteps = 3;

std::vector<std::size_t> sizes_for(const std::vector<std::int64_t>& per_sample, std::int64_t samples) {
  std::vector<std::size_t> sizes;
  for (const std::int64_t numbers : per_sample) sizes.push_back(static_cast<std::size_t>(numbers * samples));
  return sizes;
}

}  // namespace

/// Sends values to another rank in the background, in the order of send() calls.
class StageSender {
 public:
  /// Nobody else may use the same link. The other rank is at the distance `away`.
  StageSender(std::unique_ptr<comm::Communicator> link, int away)
      : communicator_(std::move(link)), to_(communicator_->rank() + away) {}

  /// Returns at once; the values' memory must stay unchanged until finish(). Throws if an earlier send failed.
  void send(std::vector<engine::StageValues> values) {
    under_way_.push_back(thread_.run([this, values = std::move(values)] {
      for (const engine::StageValues& each : values) communicator_->send(std::as_bytes(each.values), to_);
    }));
  }
  /// Waits until all values have been sent.
  void finish() {
    for (; !under_way_.empty(); under_way_.pop_front()) under_way_.front().wait();
  }

 private:
  std::unique_ptr<comm::Communicator> communicator_;
  const int to_;
  std::deque<comm::Pending> under_way_;
  comm::CommunicationThread thread_;  // last: its tasks use the rest
};

/// Receives values from another rank in the background, in the order in which it sends them. One message is received
/// ahead of take().
class StageReceiver {
 public:
  StageReceiver(std::unique_ptr<comm::Communicator> link, int away)
      : communicator_(std::move(link)), from_(communicator_->rank() + away) {}

  /// Announces a message; sizes[i]: the number of values in its i-th tensor.
  void expect(std::vector<std::size_t> sizes) {
    expected_.push_back(std::move(sizes));
    if (coming_.size() < kFetchedAhead) fetch();
  }
  /// Waits for the next message and returns it.
  std::vector<engine::StageValues> take() {
    if (coming_.empty()) throw Error("a stage waits for values that it has not said it expects");
    Message message = std::move(coming_.front());
    coming_.pop_front();
    message.arrival.wait();
    if (!expected_.empty()) fetch();
    return std::move(message.values);
  }

 private:
  struct Message {
    std::vector<engine::StageValues> values;
    comm::Pending arrival;
  };
  void fetch() {
    Message message;
    std::vector<std::span<float>> places;
    for (const std::size_t size : expected_.front()) {
      auto memory = std::make_shared<std::vector<float>>(size);
      message.values.push_back({*memory, memory});
      places.emplace_back(*memory);
    }
    expected_.pop_front();
    message.arrival = thread_.run([this, places = std::move(places)] {
      for (const std::span<float> place : places) communicator_->receive(std::as_writable_bytes(place), from_);
    });
    coming_.push_back(std::move(message));
  }

  std::unique_ptr<comm::Communicator> communicator_;
  const int from_;
  std::deque<std::vector<std::size_t>> expected_;  // not yet being received
  std::deque<Message> coming_;
  comm::CommunicationThread thread_;  // last: its tasks use the rest
};

std::optional<PipelineFigures> pipeline_figures(PipelineSchedule schedule, std::span<const StageWork> work,
                                                int stages) {
  if (work.empty() || std::ranges::any_of(work, [](const StageWork& each) { return each.steps == 0; })) return {};
  PipelineFigures figures;
  figures.micro_batches = work.front().micro_batches / work.front().steps;
  figures.stages.resize(static_cast<std::size_t>(stages));
  const double replicas = static_cast<double>(work.size()) / stages;
  double busy_s = 0, all_s = 0;
  for (std::size_t rank = 0; rank < work.size(); ++rank) {
    const StageWork& each = work[rank];
    StageTimes& times = figures.stages[rank % figures.stages.size()];
    times.forward_s += each.forward_s / static_cast<double>(each.micro_batches) / replicas;
    times.backward_s += each.backward_s / static_cast<double>(each.micro_batches) / replicas;
    times.weights_s += each.weights_s / static_cast<double>(each.micro_batches) / replicas;
    busy_s += each.forward_s + each.backward_s + each.weights_s;
    all_s += each.step_s;
    figures.step_s += each.step_s / static_cast<double>(each.steps) / static_cast<double>(work.size());
  }
  figures.bubble = 1 - busy_s / all_s;
  const SimulatedStep step = simulate_step(schedule, figures.stages, static_cast<int>(figures.micro_batches));
  figures.simulated_step_s = step.seconds;
  figures.simulated_bubble = step.bubble;
  return figures;
}

Pipeline::Pipeline(engine::TrainsStage& trainer, engine::StageOfNetwork place, StageOptions options, Channels& channels,
                   Throttle& throttle)
    : trainer_(trainer), place_(place), options_(std::move(options)), throttle_(throttle) {
  StageChannels& links = channels.links;
  if (!place_.is_first()) {
    values_in_ = std::make_unique<StageReceiver>(std::move(links.values_in), -1);
    gradients_out_ = std::make_unique<StageSender>(std::move(links.gradients_out), -1);
  }
  if (!place_.is_last()) {
    values_out_ = std::make_unique<StageSender>(std::move(links.values_out), +1);
    gradients_in_ = std::make_unique<StageReceiver>(std::move(links.gradients_in), +1);
  }
}

Pipeline::~Pipeline() = default;

std::vector<data::Batch> Pipeline::micro_batches_of(const data::Batch& share) const {
  std::vector<data::Batch> parts;
  if (share.count == 0) return parts;
  std::int64_t begin = 0;
  const std::int64_t whole = std::max(share.count, options_.share);
  for (const std::int64_t size : micro_batches(share.count, whole, options_.micro_batches)) {
    parts.push_back(data::part_of(share, begin, begin + size));
    begin += size;
  }
  return parts;
}

/// Receives values; the wait doesn't count as this stage's work.
std::vector<engine::StageValues> Pipeline::take(StageReceiver* from) {
  if (from == nullptr) return {};
  const PhaseMark mark(Phase::kExchange);
  const Stopwatch waiting;
  std::vector<engine::StageValues> values = from->take();
  throttle_.exclude(waiting.seconds());
  return values;
}

void Pipeline::send(StageSender* to, std::vector<engine::StageValues> values) {
  if (to == nullptr) return;
  for (const engine::StageValues& each : values) {
    step_.sent_bytes += static_cast<std::int64_t>(each.values.size_bytes());
  }
  to->send(std::move(values));
}

engine::Sums Pipeline::do_task(const StageTask& task, const data::Batch& part, double weight) {
  const bool forward = task.kind == PassKind::kForward, backward = task.kind == PassKind::kBackward;
  std::vector<engine::StageValues> received = take(forward    ? values_in_.get()
                                                   : backward ? gradients_in_.get()
                                                              : nullptr);
  engine::Sums sums;
  const double from_s = now_s();
  std::vector<engine::StageValues> sent;
  if (forward) {
    engine::TrainsStage::Passed passed = trainer_.forward_stage(task.micro_batch, part, std::move(received));
    sums = std::move(passed.sums);
    sent = std::move(passed.sent);
  } else if (backward) {
    sent = trainer_.backward_stage(task.micro_batch, std::move(received), weight);
  } else {
    trainer_.weights_stage(task.micro_batch);
  }
  trainer_.wait_for_stage();  // else only the launch of the work would be timed
  throttle_.catch_up();
  const double to_s = now_s();
  send(forward ? values_out_.get() : backward ? gradients_out_.get() : nullptr, std::move(sent));
  (forward ? step_.forward_s : backward ? step_.backward_s : step_.weights_s) += to_s - from_s;
  tasks_.push_back({task.kind, task.micro_batch, from_s, to_s});
  return sums;
}

engine::Sums Pipeline::train(const data::Batch& share, double weight, const std::function<void()>& before_last) {
  const std::vector<data::Batch> parts = micro_batches_of(share);
  const auto tasks = stage_tasks(options_.schedule, place_.number, place_.count, static_cast<int>(parts.size()));
  step_ = {};
  tasks_.clear();
  step_began_s_ = now_s();
  step_.micro_batches = static_cast<std::int64_t>(parts.size());
  step_.most_kept = most_kept(tasks);
  for (const data::Batch& part : parts) {
    if (values_in_) values_in_->expect(sizes_for(options_.received, part.count));
    if (gradients_in_) gradients_in_->expect(sizes_for(options_.sent, part.count));
  }
  engine::Sums sums;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i + 1 == tasks.size()) before_last();
    sums += do_task(tasks[i], parts[static_cast<std::size_t>(tasks[i].micro_batch)], weight);
  }
  // Wait, because the values are in the trainer's memory, which the next step reuses. Errors of sending are thrown
  // here.
  const PhaseMark mark(Phase::kExchange);
  const Stopwatch waiting;
  if (values_out_) values_out_->finish();
  if (gradients_out_) gradients_out_->finish();
  throttle_.exclude(waiting.seconds());
  return sums;
}

void Pipeline::end_step() {
  if (step_.micro_batches != options_.micro_batches) return;
  if (!std::exchange(warm_, true)) return;
  ++work_.steps;
  work_.micro_batches += step_.micro_batches;
  work_.step_s += now_s() - step_began_s_;
  work_.forward_s += step_.forward_s;
  work_.backward_s += step_.backward_s;
  work_.weights_s += step_.weights_s;
  work_.most_kept = std::max(work_.most_kept, step_.most_kept);
  work_.sent_bytes += step_.sent_bytes;
  work_.last_steps.push_back(std::move(tasks_));
  if (work_.last_steps.size() > kKeptSteps) work_.last_steps.erase(work_.last_steps.begin());
}

engine::Sums Pipeline::evaluate(const data::Batch& share, std::vector<std::int32_t>* predicted) {
  const std::vector<data::Batch> parts = micro_batches_of(share);
  for (const data::Batch& part : parts) {
    if (values_in_) values_in_->expect(sizes_for(options_.received, part.count));
  }
  engine::Sums sums;
  for (const data::Batch& part : parts) {
    engine::TrainsStage::Passed passed = trainer_.evaluate_stage(part, take(values_in_.get()), predicted);
    throttle_.catch_up();
    if (values_out_) values_out_->send(std::move(passed.sent));
    sums += passed.sums;
  }
  if (values_out_) values_out_->finish();
  return sums;
}

}  // namespace evener::parallel
