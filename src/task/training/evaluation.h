// The results of evaluating one part of the data.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "parallel/replica.h"
#include "task/training/train.h"

namespace evener::task {

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

/// The number of classes in the confusion matrix: all, or 0 where the matrix would have a million numbers that nobody
/// reads.
std::size_t confusion_classes(std::size_t classes);

/// The means over the images, and the confusion matrix.
Evaluation evaluation_of(const parallel::EvaluationResult& result, EvaluationPart part);

}  // namespace evener::task
