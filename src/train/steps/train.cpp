#include "train/steps/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/stop.h"
#include "parallel/data_parallel.h"
#include "train/steps/blank_images.h"
#include "train/steps/checkpoint.h"
#include "train/steps/evaluation.h"
#include "train/steps/job.h"
#include "train/steps/known_parts.h"
#include "train/steps/step_times.h"

namespace evener::training {
namespace {

/// The first steps allocate memory and primitives that later steps reuse, so they are slower and don't count.
constexpr std::int64_t kWarmUpSteps = 10;

/// Checkpoints may take this share of the run's time. Those of epochs that would take more are left out.
constexpr double kCheckpointShare = 0.05;
/// Within a long epoch a checkpoint is written after so many seconds.
constexpr double kCheckpointInterval_s = 300;

/// Keeps the best weights of a training so far, and writes the checkpoints into its folder.
class KeptWeights {
 public:
  KeptWeights(PreparedTraining::State& job, parallel::DataParallel& replicas)
      : job_(job), replicas_(replicas), is_manifest_saved_(job.options.resume) {}

  /// Takes the replicas' weights of this moment as the best so far.
  void take_best() {
    best_ = replicas_.state();
    best_saved_ = false;
  }
  TensorMap best() const { return best_.empty() ? load_best(job_.options.out) : best_; }

  /// Writes a checkpoint. At the end of a run without any validation the last weights count as the best, or with
  /// `averaged` their moving average. Returns false and keeps the previous checkpoint where the weights are not finite,
  /// which an epoch without validation doesn't notice.
  bool save(bool averaged) {
    const Stopwatch clock;
    TensorMap state = replicas_.state();
    if (!is_finite(state)) return false;
    job_.observer.on_checkpoint();
    const std::filesystem::path& out = job_.options.out;
    const Progress& progress = job_.progress;
    keep_manifest();
    if (!best_saved_) stage_best(out, best_, job_.info, progress.best_epoch);
    if (progress.best_epoch == 0 && progress.epoch == job_.options.epochs) {
      if (averaged) replicas_.swap_average();
      stage_best(out, replicas_.state(), job_.info, progress.epoch);
      if (averaged) replicas_.swap_average();
    }
    save_last(out, {std::move(state), replicas_.optimizer_state()}, job_.info, progress, job_.config);
    publish_best(out);
    best_saved_ = true;
    last_save_s_ = clock.seconds();
    seconds_ += last_save_s_;
    since_save_ = Stopwatch();
    return true;
  }
  /// Writes the best weights alone, unless the folder has them already.
  void save_best() {
    if (best_saved_) return;
    const Stopwatch clock;
    keep_manifest();
    training::save_best(job_.options.out, best_, job_.info, job_.progress.best_epoch);
    best_saved_ = true;
    seconds_ += clock.seconds();
  }

  /// Whether a checkpoint at the end of an epoch would take too little of the run's time to be left out.
  bool is_cheap() const { return last_save_s_ < kCheckpointShare * since_save_.seconds(); }
  /// Whether the last checkpoint is so old that one should be written in the middle of an epoch.
  bool is_due() const { return since_save_.seconds() > kCheckpointInterval_s; }
  /// What writing has taken so far.
  double seconds() const { return seconds_; }

 private:
  /// Writes the split manifest, before the first weights: so no weights lie in the folder without the list of the
  /// images that they were trained on.
  void keep_manifest() {
    if (!is_manifest_saved_) save_manifest(job_.options, job_.data);
    is_manifest_saved_ = true;
  }

