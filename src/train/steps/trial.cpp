#include "train/steps/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/message.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/stop.h"
#include "data/batch.h"
#include "engine/engine.h"
#include "network/init.h"
#include "parallel/data_parallel.h"
#include "parallel/launcher.h"
#include "parallel/pipeline.h"
#include "train/steps/evaluation.h"
#include "train/steps/job.h"
#include "train/steps/limits.h"
#include "train/steps/stages.h"
#include "train/steps/step_times.h"
#include "train/steps/training_memory.h"

namespace evener::training {
namespace {

constexpr std::int64_t kFirstTry = 16;
/// The search for the largest batch ends within this part of it, as each further halving costs as much as those before.
constexpr std::int64_t kSearchedPart = 32;
/// An engine takes as much memory after so many steps as in all later ones.
constexpr int kSteps = 12;

void leave_if_stopped() {
  if (stop_requested())
    throw Interrupted("interrupted while placements were tried out; nothing was trained or written");
}

/// Runs `body`, which returns messages, in processes of their own, and returns what rank 0's message says.
template <class Result>
Result run_apart(const placement::Plan& plan, const parallel::RankBody& body, std::size_t shared_bytes = 0) {
  leave_if_stopped();
  parallel::LaunchOptions launch;
  launch.always_fork = true;
  launch.shared_bytes = shared_bytes;
  return unpack_message<Result>(parallel::run_ranks(plan, body, launch).front(), "the result of a trial");
}

placement::Plan plan_of_one() {
  placement::Plan plan;
  plan.text = "cpu/t1";
  plan.replicas = {{0, {placement::PlanStage{}}, 1.0}};
  plan.processes = {{{0}}};
  return plan;
}

TrainOptions with_plan(TrainOptions options, const placement::Plan& plan) {
  options.plan = plan;
  return options;
}

/// The first steps of a size are not timed: they make primitives and memory that later ones reuse.
constexpr std::int64_t kWarmUpTrialSteps = 2;
constexpr std::int64_t kFewestSteps = 3;
/// Short steps end the trial before its time is over, but not before a sensor has seen their power.
constexpr std::size_t kMostSteps = 5000;
constexpr double kPowerWindow_s = 1;
/// The smallest batch has so many images for each replica: enough for a batch-norm that sees one pixel of each.
constexpr std::int64_t kFewestImages = 4;
constexpr std::int64_t kClimb = 3;
constexpr double kSmallShare = 0.2, kEvaluateShare = 0.1;  // of the time

/// A trial of one plan, as rank 0 leads it.
class Trial {
 public:
  Trial(const PreparedTraining::State& job, parallel::Replica& replica, parallel::Shares shares, std::int64_t batch,
        double seconds)
      : job_(job), replica_(replica), shares_(std::move(shares)), batch_(batch), end_s_(now_s() + seconds) {}

  TrialResult measure() {
    const std::int64_t least = std::min(batch_, kFewestImages * replica_.ranks());
    const double seconds = end_s_ - now_s();
    add(time_steps(least, 0, 1));
    const std::int64_t small = small_size(least);
    if (small > least && affordable(small + batch_)) add(time_steps(small, kSmallShare * seconds, kFewestSteps));
    // Larger batches take less time per image, so a whole batch that looks too long now may look affordable after the
    // next larger size was timed.
    for (std::int64_t size = kClimb * least; size < batch_ && !affordable(batch_) && affordable(size); size *= kClimb) {
      add(time_steps(size, 0, 1));
    }
    if (batch_ > least && affordable(batch_)) {
      const double evaluating = job_.setup.val_images > 0 ? kEvaluateShare * seconds : 0;
      add(time_steps(batch_, end_s_ - now_s() - evaluating, kFewestSteps));
    }
    if (result_.sizes.back().images == batch_) evaluate();
    return std::move(result_);
  }

 private:
  /// A size between the least and the whole batch: that of the epoch's last batch if it is clearly smaller.
  std::int64_t small_size(std::int64_t least) const {
    const std::int64_t last = static_cast<std::int64_t>(job_.setup.train_images) % batch_;
    return last > least && last <= batch_ * 3 / 4 ? last : batch_ / 3;
  }

