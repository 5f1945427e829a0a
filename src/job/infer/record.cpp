#include "job/infer/record.h"

#include <fmt/format.h>

#include "job/inference/session_record.h"
#include "record/share_interval.h"

namespace evener::job {
namespace {

record::Metric accuracy(const char* name, const char* title, const char* label, std::int64_t correct,
                        std::int64_t images) {
  return {.name = name,
          .unit = "share",
          .title = title,
          .label = label,
          .role = record::MetricRole::kQuality,
          .value = static_cast<double>(correct) / static_cast<double>(images),
          .interval = record::share_interval(static_cast<double>(correct) / static_cast<double>(images), images),
          .of_images = images};
}

}  // namespace

void add_accuracies(record::Record& record, const Scores& scores) {
  record::add_metric(record, accuracy("accuracy", "accuracy", "accuracy", scores.correct, scores.images));
  record::Metric of_five =
      accuracy("top5_accuracy", "top 5", "accuracy among five", scores.correct_in_five, scores.images);
  if (scores.classes <= 5) {  // all of them are among the five
    of_five.value.reset();
    of_five.interval.reset();
    of_five.reason = fmt::format("there are {} classes, so that the true one is always among five", scores.classes);
  }
  record::add_metric(record, std::move(of_five));
}

void fill_inference_results(record::Record& record, const std::string& part, const task::InferResult& result,
                            const InferSinks& sinks, const std::vector<double>& network_rates) {
  fill_inference_speeds(record, result, sinks.times_s(), network_rates);
  if (const UnknownCount unknown = sinks.unknown(); unknown.images > 0) {
    const double share = static_cast<double>(unknown.unknown) / static_cast<double>(unknown.images);
    record::add_metric(record, {.name = "called_unknown",
                                .unit = "share",
                                .title = "",
                                .label = "images called unknown",
                                .better = record::Better::kLower,
                                .value = share,
                                .interval = record::share_interval(share, unknown.images),
                                .of_images = unknown.images});
  }
  const Scores& scores = sinks.scores();
  if (scores.images == 0) return;
  record.confusion = {part, scores.confusion};
  add_accuracies(record, scores);
}

}  // namespace evener::job
