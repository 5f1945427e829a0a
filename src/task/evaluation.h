// The results of evaluating one part of the data.
#pragma once

#include <cstddef>

#include "parallel/replica.h"
#include "task/train.h"

namespace evener::task {

/// Parts of the data that are evaluated, as indices of parallel::ReplicaOptions::evaluation_parts.
enum class EvaluationPart { kValidation, kTest };

struct Evaluation {
  double loss = 0, accuracy = 0;
  Confusion confusion;
};

/// Classes of which confusions are counted: all, or none where the table would be a million numbers nobody reads.
std::size_t confusion_classes(std::size_t classes);

/// Means over the images, and the table of what was taken for what.
Evaluation evaluation_of(const parallel::EvaluationResult& result, EvaluationPart part);

}  // namespace evener::task