  PreparedTraining::State& job_;
  parallel::DataParallel& replicas_;
  TensorMap best_;  // empty: they are in best.safetensors
  bool best_saved_ = true;
  bool is_manifest_saved_;  // a resumed run has its manifest from its first session
  double seconds_ = 0, last_save_s_ = 0;
  Stopwatch since_save_;
};

/// A training run from its first step to its test, as rank 0 leads it.
class TrainRun {
 public:
  TrainRun(PreparedTraining::State& job, parallel::DataParallel& replicas, engine::Trainer& trainer)
      : job_(job),
        options_(job.options),
        observer_(job.observer),
        setup_(job.setup),
        progress_(job.progress),
        replicas_(replicas),
        trainer_(trainer),
        kept_(job, replicas),
        time_limit_(job.end_by_s, job.setup, job.options.batch) {}

  TrainResult execute() {
    result_.is_detector = !setup_.network.anchors().empty();
    for (auto* time : {&times().train, &times().validate, &times().test, &times().checkpoint}) *time = 0;
    if (options_.epochs == 0) return evaluate_only();
    if (begin_with_head()) {
      while (progress_.epoch < options_.epochs && !enough() && train_epoch()) continue;
    }
    if (result_.status == record::Status::kDone) finish();
    if (result_.status == record::Status::kDiverged) {
      kept_.save_best();  // the last good checkpoint stays, but the record speaks of the best epoch
    } else {
      save();
    }
    times().checkpoint = kept_.seconds();
    result_.epochs = progress_.epochs;
    result_.best_epoch = progress_.best_epoch;
    for (std::size_t r = 0; r < replicas_.trained().size(); ++r) {
      result_.replicas.push_back({replicas_.trained()[r], replicas_.busy_s()[r]});
    }
    for (const auto& change : replicas_.changes()) result_.shares.emplace_back(change.step, change.counts);
    return std::move(result_);
  }

 private:
  /// Validates and tests the weights as they are.
  TrainResult evaluate_only() {
    const Stopwatch clock;
    if (setup_.val_images > 0) {
      auto found = evaluate(EvaluationPart::kValidation);
      times().validate = clock.seconds();
      if (!found) {
        interrupted();
        return std::move(result_);
      }
      if (!std::isfinite(found->loss)) tell("the validation loss of these weights is not finite");
      result_.val_loss = found->loss;
      result_.val_accuracy = found->accuracy;
      add_figures(result_.figures, "val", found->figures);
      look_at_blank_images(result_.figures);
      result_.confusion = std::move(found->confusion);
    }
    finish();
    return std::move(result_);
  }

  /// The fit of a new last layer, which the first weights came with, is an epoch of its own: its weights may stay the
  /// best ones. False when the run has to end here.
  bool begin_with_head() {
    if (!setup_.linear_probe || progress_.epoch > 0 || progress_.step > 0) return true;
    const LinearProbe& fit = *setup_.linear_probe;
    *times().train += fit.seconds;
    result_.head_images = static_cast<std::int64_t>(fit.images * fit.copies);
    record::EpochRecord epoch = epoch_of(fit);
    return (setup_.val_images == 0 || validate(epoch)) && end_epoch(epoch);
  }

  /// Trains one epoch, from the step at which the progress stands. False when the run has to end here.
  bool train_epoch() {
    record::EpochRecord epoch;
    epoch.epoch = progress_.epoch + 1;
    if (!train_steps(epoch)) return false;
    epoch.seconds = progress_.partial_seconds;
    epoch.train_loss = progress_.partial.mean("loss").value_or(0);
    epoch.train_accuracy = progress_.partial.mean("correct");
    add_figures(epoch.figures, "train", loss_figures(progress_.partial));
    const bool last = epoch.epoch == options_.epochs;
    if (setup_.val_images > 0 && (last || epoch.epoch % options_.validate_every == 0)) {
      if (!validate(epoch)) return false;
    }
    return end_epoch(epoch);
  }

  bool end_epoch(record::EpochRecord epoch) {
    record::set_speed(epoch, setup_.train_images);
    const bool last = epoch.epoch == options_.epochs;
    progress_.epochs.push_back(epoch);
    progress_.epoch = epoch.epoch;
    progress_.step = 0;
    progress_.partial = {};
    progress_.partial_seconds = 0;
    observer_.on_epoch(epoch);
    // After the last epoch, weights that no validation has judged are saved after the test, by execute().
    const bool due = last ? setup_.val_images > 0 : epoch.head_only || kept_.is_cheap();
    return !due || save();
  }

