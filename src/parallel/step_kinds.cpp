// The kinds of training steps, of which choose_protocol() takes one.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/phase.h"
#include "comm/communication_thread.h"
#include "engine/gradient_exchange.h"
#include "parallel/pipeline.h"
#include "parallel/step_protocol.h"

namespace evener::parallel {
namespace {

/// The number that a batch's loss is the mean over: its samples or, for a detector, its matched anchors. In the latter
/// case a collective of the members.
std::int64_t loss_count(const StepContext& context, const StepShare& share) {
  if (context.capabilities.detector == nullptr) return share.whole;
  auto matches = static_cast<double>(context.capabilities.detector->matches(*share.batch));
  if (context.channels.control->size() > 1) {
    context.throttle.catch_up();
    const PhaseMark mark(Phase::kExchange);
    const Stopwatch waiting;
    context.channels.sums->all_reduce(std::span(&matches, 1));
    context.throttle.exclude(waiting.seconds());
  }
  return static_cast<std::int64_t>(matches);
}

/// The weight of each sample's gradient: 1 / loss_count().
double gradient_weight(const StepContext& context, const StepShare& share) {
  return 1 / static_cast<double>(std::max<std::int64_t>(1, loss_count(context, share)));
}

/// The interface through which the trainer exposes its gradients. Throws Error if the trainer has none.
engine::ExchangesGradients& exchange_of(const StepContext& context) {
  if (context.capabilities.exchange != nullptr) return *context.capabilities.exchange;
  throw Error(
      "this engine's trainer gives no gradients away, which replicas that train together have to exchange; use "
      "another --engine, or one replica");
}

/// The sample that one of `numbers` names: each rank puts 1 plus the number of a sample whose loss isn't finite into a
/// slot of its own, or 0.
std::optional<std::uint32_t> named_sample(std::span<const double> numbers) {
  const auto named = std::ranges::find_if(numbers, [](double number) { return number > 0; });
  return named == numbers.end() ? std::nullopt : std::optional(static_cast<std::uint32_t>(*named - 1));
}

/// One replica's side of the all-reduce of gradients, in buckets, while the backward pass still computes gradients of
/// earlier layers. Call begin() before the backward pass, ready() on the same thread for each gradient that is final,
/// and finish() after the backward pass. finish() also exchanges gradients for which ready() was never called; when it
/// returns, every replica has the sums.
class Exchange {
 public:
  /// A network that fits into the first bucket is exchanged on the calling thread, since its step is shorter than
  /// waking another thread would take. `context` must outlive this.
  explicit Exchange(const StepContext& context)
      : gradients_(exchange_of(context)),
        communicator_(*context.channels.gradients),
        dtype_(context.communication_dtype),
        progress_(context.sizes) {}

  void begin() {
    progress_.begin();
    pending_.clear();
  }

  void ready(std::size_t parameter) {
    progress_.ready(parameter);
    if (progress_.buckets().size() == 1) return;
    while (const engine::Bucket* bucket = progress_.take_complete()) launch(*bucket);
  }

  void finish() {
    const PhaseMark mark(Phase::kExchange);
    if (progress_.buckets().size() == 1) {
      communicator_.all_reduce(gradients_of(progress_.buckets().front()), dtype_);
    } else {
      while (const engine::Bucket* bucket = progress_.take_next()) launch(*bucket);
    }
    for (auto& pending : pending_) pending.wait();
    pending_.clear();
  }

 private:
  std::vector<std::span<float>> gradients_of(const engine::Bucket& bucket) const {
    std::vector<std::span<float>> parts;
    for (std::size_t i = bucket.first; i <= bucket.last; ++i) parts.push_back(gradients_.gradient(i));
    return parts;
  }

  void launch(const engine::Bucket& bucket) {
    pending_.push_back(thread_.run([this, parts = gradients_of(bucket)] {
      const PhaseMark mark(Phase::kExchange);
      communicator_.all_reduce(parts, dtype_);
    }));
  }

