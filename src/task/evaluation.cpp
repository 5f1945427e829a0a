#include "task/evaluation.h"

#include <algorithm>

namespace evener::task {
namespace {

constexpr std::size_t kMostConfusedClasses = 200;

}  // namespace

std::size_t confusion_classes(std::size_t classes) {
  return classes <= kMostConfusedClasses ? classes : 0;
}

Evaluation evaluation_of(const parallel::EvaluationResult& result, EvaluationPart part, std::size_t classes) {
  Evaluation evaluation;
  const double count = static_cast<double>(std::max<std::int64_t>(1, result.sums.count));
  evaluation.loss = result.sums.loss_sum / count;
  evaluation.accuracy = static_cast<double>(result.sums.correct) / count;
  evaluation.confusion.part = part == EvaluationPart::kTest ? "test" : "validation";
  for (std::size_t row = 0; row < confusion_classes(classes); ++row) {
    const auto begin = result.confusion.begin() + static_cast<std::ptrdiff_t>(row * classes);
    evaluation.confusion.counts.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(classes));
  }
  return evaluation;
}

}  // namespace evener::task
