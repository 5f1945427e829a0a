#include "task/evaluation.h"

#include <algorithm>

#include "base/stop.h"

namespace evener::task {
namespace {

/// A table of more classes than this would be a million numbers that nobody reads.
constexpr std::size_t kMostConfusedClasses = 200;

void count_confusion(const data::Batch& batch, const std::vector<std::int32_t>& predicted, Confusion& confusion) {
  if (confusion.counts.empty()) return;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const auto found = static_cast<std::size_t>(predicted[i]);
    if (found < confusion.counts.size()) ++confusion.counts[static_cast<std::size_t>(batch.labels[i])][found];
  }
}

}  // namespace

std::optional<Evaluation> evaluate(engine::Trainer& trainer, data::Loader& loader, const char* part,
                                   const std::vector<std::uint32_t>& samples, std::size_t classes) {
  Evaluation evaluation;
  evaluation.confusion.part = part;
  if (classes <= kMostConfusedClasses) {
    evaluation.confusion.counts.assign(classes, std::vector<std::int64_t>(classes));
  }
  engine::BatchResult sums;
  std::vector<std::int32_t> predicted;
  loader.start(samples, 0);
  while (const data::Batch* batch = loader.next()) {
    if (stop_requested()) return std::nullopt;
    predicted.clear();
    sums += trainer.evaluate(*batch, &predicted);
    count_confusion(*batch, predicted, evaluation.confusion);
  }
  const double count = static_cast<double>(std::max<std::int64_t>(1, sums.count));
  evaluation.loss = sums.loss_sum / count;
  evaluation.accuracy = static_cast<double>(sums.correct) / count;
  return evaluation;
}

}  // namespace evener::task