  /// Does the remaining steps of the epoch. Afterwards progress_ holds the sums of the whole epoch.
  bool train_steps(record::EpochRecord& epoch) {
    const std::int64_t first = progress_.step;
    known_steps_ = first;
    replicas_.start_epoch(epoch.epoch, static_cast<std::int64_t>(setup_.train_images), first);
    StepProgress told;
    told.epoch = epoch.epoch;
    told.steps_per_epoch = setup_.steps_per_epoch;
    for (std::int64_t step = first; step < setup_.steps_per_epoch; ++step) {
      if (stop_requested()) return settle(epoch.epoch) && interrupted();
      if (step > first && time_limit_.is_over()) {
        if (!settle(epoch.epoch)) return false;
        epoch.share = static_cast<double>(step) / static_cast<double>(setup_.steps_per_epoch);
        break;
      }
      const Stopwatch clock;
      epoch.lr = rate(step);
      const parallel::StepResult& result = replicas_.step(*epoch.lr);
      const std::int64_t images = result.images;
      step_times_.give(images);
      if (!take(result, clock.seconds(), epoch.epoch)) return false;
      progress_.step = step + 1;
      // The device may report the result of a step while later ones are under way; at the end of an epoch, and for a
      // checkpoint, all results are waited for.
      const bool saves = kept_.is_due();
      if ((saves || progress_.step == setup_.steps_per_epoch) && !settle(epoch.epoch)) return false;
      told.step_seconds = clock.seconds();
      told.step = step + 1;
      told.images += images;
      told.epoch_seconds += told.step_seconds;
      tell_means(progress_.partial, told);
      observer_.on_step(told);
      for (const auto& note : replicas_.take_notes()) tell(note);
      if (saves && !save()) return false;
    }
    if (first == setup_.steps_per_epoch) epoch.lr = rate(first - 1);
    replicas_.share_state();
    return true;
  }

  /// Adds the sums of the steps whose results have become known, after so many seconds of stepping or waiting. False:
  /// one of them had a loss that is not finite, which ends the training.
  bool take(const parallel::StepResult& result, double seconds, int epoch) {
    progress_.partial += result.sums;
    progress_.partial_seconds += seconds;
    *times().train += seconds;
    known_steps_ += result.steps;
    time_limit_.stepped_in(seconds, result.steps);
    if (result.steps > 0 && !times().first_step) times().first_step = job_.clock.seconds();
    for (const StepTimes::Step& step : step_times_.pass(seconds, result.steps)) count(step);
    if (result.applied) return true;
    const std::int64_t step = known_steps_ + 1;
    const std::string image =
        result.culprit ? ", of the image '" + printable(job_.data.dataset->source(*result.culprit)) + "'" : "";
    return diverged(
        "the loss is not finite in epoch " + std::to_string(epoch) + ", step " + std::to_string(step) + image, step);
  }

  /// Waits for the results of steps that are not known yet.
  bool settle(int epoch) {
    const Stopwatch clock;
    const parallel::StepResult& result = replicas_.settle();
    const bool waited = result.steps > 0 || !result.applied;  // otherwise nothing was under way
    return take(result, waited ? clock.seconds() : 0, epoch);
  }

  /// Counts a step of the epoch under way that is known to be done.
  void count(const StepTimes::Step& step) {
    if (progress_.epoch != std::max(setup_.resumed_epoch, head_epochs())) {
      result_.later_epochs.add(step.images, step.seconds);
    } else if (step.number >= kWarmUpSteps) {
      result_.first_epoch.add(step.images, step.seconds);
    }
  }

  /// Puts a note into the record, and shows it to the user.
  void tell(const std::string& note) {
    result_.notes.push_back(note);
    observer_.on_note(note);
  }

