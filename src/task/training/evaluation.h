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

  /// What weights are compared by: the accuracy, or the mean average precision at an overlap of 0.5. More is better.
  double quality() const;
};

/// A detector's losses among the sums, by name: "box_loss", "class_loss".
std::map<std::string, double> loss_figures(const engine::Sums& sums);
/// Adds figures to others under names that begin with "PART_".
void add_figures(std::map<std::string, double>& to, const std::string& part,
                 const std::map<std::string, double>& figures);

/// Classes of which confusions are counted: all, or none where the table would be a million numbers nobody reads.
std::size_t confusion_classes(std::size_t classes);

/// Means over the images, and the table of what was taken for what.
Evaluation evaluation_of(const parallel::EvaluationResult& result, EvaluationPart part);

}  // namespace evener::task
