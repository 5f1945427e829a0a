// What evaluating a part of the data found, as figures, and how far a training has come, as figures and sentences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "parallel/replica.h"
#include "train/steps/checkpoint.h"
#include "train/steps/train.h"

namespace evener::training {

/// Parts of the data that are evaluated, as indices of parallel::ReplicaOptions::evaluation_parts.
enum class EvaluationPart { kValidation, kTest };

struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy;         // of a classifier
  std::map<std::string, double> figures;  // of a detector, by their names without the part: "box_loss", "map_50"
  record::ConfusionRecord confusion;

  /// The figure by which the best weights are chosen: the accuracy of a classifier, the mAP@0.5 of a detector.
  double quality() const;
};

/// A detector's losses among the sums, by name: "box_loss", "class_loss".
std::map<std::string, double> loss_figures(const engine::Sums& sums);
/// Adds `figures` to `to`, with "PART_" before their names.
void add_figures(std::map<std::string, double>& to, const std::string& part,
                 const std::map<std::string, double>& figures);

/// The means over the images, and the confusion matrix.
Evaluation evaluation_of(const parallel::EvaluationResult& result, EvaluationPart part);

/// The fit of a new last layer as the record of a run's first epoch.
record::EpochRecord epoch_of(const LinearProbe& fit);

/// Writes the running means (loss, accuracy) of `sums` into `told`.
void tell_means(const engine::Sums& sums, StepProgress& told);

/// The sentence that says that a run ended because its `quality` (such as "accuracy") reached the target, after
/// `seconds`.
std::string accuracy_reached_text(const Progress& progress, const std::string& quality, double seconds);

/// The sentence that says that a run ended because no epoch was the new best one for `patience` epochs.
std::string patience_lost_text(const Progress& progress, const std::string& quality, int patience);

/// The sentence that says that a run ended because its time (--minutes) was up.
std::string time_is_up_text(const Progress& progress);

/// "after epoch 2", or "in epoch 3 after step 7".
std::string place_text(const Progress& progress);

/// Where a run was interrupted, and the command that resumes it. `out`: its folder.
std::string interrupted_text(const Progress& progress, std::int64_t steps_per_epoch, const std::filesystem::path& out);

}  // namespace evener::training
