#include "job/train/epochs_in_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "base/plural.h"
#include "base/statistics.h"

namespace evener::job {

EpochCost epoch_cost(const task::TrialResult& trial, const EpochWork& work) {
  constexpr double kForwardShare = 1.0 / 3;
  EpochCost cost;
  if (trial.sizes.empty()) return cost;
  const task::TrialSteps& widest = trial.sizes.back();
  const double step_s = median(widest.seconds).value_or(0);
  const double image_s = step_s / static_cast<double>(std::max<std::int64_t>(1, widest.images));
  const auto images = static_cast<double>(work.train_images);
  // A step of fewer images than the batch's doesn't tell the time of a whole one, only that of its images.
  const double steps = widest.images >= work.batch ? std::ceil(images / static_cast<double>(work.batch)) : 0;
  cost.train_s = steps > 0 ? steps * step_s : images * image_s;
  const double judged_s = trial.evaluate_images_per_s ? 1 / *trial.evaluate_images_per_s : kForwardShare * image_s;
  cost.validate_s = static_cast<double>(work.val_images) * judged_s;
  cost.test_s = static_cast<double>(work.test_images) * judged_s;
  return cost;
}

EpochCost no_longer_than(EpochCost cost, double epoch_s) {
  if (epoch_s <= 0 || epoch_s >= cost.epoch_s()) return cost;
  const double scale = epoch_s / cost.epoch_s();
  return {cost.train_s * scale, cost.validate_s * scale, cost.test_s * scale};
}

int most_epochs(const EpochWish& wish) {
  constexpr int kFromScratch = 100, kManyFromScratch = 1000;  // small images have short epochs
  constexpr int kLongerTuning = 5;                            // the best weights are kept, and --patience ends it
  if (wish.given) return wish.epochs;
  if (wish.has_weights) return wish.wants_time ? kLongerTuning * wish.epochs : wish.epochs;
  return wish.wants_time ? kManyFromScratch : kFromScratch;
}

int epochs_within(double seconds, const EpochCost& cost, int most) {
  constexpr double kUsed = 0.9;
  if (cost.epoch_s() <= 0) return most;
  const double fitting = (kUsed * seconds - cost.test_s) / cost.epoch_s();
  return static_cast<int>(std::clamp(fitting, 1.0, static_cast<double>(most)));
}

std::string epochs_text(double minutes, int epochs, int most, const EpochCost& cost) {
  const std::string why = epochs == most ? ", which is the most that are taken unless --epochs says more" : "";
  return fmt::format("--minutes {}: {}, {} about {} as measured{}", si_text(minutes), counted(epochs, "epoch"),
                     epochs == 1 ? "of" : "each of", duration_text(cost.epoch_s()), why);
}

}  // namespace evener::job