  void add(TrialSteps steps) {
    image_s_ = median(steps.seconds).value_or(0) / static_cast<double>(steps.images);
    result_.sizes.push_back(std::move(steps));
  }

  /// Whether there is time for the fewest steps of so many images.
  bool affordable(std::int64_t images) const {
    return image_s_ * static_cast<double>((kWarmUpTrialSteps + kFewestSteps) * images) <= end_s_ - now_s();
  }

  /// At least `fewest` steps after the warm-up.
  TrialSteps time_steps(std::int64_t images, double seconds, std::int64_t fewest) {
    const double end_s = now_s() + seconds;
    parallel::DataParallel replicas(replica_, shares_, images, /*may_leave=*/false);
    const std::int64_t per_epoch =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(job_.setup.train_images) / images);
    TrialSteps steps;
    steps.images = images;
    StepTimes times;
    const auto add = [&](double seconds, const parallel::StepResult& result) {
      // Also a step whose loss is not finite was computed.
      const std::int64_t known = result.applied ? result.steps : 1;
      for (const StepTimes::Step& each : times.pass(seconds, known)) steps.seconds.push_back(each.seconds);
    };
    for (std::int64_t step = 0;; ++step) {
      leave_if_stopped();
      if (step % per_epoch == 0) replicas.start_epoch(++epoch_, per_epoch * images, 0);
      if (step == kWarmUpTrialSteps) {
        replicas.settle();
        steps.begin_s = now_s();
      }
      const Stopwatch clock;
      const parallel::StepResult& result = replicas.step(/*learning_rate=*/0);
      if (step >= kWarmUpTrialSteps) {
        times.give(images);
        add(clock.seconds(), result);
      }
      if (steps.seconds.size() >= kMostSteps && now_s() - steps.begin_s >= kPowerWindow_s) break;
      if (step + 1 >= kWarmUpTrialSteps + fewest && now_s() > end_s) break;
    }
    const Stopwatch waiting;
    const parallel::StepResult& rest = replicas.settle();
    add(waiting.seconds(), rest);
    steps.end_s = now_s();
    return steps;
  }

  void evaluate() {
    const auto images = std::min<std::int64_t>(static_cast<std::int64_t>(job_.setup.val_images), 4 * batch_);
    if (images == 0) return;
    parallel::DataParallel replicas(replica_, shares_, batch_, /*may_leave=*/false);
    const auto once = [&] {
      const Stopwatch clock;
      replicas.evaluate(static_cast<std::int64_t>(EvaluationPart::kValidation), images, stop_requested);
      leave_if_stopped();
      return clock.seconds();
    };
    once();
    result_.evaluate_images_per_s = static_cast<double>(images) / once();
  }

  const PreparedTraining::State& job_;
  parallel::Replica& replica_;
  const parallel::Shares shares_;
  const std::int64_t batch_;
  const double end_s_;
  double image_s_ = 0;  // of the last size
  std::int64_t epoch_ = 0;
  TrialResult result_;
};

/// A batch of noise with targets of the network's kind.
class NoiseBatch {
 public:
  NoiseBatch(const TrainSetup& setup, std::int64_t images)
      : shape_(setup.image), pixels_(static_cast<std::size_t>(images) * setup.image.bytes()) {
    Random random(1, Purpose::kSynthetic);
    for (std::uint8_t& pixel : pixels_) pixel = static_cast<std::uint8_t>(random.below(256));
    const std::size_t classes = std::max<std::size_t>(1, setup.classes.size());
    const auto width = static_cast<float>(shape_.width), height = static_cast<float>(shape_.height);
    for (std::int64_t i = 0; i < images; ++i) {
      samples_.push_back(static_cast<std::uint32_t>(i));
      labels_.push_back(static_cast<std::int32_t>(random.below(classes)));
      boxes_.push_back(
          {{.x1 = width / 4, .y1 = height / 4, .x2 = width * 3 / 4, .y2 = height * 3 / 4, .label = labels_.back()}});
    }
    batch_ = {images, shape_, pixels_, data::ClassTargets{labels_}, samples_, 1};
    if (!setup.network.anchors().empty()) batch_.targets = data::BoxTargets{boxes_};
  }
  NoiseBatch(const NoiseBatch&) = delete;
  NoiseBatch& operator=(const NoiseBatch&) = delete;

