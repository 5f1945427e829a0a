#include "task/training/train_text.h"

#include "base/names.h"

namespace evener::task {

record::EpochRecord epoch_of(const LinearProbe& fit) {
  record::EpochRecord epoch;
  epoch.epoch = 1;
  epoch.head_only = true;
  epoch.seconds = fit.seconds;
  epoch.train_loss = fit.loss;
  epoch.train_accuracy = fit.accuracy;
  return epoch;
}

void tell_means(const engine::Sums& sums, StepProgress& told) {
  told.loss = sums.mean("loss").value_or(0);
  told.accuracy = sums.mean("correct");
  told.box_loss = sums.mean("box_loss");
  told.class_loss = sums.mean("class_loss");
}

std::string accuracy_reached_text(const Progress& progress, const std::string& quality, double seconds) {
  return "ended after epoch " + std::to_string(progress.epoch) + ": the validation " + quality + " reached " +
         si_text(100 * progress.best_accuracy) + " % (--until-accuracy) after " + duration_text(seconds) +
         " of training and validation";
}

std::string time_is_up_text(const Progress& progress) {
  const double share = progress.epochs.empty() ? 1 : progress.epochs.back().share;
  const std::string epoch = std::to_string(progress.epoch);
  if (share == 1) return "ended after epoch " + epoch + ": the time that was given is over (--minutes)";
  return "ended within epoch " + epoch + ", after " + si_text(100 * share) +
         " % of its steps: the time that was given is over (--minutes)";
}

std::string place_text(const Progress& progress) {
  if (progress.step == 0) return "after epoch " + std::to_string(progress.epoch);
  return "in epoch " + std::to_string(progress.epoch + 1) + " after step " + std::to_string(progress.step);
}

std::string interrupted_text(const Progress& progress, std::int64_t steps_per_epoch, const std::filesystem::path& out) {
  return "interrupted in epoch " + std::to_string(progress.epoch + 1) + " after step " + std::to_string(progress.step) +
         " of " + std::to_string(steps_per_epoch) + "; 'evener train --resume " + out.string() + "' goes on";
}

}  // namespace evener::task
