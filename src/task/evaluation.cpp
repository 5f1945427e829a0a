#include "task/evaluation.h"

namespace evener::task {
namespace {

constexpr std::size_t kMostConfusedClasses = 200;

}  // namespace

std::size_t confusion_classes(std::size_t classes) {
  return classes <= kMostConfusedClasses ? classes : 0;
}

Evaluation evaluation_of(const parallel::EvaluationResult& result, EvaluationPart part) {
  Evaluation evaluation;
  evaluation.loss = result.sums.mean("loss").value_or(0);
  evaluation.accuracy = result.sums.mean("correct").value_or(0);
  evaluation.confusion.part = part == EvaluationPart::kTest ? "test" : "validation";
  const std::size_t classes = result.confusion.classes();
  for (std::size_t row = 0; row < classes; ++row) {
    auto& counts = evaluation.confusion.counts.emplace_back(classes);
    for (std::size_t column = 0; column < classes; ++column) counts[column] = result.confusion.count(row, column);
  }
  return evaluation;
}

}  // namespace evener::task
