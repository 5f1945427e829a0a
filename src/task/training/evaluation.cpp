#include "task/training/evaluation.h"

#include "task/detect/training_judge.h"

namespace evener::task {
namespace {

constexpr std::size_t kMostConfusedClasses = 200;

}  // namespace

std::size_t confusion_classes(std::size_t classes) {
  return classes <= kMostConfusedClasses ? classes : 0;
}

double Evaluation::quality() const {
  if (accuracy) return *accuracy;
  const auto found = figures.find("map_50");
  return found == figures.end() ? 0 : found->second;
}

std::map<std::string, double> loss_figures(const engine::Sums& sums) {
  std::map<std::string, double> figures;
  for (const char* name : {"box_loss", "class_loss"}) {
    if (const auto mean = sums.mean(name)) figures.emplace(name, *mean);
  }
  return figures;
}

void add_figures(std::map<std::string, double>& to, const std::string& part,
                 const std::map<std::string, double>& figures) {
  for (const auto& [name, value] : figures) to[part + "_" + name] = value;
}

Evaluation evaluation_of(const parallel::EvaluationResult& result, EvaluationPart part) {
  Evaluation evaluation;
  evaluation.loss = result.sums.mean("loss").value_or(0);
  if (result.verdicts.empty()) {
    evaluation.accuracy = result.sums.mean("correct").value_or(0);
  } else {
    const CocoSummary quality = quality_of_verdicts(result.verdicts).coco;
    evaluation.figures = loss_figures(result.sums);
    if (quality.ap_50) evaluation.figures.emplace("map_50", *quality.ap_50);
    if (quality.ap) evaluation.figures.emplace("map", *quality.ap);
  }
  evaluation.confusion.part = part == EvaluationPart::kTest ? "test" : "validation";
  const std::size_t classes = result.confusion.classes();
  for (std::size_t row = 0; row < classes; ++row) {
    auto& counts = evaluation.confusion.counts.emplace_back(classes);
    for (std::size_t column = 0; column < classes; ++column) counts[column] = result.confusion.count(row, column);
  }
  return evaluation;
}

}  // namespace evener::task