  const data::Batch& batch() const { return batch_; }

 private:
  data::ImageShape shape_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint32_t> samples_;
  std::vector<std::int32_t> labels_;
  std::vector<std::vector<data::LabelledBox>> boxes_;
  data::Batch batch_;
};

}  // namespace

std::int64_t largest_that_fits(std::int64_t most, const std::function<bool(std::int64_t)>& fits) {
  std::int64_t good = 0, bad = most + 1;
  for (std::int64_t next = std::min(kFirstTry, most); good < most;) {
    if (!fits(next)) {
      bad = next;
      break;
    }
    good = next;
    next = std::min(most, 2 * next);
  }
  while (bad - good > std::max<std::int64_t>(1, good / kSearchedPart)) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

bool can_train(engine::Engine& engine, const network::Network& network, const engine::TrainerOptions& options,
               const TensorMap& state, std::int64_t images, std::int64_t all) {
  const auto& input = network.input_shape();
  const data::ImageShape shape{input.at(0), input.at(1), input.at(2)};
  const auto count = static_cast<std::size_t>(images);
  const std::vector<std::uint8_t> pixels(options.resident ? 0 : count * shape.bytes(), 0);
  const std::vector<std::int32_t> labels(count, 0);
  const std::vector<std::uint32_t> samples(count, 0);
  const data::Batch batch{images, shape, pixels, data::ClassTargets{labels}, samples, 1};
  try {
    const auto trainer = engine.make_trainer(network, options);
    trainer->load_state(state);
    for (int step = 0; step < kSteps; ++step) trainer->step(batch, 1.0 / static_cast<double>(images), 0);
    trainer->settle();
    trainer->evaluate(batch);
    trainer->end_evaluation();
    // A single image takes little, and batch-norm may know no variance of one.
    if (const std::int64_t rest = all % images; rest > 1) {
      trainer->step(data::part_of(batch, 0, rest), 1.0 / static_cast<double>(rest), 0);
      trainer->settle();
    }
    return true;
  } catch (const engine::OutOfMemory&) {
    return false;
  }
}

void describe(auto& visitor, Of<TrialSteps> auto& steps) {
  visitor.members(steps.images, steps.seconds, steps.begin_s, steps.end_s);
}

void describe(auto& visitor, Of<TrialResult> auto& result) {
  visitor.members(result.sizes, result.evaluate_images_per_s);
}

const TrainSetup& Trials::setup() const {
  return job_.setup;
}

const TrainOptions& Trials::options() const {
  return job_.options;
}

std::int64_t Trials::batch() const {
  return std::min<std::int64_t>(job_.options.batch, static_cast<std::int64_t>(job_.setup.train_images));
}

std::string Trials::refusal(const placement::Plan& plan) const {
  if (std::string why = placement::why_not_runnable(plan); !why.empty()) return why;
  const TrainOptions options = with_plan(job_.options, plan);
  try {
    if (placement::stage_count(plan) > 1) require_possible_stages(options, job_.setup);
    if (placement::stage_count(plan) == 1) require_stage_memory(options, job_.setup.network, {});
  } catch (const UsageError& error) {
    return error.what();
  }
  for (const auto& replica : plan.replicas) {
    engine::TrainerOptions trainer = job_.replica_options(plan, {}, replica.rank).trainer;
    trainer.stage = {0, placement::stage_count(plan)};
    std::string why = job_.engine->trainer_refusal(job_.setup.network, trainer);
    if (!why.empty()) return why;
  }
  return {};
}

TrialResult Trials::run(const placement::Plan& plan, double seconds) const {
  const double begin_s = now_s();
  const Division division = placement::stage_count(plan) > 1 ? division_of(plan) : Division();
  const auto body = [&](const parallel::RankContext& context) -> std::string {
    const bool grouped = context.ranks > 1 || job_.options.always_exchange;
    parallel::Channels channels = grouped ? context.channels() : parallel::make_self_channels();
    parallel::Replica replica(*job_.engine, job_.network_of(division, context.rank), job_.data.dataset,
                              job_.replica_options(plan, division, context.rank), std::move(channels));
    return parallel::telling_failure(context, [&]() -> std::string {
      parallel::Shares shares = parallel::first_shares(plan, replica, job_.least_share());
      replica.trainer().load_state(job_.state);
      if (context.rank != 0) {
        replica.serve();
        return {};
      }
      Trial trial(job_, replica, std::move(shares), batch(), seconds - (now_s() - begin_s));
      const TrialResult result = trial.measure();
      replica.lead({.kind = parallel::Command::Kind::kFinish});
      return pack_message(result);
    });
  };
  return run_apart<TrialResult>(plan, body, job_.shared_bytes(plan));
}

std::int64_t Trials::largest_batch(const placement::Plan& plan) const {
  if (plan.replicas.size() != 1) {
    throw UsageError("--batch max is found for one replica, and placement '" + plan.text + "' has " +
                     std::to_string(plan.replicas.size()) + ": give a number");
  }
  if (placement::stage_count(plan) > 1) {
    throw UsageError("--batch max is found for one stage, and placement '" + plan.text +
                     "' has several: give a number");
  }
  // A batch is as large as all of its micro-batches, of which one at a time has to fit.
  const std::int64_t parts = job_.options.accumulate;
  const auto images = static_cast<std::int64_t>(job_.setup.train_images);
  const std::int64_t most = (images + parts - 1) / parts;
  if (!placement::uses_accelerator(plan)) {
    // A fifth of what would fit is left free, for other programs that start meanwhile.
    TrainingWork work = training_work(job_.options, plan, job_.setup);
    work.accumulate = 1;
    const std::int64_t fits = predicted_largest_batch(job_.setup.network, work);
    return std::min(images, std::min(most, fits * 4 / 5) * parts);
  }
  const auto body = [&](const parallel::RankContext& context) {
    const parallel::ReplicaOptions options = job_.replica_options(plan, {}, context.rank);
    return pack_message(largest_that_fits(most, [&](std::int64_t at_once) {
      leave_if_stopped();
      return can_train(*job_.engine, job_.setup.network, options.trainer, job_.state, at_once, images);
    }));
  };
  return std::min(images, run_apart<std::int64_t>(plan, body) * parts);
}

std::string take_largest_batch(PreparedTraining& training) {
  const TrainOptions& options = training.options();
  const std::int64_t batch = Trials(training).largest_batch(options.plan);
  if (batch == 0) {
    throw Error(options.model + " does not fit into the memory of '" + options.plan.text +
                "' even with a batch of one image; use a smaller --size or a smaller model");
  }
  training.take_batch(batch);
  return fmt::format("--batch max: {} images are the most that were found to fit", batch);
}

Division Trials::division_of(const placement::Plan& plan) const {
  const auto found = divisions_.find(plan.text);
  if (found != divisions_.end()) return found->second;
  const TrainOptions options = with_plan(job_.options, plan);
  const network::Network& network = job_.setup.network;
  Division division;
  division.micro_batches = micro_batch_count(options, network);
  network::StageCosts costs;
  if (options.cut.empty()) {
    const std::int64_t images = images_of_micro_batch(options, division.micro_batches);
    std::vector<std::vector<double>> seconds;
    for (const auto& stage : plan.replicas.front().stages) {
      std::vector<double>& of_layers = seconds.emplace_back();
      for (const auto& layer : layer_times(stage, images)) of_layers.push_back(layer.forward_s + layer.backward_s);
    }
    costs = inference::measured_costs(std::move(seconds), plan, images);
  }
  division.stages = divided_layers(options, network, std::move(costs));
  require_stage_memory(options, network, division);
  return divisions_[plan.text] = std::move(division);
}

StageForecast Trials::forecast(const placement::Plan& plan) const {
  const Division division = division_of(plan);
  const std::int64_t images = images_of_micro_batch(with_plan(job_.options, plan), division.micro_batches);
  StageForecast forecast;
  forecast.micro_batches = division.micro_batches;
  forecast.schedule = job_.options.pipeline_schedule;
  for (const StageMemory& stage : stage_memory(with_plan(job_.options, plan), job_.setup.network, division)) {
    forecast.memory_bytes.push_back(stage.bytes());
  }
  for (const auto& replica : plan.replicas) {
    std::vector<std::vector<parallel::StageTimes>> layers;
    for (const auto& stage : replica.stages) layers.push_back(layer_times(stage, images));
    auto times = stage_times(job_.setup.network, division.stages, layers, images, replica);
    if (parallel::splits_backward(forecast.schedule)) {
      for (auto& stage : times) stage.weights_s = stage.backward_s /= 2;  // each has the same multiplications
    }
    forecast.replicas.push_back(std::move(times));
    forecast.update_s.push_back(update_seconds(division.stages, replica));
  }
  return forecast;
}

const std::vector<parallel::StageTimes>& Trials::layer_times(const placement::PlanStage& device,
                                                             std::int64_t images) const {
  const std::string key = fmt::format("{} {} {}", device_text(device.device), device.threads, images);
  if (const auto found = layer_times_.find(key); found != layer_times_.end()) return found->second;
  TrainOptions options = with_plan(job_.options, plan_of_one());
  options.plan.replicas.front().stages.front() = device;
  options.batch = images;
  options.accumulate = 1;
  const auto body = [&](const parallel::RankContext&) {
    return pack_message(inference::times_by_layer(profile_training(job_.setup, options), job_.setup.network));
  };
  return layer_times_[key] = run_apart<std::vector<parallel::StageTimes>>(options.plan, body);
}

double Trials::loader_images_per_s(double seconds) const {
  const auto body = [&](const parallel::RankContext&) {
    parallel::ReplicaOptions options = job_.replica_options(plan_of_one(), {}, 0);
    // One after the other: whoever asks for batches reads along while it waits, which a replica that trains doesn't.
    const int threads = std::max(1, std::exchange(options.loader.threads, 0));
    data::Loader loader(job_.data.dataset, options.loader);
    loader.start(data::epoch_order(options.train_samples, 1, 1), 1);
    const Stopwatch clock;
    std::int64_t images = 0;
    for (std::uint64_t epoch = 2; clock.seconds() < seconds;) {
      leave_if_stopped();
      if (const data::Batch* batch = loader.next(); batch != nullptr) {
        images += batch->count;
      } else {
        loader.start(data::epoch_order(options.train_samples, 1, epoch), epoch);
        ++epoch;
      }
    }
    return pack_message(threads * static_cast<double>(images) / clock.seconds());
  };
  return run_apart<double>(plan_of_one(), body);
}

inference::NetworkProfile profile_training(const TrainSetup& setup, const TrainOptions& options) {
  const auto& stage = options.plan.replicas.front().stages.front();
  engine::TrainerOptions trainer = options.trainer;
  trainer.device = stage.device;
  trainer.threads = stage.threads;
  trainer.cpus = stage.cpus;
  trainer.mean = setup.normalization.mean;
  trainer.standard_deviation = setup.normalization.standard_deviation;
  trainer.sum_over_replicas = nullptr;
  trainer.shared = {};
  trainer.resident = nullptr;
  inference::NetworkProfile profile;
  profile.engine = setup.engine;
  const auto replicas = static_cast<std::int64_t>(options.plan.replicas.size());
  profile.batch = std::max<std::int64_t>(1, options.batch / replicas / std::max(1, options.accumulate));
  profile.precision = trainer.precision;
  if (stage.device.kind == DeviceKind::kCpu) profile.threads = stage.threads;
  const auto engine = engine::open_engine(setup.engine);
  const auto made = engine->make_trainer(setup.network, trainer);
  engine::TimesLayers* layers = made->capabilities().layers;
  if (layers == nullptr) {
    profile.reason = "the engine '" + setup.engine +
                     "' computes all layers as one and doesn't tell what each takes; --engine torch does";
    return profile;
  }
  made->load_state(network::initial_state(setup.network, trainer.seed));
  const NoiseBatch noise(setup, profile.batch);
  inference::fill_profile(inference::repeated_passes([&] { return layers->time_layers(noise.batch()); }),
                          &setup.network, stage.device, profile);
  return profile;
}

}  // namespace evener::training