  std::optional<Evaluation> evaluate(EvaluationPart part) {
    const bool test = part == EvaluationPart::kTest;
    const std::size_t samples = test ? setup_.test_images : setup_.val_images;
    const auto result =
        replicas_.evaluate(static_cast<std::int64_t>(part), static_cast<std::int64_t>(samples), stop_requested);
    if (!result) return std::nullopt;
    return evaluation_of(*result, part);
  }

  /// Whether training may end before the last epoch.
  bool enough() {
    if (job_.has_reached_accuracy()) {
      if (!times().to_accuracy) note_accuracy_reached();
      return true;
    }
    if (time_limit_.leaves_none_for_more(progress_, options_.epochs)) {
      result_.end_note = time_is_up_text(progress_);
      return true;
    }
    if (!job_.has_lost_patience()) return false;
    result_.end_note = patience_lost_text(progress_, quality_name(), options_.patience);
    return true;
  }

  /// The name of the quality by which the best weights are chosen.
  std::string quality_name() const { return setup_.network.anchors().empty() ? "accuracy" : "mAP@0.5"; }

  void note_accuracy_reached() {
    double seconds = 0;
    for (const auto& epoch : progress_.epochs) seconds += *epoch.seconds + epoch.validate_seconds.value_or(0);
    times().to_accuracy = seconds;
    result_.end_note = accuracy_reached_text(progress_, quality_name(), seconds);
  }

  bool validate(record::EpochRecord& epoch) {
    const Stopwatch clock;
    if (!epoch.head_only) replicas_.swap_average();  // before the first step there is none
    auto found = evaluate(EvaluationPart::kValidation);
    const double seconds = clock.seconds();
    *times().validate += seconds;
    time_limit_.judged_in(seconds);
    const bool finite = found && std::isfinite(found->loss);
    if (finite) take_if_best(epoch, *found);
    if (finite) epoch.validate_seconds = seconds;
    if (!epoch.head_only) replicas_.swap_average();
    if (!found) return interrupted();
    return finite ||
           diverged("the validation loss is not finite after epoch " + std::to_string(epoch.epoch), progress_.step);
  }

  void take_if_best(record::EpochRecord& epoch, Evaluation& found) {
    epoch.val_loss = found.loss;
    epoch.val_accuracy = found.accuracy;
    add_figures(epoch.figures, "val", found.figures);
    // Equal accuracies are common with small validation sets; the lower loss decides then. --patience counts from here.
    const double quality = found.quality();
    const bool better = quality > progress_.best_accuracy ||
                        (quality == progress_.best_accuracy && *epoch.val_loss < progress_.best_loss);
    if (!better) return;
    look_at_blank_images(epoch.figures);
    epoch.best = true;
    result_.confusion = std::move(found.confusion);
    progress_.best_epoch = epoch.epoch;
    progress_.best_accuracy = quality;
    progress_.best_loss = *epoch.val_loss;
    kept_.take_best();
  }

  /// For a detector: adds the share of some validation images on which it finds the same box as on blank images.
  void look_at_blank_images(std::map<std::string, double>& figures) {
    constexpr std::size_t kPhotos = 16;
    const auto& val = job_.data.split.val;
    const bool is_whole = setup_.division.stages.empty();
    if (!result_.is_detector || !is_whole || options_.data_on_device || val.empty()) return;
    std::vector<std::uint32_t> some;
    const std::size_t count = std::min({kPhotos, val.size(), static_cast<std::size_t>(options_.batch)});
    for (std::size_t i = 0; i < count; ++i) some.push_back(val[i * val.size() / count]);
    data::Loader loader(job_.data.dataset, {.batch = static_cast<std::int64_t>(count), .threads = 0});
    loader.start(std::move(some), 0);
    const data::Batch* photos = loader.next();
    const auto share = photos ? share_found_in_blank(trainer_, setup_.network, *photos) : std::nullopt;
    if (share) figures[kFoundInBlank] = *share;
  }