  engine::ExchangesGradients& gradients_;
  comm::Communicator& communicator_;
  const comm::CommunicationDtype dtype_;
  engine::BucketProgress progress_;
  std::vector<comm::Pending> pending_;
  comm::CommunicationThread thread_;  // last: its tasks use the rest
};

class Steps : public StepProtocol {
 public:
  explicit Steps(StepContext context) : context_(std::move(context)) {}
  void settle(StepResult& result) override { result.take(context_.trainer.settle()); }

 protected:
  const StepContext context_;
};

/// Training steps in which each replica computes the gradients of its own share of the batch, at once or in
/// micro-batches, and then updates the weights. The base class serves a lone replica; derived classes add what replicas
/// that train together do with the gradients.
class GradientSteps : public Steps {
 public:
  explicit GradientSteps(StepContext context) : Steps(std::move(context)) {
    if (context_.emulates_speed) watch_gradients();
  }

  void step(const StepShare& share, double learning_rate, StepResult& result) final {
    const engine::Sums own = compute_gradients(share);
    context_.throttle.catch_up();
    sum_losses(own, result);
    finish_gradients();
    result.steps = 1;
    result.applied = std::isfinite(result.sums.total("loss"));
    if (result.applied) return update(learning_rate);
    result.sums = {};
    result.steps = 0;
  }

 protected:
  /// Adds `weight` times the gradients of the share's samples to the trainer's gradients, which were cleared before,
  /// and returns the sums of losses and the like.
  /// All replicas compute the micro-batches in the same order, each its part of every one, so that batch-norm's
  /// statistics don't depend on the number of replicas.
  virtual engine::Sums add_gradients(const StepShare& share, double weight) {
    engine::Sums sums;
    std::int64_t begin = 0;
    for (std::size_t part = 0; part < share.parts.size(); ++part) {
      const std::int64_t end = begin + share.parts[part];
      if (part + 1 == share.parts.size()) set_last_part(true);
      // Even an empty part has to be computed if others wait for this replica's batch-norm sums or gradients.
      if (begin < end || context_.synchronised || last_part_) {
        sums += context_.trainer.add_gradients(data::part_of(*share.batch, begin, end), weight);
      }
      begin = end;
    }
    return sums;
  }
  /// Has to be called with true before the last micro-batch, whose backward pass makes the gradients final.
  void set_last_part(bool last) {
    last_part_ = last;
    if (context_.capabilities.exchange != nullptr) context_.capabilities.exchange->gradients_become_final(last);
  }
  /// The channel on which the ranks of all stages add up losses and times of a step.
  virtual comm::Communicator& all_ranks() const { return *context_.channels.sums; }
  /// From now on the trainer's callback calls gradient_ready(), and slows an emulated slower device down during the
  /// backward pass too. Throws Error if the trainer doesn't expose its gradients.
  void watch_gradients() {
    exchange_of(context_).on_gradient_ready([this](std::size_t parameter) {
      if (!computing_) return;
      context_.throttle.catch_up();
      if (last_part_) gradient_ready(parameter);
    });
  }

  /// Called before the gradients of a batch are computed.
  virtual void begin_gradients() {}
  /// Called when the gradient of `parameter` is final, as the backward pass reaches it.
  virtual void gradient_ready(std::size_t /*parameter*/) {}
  /// Called when all gradients of this replica are final. Must leave in the trainer the gradients that update()
  /// applies.
  virtual void finish_gradients() {}
  /// The optimiser's step. Called only if the losses of all members were finite; since the losses were added up over
  /// all members, every member has its gradients by then.
  virtual void update(double learning_rate) { context_.trainer.apply(learning_rate); }

 private:
  engine::Sums compute_gradients(const StepShare& share) {
    engine::Sums sums = context_.nothing;
    const double weight = gradient_weight(context_, share);
    context_.trainer.clear_gradients();
    begin_gradients();
    computing_ = true;
    set_last_part(false);
    sums += add_gradients(share, weight);
    computing_ = false;
    return sums;
  }

