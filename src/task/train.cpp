#include "task/train.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "base/phase.h"
#include "base/stop.h"
#include "network/init.h"
#include "network/zoo.h"
#include "task/checkpoint.h"
#include "task/limits.h"

namespace evener::task {
namespace {

using nlohmann::json;

/// A checkpoint may take this share of the run's time; the rest of the epochs' checkpoints are left out.
constexpr double kCheckpointShare = 0.05;
/// A table of more classes than this would be a million numbers that nobody reads.
constexpr std::size_t kMostConfusedClasses = 200;
/// Within a long epoch a checkpoint is written this often.
constexpr double kCheckpointInterval_s = 300;

/// What decides the weights: a resumed run must agree in all of it to continue the same training.
json resume_config(const TrainOptions& options, const TrainSetup& setup) {
  const auto& trainer = options.trainer;
  return {{"model", options.model},
          {"data", options.data.location},
          {"classes", setup.classes},
          {"size", {setup.image.channels, setup.image.height, setup.image.width}},
          {"train images", setup.train_images},
          {"validation images", setup.val_images},
          {"batch", options.batch},
          {"lr", options.learning_rate},
          {"schedule",
           {static_cast<int>(options.schedule.kind), options.schedule.drop_epochs, options.schedule.drop_factor,
            options.schedule.warmup_epochs}},
          {"seed", trainer.seed},
          {"precision", engine::precision_name(trainer.precision)},
          {"loss", engine::loss_name(trainer.loss)},
          {"momentum", trainer.optimizer.momentum},
          {"weight decay", trainer.optimizer.weight_decay},
          {"layout", static_cast<int>(trainer.layout)}};
}

void require_same_config(const json& saved, const json& now) {
  std::string differences;
  for (const auto& [key, value] : now.items()) {
    const json before = saved.contains(key) ? saved[key] : json();
    if (before != value)
      differences += "\n  " + key + ": " + before.dump() + " in the checkpoint, " + value.dump() + " now";
  }
  if (!differences.empty()) {
    throw UsageError("can't resume with other settings than the run was started with:" + differences +
                     "\nRepeat them, or start a new run with another --out");
  }
}

network::Network build_network(const TrainOptions& options, const data::Dataset& dataset) {
  const auto shape = dataset.shape();
  network::ModelOptions model;
  model.input = network::Shape{shape.channels, shape.height, shape.width};
  model.classes = static_cast<std::int64_t>(dataset.classes().size());
  return network::build(options.model, model);
}

double mean_of(double sum, std::int64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

class TrainRun {
 public:
  TrainRun(const TrainOptions& options, TrainObserver& observer)
      : options_(options), observer_(observer), data_(open()), setup_(describe()) {}

  TrainResult execute() {
    prepare();
    while (progress_.epoch < options_.epochs && train_epoch()) continue;
    if (result_.status == TrainStatus::kDone) finish();
    if (result_.status != TrainStatus::kDiverged) save();
    result_.epochs = progress_.epochs;
    result_.best_epoch = progress_.best_epoch;
    return std::move(result_);
  }

 private:
  data::OpenedData open() {
    mark_critical_thread();
    data::DataOptions options = options_.data;
    options.progress = loading_progress(LoadingStep::kDecode);
    data::OpenedData opened = data::open_data(options);
    if (opened.split.train.empty()) {
      throw Error("no images to train on in '" + options_.data.location +
                  "' after the split; give --split a larger first number");
    }
    result_.load_s = clock_.seconds();
    return opened;
  }

  data::Progress loading_progress(LoadingStep step) {
    return [this, step](std::size_t done, std::size_t images) { observer_.on_loading(step, done, images); };
  }

  TrainSetup describe() const {
    TrainSetup setup(build_network(options_, *data_.dataset));
    setup.image = data_.dataset->shape();
    setup.classes = data_.dataset->classes();
    setup.images = data_.dataset->size();
    setup.train_images = data_.split.train.size();
    setup.val_images = data_.split.val.size();
    setup.test_images = data_.split.test.size();
    setup.skipped = data_.skipped;
    setup.steps_per_epoch = (static_cast<std::int64_t>(setup.train_images) + options_.batch - 1) / options_.batch;
    return setup;
  }

  void prepare() {
    const Stopwatch clock;
    require_trainable_batch(setup_.network, setup_.train_images, options_.batch);
    require_disk_space(options_.out, setup_.network, options_.trainer.optimizer.momentum != 0);
    require_memory(setup_.network,
                   std::min<std::int64_t>(options_.batch, static_cast<std::int64_t>(setup_.train_images)),
                   options_.trainer.precision);
    engine_ = engine::open_engine(options_.engine);
    engine::TrainerOptions trainer = options_.trainer;
    const auto statistics = data::channel_statistics(*data_.dataset, data_.split.train, options_.data.threads,
                                                     loading_progress(LoadingStep::kStatistics));
    trainer.mean = statistics.mean;
    trainer.standard_deviation = statistics.standard_deviation;
    info_ = {options_.model, setup_.classes, setup_.image, trainer.mean, trainer.standard_deviation};
    if (const std::string why = engine_->refusal(setup_.network, trainer); !why.empty()) throw UsageError(why);
    // Loaders first: the trainer pins this thread, and threads started later would inherit its CPUs.
    const data::LoaderOptions loading{options_.batch, options_.loader_threads};
    train_loader_ = std::make_unique<data::Loader>(data_.dataset, loading);
    evaluation_loader_ = std::make_unique<data::Loader>(data_.dataset, loading);
    trainer_ = engine_->make_trainer(setup_.network, trainer);
    config_ = resume_config(options_, setup_);
    if (options_.resume) {
      resume();
    } else {
      trainer_->load_state(network::initial_state(setup_.network, options_.trainer.seed));
    }
    result_.init_s = clock.seconds();
    observer_.on_setup(setup_);
    for (const auto& note : data_.notes) observer_.on_note(note);
  }

  void resume() {
    Checkpoint checkpoint = load_last(options_.out);
    require_same_config(checkpoint.config, config_);
    network::check_state(setup_.network, checkpoint.state, (options_.out / "last.safetensors").string());
    trainer_->load_state(checkpoint.state);
    if (!checkpoint.optimizer_state.empty()) trainer_->load_optimizer_state(checkpoint.optimizer_state);
    progress_ = std::move(checkpoint.progress);
    setup_.resumed_epoch = progress_.epoch;
    setup_.resumed_step = progress_.step;
  }

  /// One epoch, from where the progress stands. False when the run has to end here.
  bool train_epoch() {
    EpochResult epoch;
    epoch.epoch = progress_.epoch + 1;
    if (!train_steps(epoch)) return false;
    epoch.seconds = progress_.partial_seconds;
    epoch.train_loss = mean_of(progress_.partial.loss_sum, progress_.partial.count);
    epoch.train_accuracy = mean_of(static_cast<double>(progress_.partial.correct), progress_.partial.count);
    const bool last = epoch.epoch == options_.epochs;
    if (!data_.split.val.empty() && (last || epoch.epoch % options_.validate_every == 0)) {
      if (!validate(epoch)) return false;
    }
    progress_.epochs.push_back(epoch);
    progress_.epoch = epoch.epoch;
    progress_.step = 0;
    progress_.partial = {};
    progress_.partial_seconds = 0;
    observer_.on_epoch(epoch);
    if (last || checkpoint_is_cheap()) save();
    return true;
  }

  /// The remaining steps of the epoch; afterwards progress_ holds the whole epoch's sums.
  bool train_steps(EpochResult& epoch) {
    const auto number = static_cast<std::uint64_t>(epoch.epoch);
    const std::int64_t first = progress_.step;
    train_loader_->start(data::epoch_order(data_.split.train, options_.trainer.seed, number), number, first);
    StepProgress told;
    told.epoch = epoch.epoch;
    told.steps_per_epoch = setup_.steps_per_epoch;
    for (std::int64_t step = first; step < setup_.steps_per_epoch; ++step) {
      if (stop_requested()) return interrupted();
      const Stopwatch clock;
      const data::Batch* batch = train_loader_->next();
      const auto sums = trainer_->forward_backward(*batch, 1.0 / static_cast<double>(batch->count));
      if (!std::isfinite(sums.loss_sum)) return diverged(epoch.epoch, step + 1);
      epoch.learning_rate = rate(step);
      trainer_->apply(epoch.learning_rate);
      told.step_seconds = clock.seconds();
      if (steps_done_++ == 0) result_.first_step_s = clock_.seconds();
      progress_.step = step + 1;
      progress_.partial += sums;
      progress_.partial_seconds += told.step_seconds;
      result_.train_s += told.step_seconds;
      if (progress_.epoch == setup_.resumed_epoch) {
        result_.step_rates.push_back(static_cast<double>(batch->count) / told.step_seconds);
      }
      told.step = step + 1;
      told.images += batch->count;
      told.epoch_seconds += told.step_seconds;
      told.loss = mean_of(progress_.partial.loss_sum, progress_.partial.count);
      told.accuracy = mean_of(static_cast<double>(progress_.partial.correct), progress_.partial.count);
      observer_.on_step(told);
      if (since_save_.seconds() > kCheckpointInterval_s) save();
    }
    if (first == setup_.steps_per_epoch) epoch.learning_rate = rate(first - 1);
    return true;
  }

  bool validate(EpochResult& epoch) {
    const Stopwatch clock;
    Confusion confusion;
    const auto sums = evaluate("validation", data_.split.val, confusion);
    epoch.validate_seconds = clock.seconds();
    result_.validate_s += epoch.validate_seconds;
    if (!sums) return interrupted();
    epoch.val_loss = mean_of(sums->loss_sum, sums->count);
    epoch.val_accuracy = mean_of(static_cast<double>(sums->correct), sums->count);
    // Equal accuracies are common with small validation sets; the lower loss decides then.
    const bool better = *epoch.val_accuracy > progress_.best_accuracy ||
                        (*epoch.val_accuracy == progress_.best_accuracy && *epoch.val_loss < progress_.best_loss);
    if (better) {
      epoch.best = true;
      result_.confusion = std::move(confusion);
      progress_.best_epoch = epoch.epoch;
      progress_.best_accuracy = *epoch.val_accuracy;
      progress_.best_loss = *epoch.val_loss;
      best_state_ = trainer_->state();
      best_saved_ = false;
    }
    return true;
  }

  /// Sums over `samples` in evaluation mode, and what was taken for what; nothing when a stop was asked for.
  std::optional<engine::BatchResult> evaluate(const char* part, const std::vector<std::uint32_t>& samples,
                                              Confusion& confusion) {
    engine::BatchResult sums;
    const std::size_t classes = setup_.classes.size();
    confusion.part = part;
    if (classes <= kMostConfusedClasses) confusion.counts.assign(classes, std::vector<std::int64_t>(classes));
    std::vector<std::int32_t> predicted;
    evaluation_loader_->start(samples, 0);
    while (const data::Batch* batch = evaluation_loader_->next()) {
      if (stop_requested()) return std::nullopt;
      predicted.clear();
      sums += trainer_->evaluate(*batch, &predicted);
      for (std::size_t i = 0; i < predicted.size() && !confusion.counts.empty(); ++i) {
        const auto found = static_cast<std::size_t>(predicted[i]);  // a head may be wider than the classes
        if (found < classes) ++confusion.counts[static_cast<std::size_t>(batch->labels[i])][found];
      }
    }
    return sums;
  }

  /// The test, with the best weights; the trainer has the last ones again afterwards.
  void finish() {
    if (data_.split.test.empty()) return;
    const Stopwatch clock;
    const bool other_weights = progress_.best_epoch != 0 && progress_.best_epoch != progress_.epoch;
    TensorMap last;
    if (other_weights) {
      last = trainer_->state();
      trainer_->load_state(best_state_.empty() ? load_best(options_.out) : best_state_);
    }
    Confusion confusion;
    const auto sums = evaluate("test", data_.split.test, confusion);
    if (other_weights) trainer_->load_state(last);
    result_.test_s = clock.seconds();
    if (!sums) {
      interrupted();
      return;
    }
    result_.confusion = std::move(confusion);
    result_.test_loss = mean_of(sums->loss_sum, sums->count);
    result_.test_accuracy = mean_of(static_cast<double>(sums->correct), sums->count);
  }

  bool interrupted() {
    result_.status = TrainStatus::kInterrupted;
    result_.status_reason = "interrupted in epoch " + std::to_string(progress_.epoch + 1) + " after step " +
                            std::to_string(progress_.step) + " of " + std::to_string(setup_.steps_per_epoch) +
                            "; the same command with --resume goes on";
    return false;
  }

  bool diverged(int epoch, std::int64_t step) {
    result_.status = TrainStatus::kDiverged;
    result_.status_reason = "the loss is not finite in epoch " + std::to_string(epoch) + ", step " +
                            std::to_string(step) + ": the training diverged. Try a smaller --lr (now " +
                            si_text(rate(step - 1)) + "), --warmup 1, or --precision fp32";
    return false;
  }

  void save() {
    const Stopwatch clock;
    if (!best_saved_) {
      save_best(options_.out, best_state_, info_, progress_.best_epoch);
      best_saved_ = true;
    } else if (progress_.best_epoch == 0 && progress_.epoch == options_.epochs) {
      save_best(options_.out, trainer_->state(), info_,
                progress_.epoch);  // nothing to validate on: the last is the best
    }
    save_last(options_.out, *trainer_, info_, progress_, config_);
    last_save_s_ = clock.seconds();
    result_.checkpoint_s += last_save_s_;
    since_save_ = Stopwatch();
  }

  bool checkpoint_is_cheap() const { return last_save_s_ < kCheckpointShare * since_save_.seconds(); }

  double rate(std::int64_t step) const {
    return options_.schedule.rate(options_.learning_rate, progress_.epoch * setup_.steps_per_epoch + step,
                                  setup_.steps_per_epoch, options_.epochs);
  }

  const TrainOptions& options_;
  TrainObserver& observer_;
  Stopwatch clock_;
  TrainResult result_;
  data::OpenedData data_;
  TrainSetup setup_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<data::Loader> train_loader_, evaluation_loader_;
  std::unique_ptr<engine::Trainer> trainer_;
  WeightsInfo info_;
  json config_;
  Progress progress_;
  TensorMap best_state_;
  bool best_saved_ = true;
  std::int64_t steps_done_ = 0;
  double last_save_s_ = 0;
  Stopwatch since_save_;
};

}  // namespace

TrainResult train(const TrainOptions& options, TrainObserver& observer) {
  return TrainRun(options, observer).execute();
}

}  // namespace evener::task