  /// Tests the best weights. Afterwards the trainer has the last ones again.
  void finish() {
    if (options_.until_accuracy > 0 && progress_.best_epoch != 0 && !times().to_accuracy && !enough()) {
      result_.end_note =
          fmt::format("the validation {} did not reach --until-accuracy {}: at best it was {:.4g}, in epoch {}",
                      quality_name(), si_text(options_.until_accuracy), progress_.best_accuracy, progress_.best_epoch);
    }
    if (setup_.test_images == 0) return;
    const Stopwatch clock;
    const bool averages = options_.trainer.optimizer.average_decay != 0;
    const bool other_weights = progress_.best_epoch != 0 && (progress_.best_epoch != progress_.epoch || averages);
    TensorMap last;
    if (other_weights) {
      last = replicas_.state();
      replicas_.load_state(kept_.best());
    }
    const bool swaps = progress_.best_epoch == 0 && progress_.epoch > head_epochs();
    if (swaps) replicas_.swap_average();
    auto found = evaluate(EvaluationPart::kTest);
    if (swaps) replicas_.swap_average();
    if (other_weights) replicas_.load_state(last);
    times().test = clock.seconds();
    if (!found) {
      interrupted();
      return;
    }
    if (!std::isfinite(found->loss)) {
      if (options_.epochs > 0) {
        const int epoch = progress_.best_epoch != 0 ? progress_.best_epoch : progress_.epoch;
        diverged("the test loss is not finite with the weights of epoch " + std::to_string(epoch), progress_.step);
        return;
      }
      tell("the test loss of these weights is not finite");
    }
    result_.confusion = std::move(found->confusion);
    result_.test_loss = found->loss;
    result_.test_accuracy = found->accuracy;
    add_figures(result_.figures, "test", found->figures);
  }

  bool interrupted() {
    result_.status = record::Status::kInterrupted;
    if (options_.epochs == 0) {
      result_.status_reason = "interrupted while evaluating";
      return false;
    }
    result_.status_reason = interrupted_text(progress_, setup_.steps_per_epoch, options_.out);
    return false;
  }

  /// `step`: the last one done, counted as progress_.step.
  bool diverged(const std::string& what, std::int64_t step) {
    result_.status = record::Status::kDiverged;
    result_.status_reason = what + ": the training diverged. Try a smaller --lr (now " + si_text(rate(step - 1)) +
                            "), --warmup 1, or --precision fp32";
    return false;
  }

  /// Writes a checkpoint. False where the weights are not finite, which ends the run.
  bool save() {
    return kept_.save(/*averaged=*/progress_.epoch > head_epochs()) ||
           diverged("the weights are not finite " + place_text(progress_), progress_.step);
  }

  /// Epochs without steps, at the beginning.
  int head_epochs() const { return setup_.begins_with_head ? 1 : 0; }

  double rate(std::int64_t step) const {
    const std::int64_t epoch = progress_.epoch - head_epochs();
    return options_.schedule.rate(options_.learning_rate, epoch * setup_.steps_per_epoch + step, setup_.steps_per_epoch,
                                  options_.epochs - head_epochs());
  }

  record::Times& times() { return result_.times; }

  PreparedTraining::State& job_;
  const TrainOptions& options_;
  TrainObserver& observer_;
  const TrainSetup& setup_;
  Progress& progress_;
  parallel::DataParallel& replicas_;
  engine::Trainer& trainer_;  // this rank's own
  KeptWeights kept_;
  TimeLimit time_limit_;
  StepTimes step_times_;
  TrainResult result_;
  std::int64_t known_steps_ = 0;  // steps of this epoch whose results were added up
};

}  // namespace

TrainResult lead_training(PreparedTraining::State& job, parallel::DataParallel& replicas, engine::Trainer& trainer) {
  return TrainRun(job, replicas, trainer).execute();
}

}  // namespace evener::training