  /// A single all-reduce does three things: it adds up the sums, and gathers each rank's time and the number (plus 1)
  /// of a sample whose loss isn't finite, as each rank puts these into slots of its own.
  void sum_losses(const engine::Sums& own, StepResult& result) const {
    const double seconds = context_.throttle.seconds();
    const PhaseMark mark(Phase::kExchange);
    const std::size_t size = own.packed_size();
    const auto ranks = static_cast<std::size_t>(context_.channels.control->size());
    const auto rank = static_cast<std::size_t>(context_.channels.control->rank());
    std::vector<double> values(size + 2 * ranks, 0.0);
    own.pack(values);
    values[size + rank] = seconds;
    if (const auto culprit = engine::culprit_of(context_.capabilities)) values[size + ranks + rank] = 1.0 + *culprit;
    all_ranks().all_reduce(values);
    result.sums = own;
    result.sums.unpack(values);
    // A replica takes as long as its slowest stage.
    const std::size_t stages = ranks / context_.replicas;
    result.seconds.assign(context_.replicas, 0.0);
    for (std::size_t r = 0; r < ranks; ++r) {
      double& longest = result.seconds[r / stages];
      longest = std::max(longest, values[size + r]);
    }
    result.culprit = named_sample(std::span(values).subspan(size + ranks));
  }

  bool computing_ = false;  // a step is under way: gradients computed to measure a speed are not exchanged
  bool last_part_ = false;  // the last micro-batch is computed, which makes gradients final
};

/// For a lone replica: the trainer does each step as a whole, and may run ahead of the results that it reports.
class StepsAlone : public Steps {
 public:
  using Steps::Steps;
  void step(const StepShare& share, double learning_rate, StepResult& result) override {
    result.take(context_.trainer.step(*share.batch, gradient_weight(context_, share), learning_rate));
    result.seconds = {context_.throttle.seconds()};
  }
};

/// For replicas whose trainers compute each step together, on arrays in shared memory.
class JointSteps : public Steps {
 public:
  using Steps::Steps;
  void step(const StepShare& share, double learning_rate, StepResult& result) override {
    const engine::BatchShare of{share.begin, share.whole, context_.members};
    result.take(context_.capabilities.together->step_together(*share.batch, of, gradient_weight(context_, share),
                                                              learning_rate));
    context_.throttle.catch_up();
    // Each replica puts its own time into its slot of an all-reduce. That is also a barrier: when it returns, all
    // replicas have done the step.
    const double seconds = context_.throttle.seconds();
    const PhaseMark mark(Phase::kExchange);
    result.seconds.assign(static_cast<std::size_t>(context_.channels.control->size()), 0.0);
    result.seconds[static_cast<std::size_t>(context_.channels.control->rank())] = seconds;
    context_.channels.sums->all_reduce(result.seconds);
  }
};

/// For replicas whose devices exchange gradients and losses themselves: the trainers do each step as a whole, and may
/// run ahead of the results that they report.
class DeviceSteps : public Steps {
 public:
  using Steps::Steps;
  void step(const StepShare& share, double learning_rate, StepResult& result) override {
    const engine::SharedBatch of{share.whole, loss_count(context_, share)};
    take(context_.capabilities.on_devices->step_on_devices(*share.batch, of, learning_rate), result);
    // Devices wait for each other inside the step, so all are busy for the same time.
    result.seconds.assign(context_.replicas, context_.throttle.seconds());
  }
  void settle(StepResult& result) override { take(context_.trainer.settle(), result); }

