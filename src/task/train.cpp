#include "task/train.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "base/phase.h"
#include "base/stop.h"
#include "network/init.h"
#include "task/checkpoint.h"
#include "task/evaluation.h"
#include "task/limits.h"
#include "task/resume_config.h"
#include "task/start.h"

namespace evener::task {
namespace {

using nlohmann::json;

/// A checkpoint may take this share of the run's time; the rest of the epochs' checkpoints are left out.
constexpr double kCheckpointShare = 0.05;
/// Within a long epoch a checkpoint is written this often.
constexpr double kCheckpointInterval_s = 300;

double mean_of(double sum, std::int64_t count) {
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

class TrainRun {
 public:
  TrainRun(const TrainOptions& options, TrainObserver& observer)
      : options_(options), observer_(observer), data_(open()), setup_(describe()) {}

  TrainResult execute() {
    prepare();
    if (options_.epochs == 0) return evaluate_only();
    while (progress_.epoch < options_.epochs && !enough() && train_epoch()) continue;
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
    if (options_.epochs == 0 && opened.split.val.empty() && opened.split.test.empty()) {
      throw Error("no images to evaluate on in '" + options_.data.location +
                  "': it has neither a validation nor a test part; name another folder, or give --split");
    }
    if (options_.epochs > 0 && opened.split.train.empty()) {
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
    setup.network.freeze(matching_parameters(setup.network, options_.freeze));
    if (const std::string text = freeze_text(setup.network); !text.empty()) setup.notes.push_back(text);
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
    if (options_.epochs > 0) require_possible_training();
    engine_ = engine::open_engine(options_.engine);
    config_ = resume_config(options_, setup_);
    Checkpoint checkpoint;
    Start start;
    if (options_.resume) {
      checkpoint = resumed();
    } else {
      start = make_start(options_, setup_, data_, loading_progress(LoadingStep::kStatistics));
      setup_.normalization = start.normalization;
      setup_.normalized_by = start.normalized_by;
      setup_.notes.insert(setup_.notes.end(), start.notes.begin(), start.notes.end());
    }
    engine::TrainerOptions trainer = options_.trainer;
    trainer.mean = setup_.normalization.mean;
    trainer.standard_deviation = setup_.normalization.standard_deviation;
    info_ = {options_.model, setup_.classes, setup_.image, trainer.mean, trainer.standard_deviation};
    if (const std::string why = engine_->refusal(setup_.network, trainer); !why.empty()) throw UsageError(why);
    // Loaders first: the trainer pins this thread, and threads started later would inherit its CPUs.
    const data::LoaderOptions loading{options_.batch, options_.loader_threads};
    data::LoaderOptions augmenting = loading;
    augmenting.augmentation = {options_.augment, options_.trainer.seed, data_.split.train};
    train_loader_ = std::make_unique<data::Loader>(data_.dataset, augmenting);
    evaluation_loader_ = std::make_unique<data::Loader>(data_.dataset, loading);
    trainer_ = engine_->make_trainer(setup_.network, trainer);
    if (options_.resume) {
      resume(std::move(checkpoint));
    } else {
      trainer_->load_state(start.state);
    }
    result_.init_s = clock.seconds();
    observer_.on_setup(setup_);
    for (const auto& note : data_.notes) observer_.on_note(note);
  }

  void require_possible_training() const {
    const auto& parameters = setup_.network.parameters();
    if (std::ranges::none_of(parameters, &network::Parameter::trained)) {
      throw UsageError("--freeze leaves no parameter to train; give fewer or narrower patterns");
    }
    require_trainable_batch(setup_.network, setup_.train_images, options_.batch);
    require_disk_space(options_.out, setup_.network, options_.trainer.optimizer.momentum != 0);
    require_memory(setup_.network,
                   std::min<std::int64_t>(options_.batch, static_cast<std::int64_t>(setup_.train_images)),
                   options_.trainer.precision);
  }

  /// The checkpoint in `out`, found to be of this run. The images are normalised as they were: its weights' file
  /// needn't be there any more.
  Checkpoint resumed() {
    Checkpoint checkpoint = load_last(options_.out);
    require_same_config(checkpoint.config, config_);
    network::check_state(setup_.network, checkpoint.state, (options_.out / "last.safetensors").string());
    setup_.normalization = checkpoint.normalization;
    setup_.normalized_by = "checkpoint";
    return checkpoint;
  }

  void resume(Checkpoint checkpoint) {
    trainer_->load_state(checkpoint.state);
    if (!checkpoint.optimizer_state.empty()) trainer_->load_optimizer_state(checkpoint.optimizer_state);
    progress_ = std::move(checkpoint.progress);
    setup_.resumed_epoch = progress_.epoch;
    setup_.resumed_step = progress_.step;
  }

  /// Validates and tests the weights as they are.
  TrainResult evaluate_only() {
    const Stopwatch clock;
    if (!data_.split.val.empty()) {
      auto found = evaluate("validation", data_.split.val);
      result_.validate_s = clock.seconds();
      if (!found) {
        interrupted();
        return std::move(result_);
      }
      result_.val_loss = found->loss;
      result_.val_accuracy = found->accuracy;
      result_.confusion = std::move(found->confusion);
    }
    finish();
    return std::move(result_);
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
      const auto sums = gradients_of(*batch);
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

  /// Of the whole batch, or of one part after the other, which needs less memory.
  engine::BatchResult gradients_of(const data::Batch& batch) {
    const double weight = 1.0 / static_cast<double>(batch.count);
    engine::BatchResult sums;
    trainer_->clear_gradients();
    for (std::int64_t part = 0; part < options_.accumulate; ++part) {
      const std::int64_t begin = batch.count * part / options_.accumulate;
      const std::int64_t end = batch.count * (part + 1) / options_.accumulate;
      if (begin < end) sums += trainer_->add_gradients(data::part_of(batch, begin, end), weight);
    }
    return sums;
  }

  std::optional<Evaluation> evaluate(const char* part, const std::vector<std::uint32_t>& samples) {
    return task::evaluate(*trainer_, *evaluation_loader_, part, samples, setup_.classes.size());
  }

  /// Whether training may end before the last epoch.
  bool enough() {
    if (progress_.best_epoch == 0) return false;
    if (options_.until_accuracy > 0 && progress_.best_accuracy >= options_.until_accuracy) {
      if (!result_.seconds_to_accuracy) note_accuracy_reached();
      return true;
    }
    if (options_.patience == 0 || progress_.epoch - progress_.best_epoch < options_.patience) return false;
    result_.end_note = "ended after epoch " + std::to_string(progress_.epoch) + ": no better validation accuracy for " +
                       std::to_string(options_.patience) + " epochs (--patience)";
    return true;
  }

  void note_accuracy_reached() {
    double seconds = 0;
    for (const auto& epoch : progress_.epochs) seconds += epoch.seconds + epoch.validate_seconds;
    result_.seconds_to_accuracy = seconds;
    result_.end_note = "ended after epoch " + std::to_string(progress_.epoch) + ": the validation accuracy reached " +
                       si_text(100 * progress_.best_accuracy) + " % (--until-accuracy) after " +
                       duration_text(seconds) + " of training and validation";
  }

  bool validate(EpochResult& epoch) {
    const Stopwatch clock;
    trainer_->swap_average();
    auto found = evaluate("validation", data_.split.val);
    epoch.validate_seconds = clock.seconds();
    result_.validate_s += epoch.validate_seconds;
    if (found) take_if_best(epoch, *found);
    trainer_->swap_average();
    return found ? true : interrupted();
  }

  void take_if_best(EpochResult& epoch, Evaluation& found) {
    epoch.val_loss = found.loss;
    epoch.val_accuracy = found.accuracy;
    // Equal accuracies are common with small validation sets; the lower loss decides then.
    const bool better = *epoch.val_accuracy > progress_.best_accuracy ||
                        (*epoch.val_accuracy == progress_.best_accuracy && *epoch.val_loss < progress_.best_loss);
    if (!better) return;
    epoch.best = true;
    result_.confusion = std::move(found.confusion);
    progress_.best_epoch = epoch.epoch;
    progress_.best_accuracy = *epoch.val_accuracy;
    progress_.best_loss = *epoch.val_loss;
    best_state_ = trainer_->state();
    best_saved_ = false;
  }

  /// The test, with the best weights; the trainer has the last ones again afterwards.
  void finish() {
    if (options_.until_accuracy > 0 && !result_.seconds_to_accuracy && !enough()) {
      result_.end_note = "the validation accuracy did not reach --until-accuracy";
    }
    if (data_.split.test.empty()) return;
    const Stopwatch clock;
    const bool averages = options_.trainer.optimizer.average_decay != 0;
    const bool other_weights = progress_.best_epoch != 0 && (progress_.best_epoch != progress_.epoch || averages);
    TensorMap last;
    if (other_weights) {
      last = trainer_->state();
      trainer_->load_state(best_state_.empty() ? load_best(options_.out) : best_state_);
    }
    const bool swaps = progress_.best_epoch == 0 && progress_.epoch > 0;
    if (swaps) trainer_->swap_average();
    auto found = evaluate("test", data_.split.test);
    if (swaps) trainer_->swap_average();
    if (other_weights) trainer_->load_state(last);
    result_.test_s = clock.seconds();
    if (!found) {
      interrupted();
      return;
    }
    result_.confusion = std::move(found->confusion);
    result_.test_loss = found->loss;
    result_.test_accuracy = found->accuracy;
  }

  bool interrupted() {
    result_.status = TrainStatus::kInterrupted;
    if (options_.epochs == 0) {
      result_.status_reason = "interrupted while evaluating";
      return false;
    }
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
      trainer_->swap_average();  // nothing to validate on: the last is the best
      save_best(options_.out, trainer_->state(), info_, progress_.epoch);
      trainer_->swap_average();
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
