#include "train/steps/evaluation.h"

#include <fmt/format.h>

#include "base/names.h"
#include "base/plural.h"
#include "base/terminal_text.h"
#include "detect/judge/average_precision.h"

namespace evener::training {
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
    const detection::CocoSummary quality = detection::quality_of_verdicts(result.verdicts).coco;
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

std::string patience_lost_text(const Progress& progress, const std::string& quality, int patience) {
  return fmt::format(
      "early stopping after epoch {}: for {} neither a higher validation {} than that of epoch {}, {:.4g}, nor the "
      "same with a lower loss than {:.4g} (--patience)",
      progress.epoch, counted(patience, "epoch"), quality, progress.best_epoch, progress.best_accuracy,
      progress.best_loss);
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
         " of " + std::to_string(steps_per_epoch) + "; evener train --resume " + shell_word(out.string()) + " goes on";
}

}  // namespace evener::training