 private:
  /// All replicas notice a loss that isn't finite at the same step, but only the one that computed it knows the sample:
  /// so it is exchanged.
  void take(engine::StepReport report, StepResult& result) const {
    result.take(std::move(report));
    if (result.applied || context_.replicas == 1) return;
    const PhaseMark mark(Phase::kExchange);
    std::vector<double> numbers(context_.replicas, 0.0);
    if (result.culprit) numbers[static_cast<std::size_t>(context_.channels.sums->rank())] = 1.0 + *result.culprit;
    context_.channels.sums->all_reduce(numbers);
    if (!result.culprit) result.culprit = named_sample(numbers);
  }
};

/// For replicas whose parameters and gradients lie in shared memory: each replica updates its part of the parameters
/// with the sum of all members' gradients, so nothing has to be sent.
class SharedArraySteps : public GradientSteps {
 public:
  using GradientSteps::GradientSteps;

 protected:
  void update(double learning_rate) override {
    context_.capabilities.sharing->apply_part(learning_rate, context_.members);
    const PhaseMark mark(Phase::kExchange);
    context_.channels.gradients->barrier();
  }
};

/// For replicas that all-reduce their gradients in buckets, while others are still being computed, and then each do the
/// whole update. A lone replica skips the all-reduce.
class ExchangedGradientSteps : public GradientSteps {
 public:
  explicit ExchangedGradientSteps(StepContext given) : GradientSteps(std::move(given)) {
    if (context_.replicas == 1 && !context_.always_exchange) return;
    exchange_.emplace(context_);
    watch_gradients();
  }

 protected:
  void begin_gradients() override {
    if (exchange_) exchange_->begin();
  }
  void gradient_ready(std::size_t parameter) override {
    if (exchange_) exchange_->ready(parameter);
  }
  void finish_gradients() override {
    if (exchange_) exchange_->finish();
  }

 private:
  std::optional<Exchange> exchange_;  // absent for a lone replica
};

/// For replicas that are divided into stages: a pipeline computes the gradients of a batch, and each stage adds its
/// gradients up with the same stage of the other replicas, if any.
class PipelinedSteps : public ExchangedGradientSteps {
 public:
  using ExchangedGradientSteps::ExchangedGradientSteps;

 protected:
  engine::Sums add_gradients(const StepShare& share, double weight) override {
    if (share.batch->count > 0) {
      return context_.pipeline->train(*share.batch, weight, [this] { set_last_part(true); });
    }
    set_last_part(true);
    return context_.trainer.add_gradients(*share.batch, weight);  // zeros, for the all-reduce
  }
  comm::Communicator& all_ranks() const override { return *context_.channels.control; }
  void finish_gradients() override {
    context_.pipeline->end_step();
    ExchangedGradientSteps::finish_gradients();
  }
};

}  // namespace

void StepResult::take(engine::StepReport report) {
  sums = std::move(report.sums);
  steps = report.steps;
  applied = report.finite;
  culprit = report.culprit;
}

std::unique_ptr<StepProtocol> choose_protocol(StepContext context) {
  if (context.pipeline != nullptr) return std::make_unique<PipelinedSteps>(std::move(context));
  const bool lone = context.channels.control->size() == 1;
  const bool on_devices = context.capabilities.on_devices != nullptr;
  const bool exchanges = !on_devices && (context.always_exchange || (!lone && !context.capabilities.shares_arrays()));
  // Trainers do whole steps only without micro-batches and without emulated speed, which need control inside a step.
  const bool whole = context.accumulate == 1 && !context.emulates_speed;
  if (on_devices && whole) return std::make_unique<DeviceSteps>(std::move(context));
  if (lone && !exchanges && whole) return std::make_unique<StepsAlone>(std::move(context));
  if (context.capabilities.together != nullptr) return std::make_unique<JointSteps>(std::move(context));
  if (context.capabilities.sharing != nullptr) return std::make_unique<SharedArraySteps>(std::move(context));
  if (exchanges) return std::make_unique<ExchangedGradientSteps>(std::move(context));
  return std::make_unique<GradientSteps>(std::move(context));
}

}  // namespace evener::parallel
