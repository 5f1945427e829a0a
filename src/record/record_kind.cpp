#include "record/record_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "base/statistics.h"

namespace evener::record {
namespace {

const RecordKind kOtherKind{.name = "",
                            .does = "runs",
                            .did = "ran",
                            .speed_label = "speed",
                            .do_more = "let the run work on more images",
                            .amount = [](const Record&) { return std::string(); },
                            .metrics = [](const Record&) { return std::vector<Metric>(); }};

/// The unit of work in a scenario; a single query may ask for many images.
std::string images_text(const Record& record) {
  const ScenarioRecord& scenario = record.scenario;
  if (scenario.queries > 1) return std::to_string(scenario.queries) + " queries";
  if (!scenario.empty()) return std::to_string(scenario.samples) + " images";
  if (!record.data.images) return "";
  return std::to_string(*record.data.images) + (*record.data.images == 1 ? " image" : " images");
}

const RecordKind kFacesKind{.name = "faces",
                            .does = "looks at photos",
                            .did = "looked at",
                            .speed_label = "speed from photos to faces",
                            .do_more = "give it more photos",
                            .amount =
                                [](const Record& record) {
                                  if (!record.data.images) return std::string();
                                  return std::to_string(*record.data.images) +
                                         (*record.data.images == 1 ? " photo" : " photos");
                                },
                            .metrics = [](const Record&) { return std::vector<Metric>(); }};

/// Median training seconds per epoch, without the first (warm-up) if there are more.
std::optional<double> seconds_per_epoch(const Record& record) {
  std::vector<double> seconds;
  for (const EpochRecord& epoch : record.training.epochs) {
    if (epoch.seconds) seconds.push_back(*epoch.seconds);
  }
  if (seconds.size() > 1) seconds.erase(seconds.begin());
  return median(seconds);
}

/// All training images over all training seconds, warm-up included.
std::optional<double> overall_images_per_s(const Record& record) {
  double images = 0, seconds = 0;
  for (const EpochRecord& epoch : record.training.epochs) {
    if (!epoch.images_per_s || !epoch.seconds) continue;
    images += *epoch.images_per_s * *epoch.seconds;
    seconds += *epoch.seconds;
  }
  return seconds > 0 ? std::optional(images / seconds) : std::nullopt;
}

/// The validation accuracy of the record, or the highest of its epochs.
std::optional<double> best_val_accuracy(const Record& record) {
  if (record.training.accuracy.val) return record.training.accuracy.val;
  std::optional<double> best;
  for (const EpochRecord& epoch : record.training.epochs) {
    if (epoch.val_accuracy) best = std::max(best.value_or(0), *epoch.val_accuracy);
  }
  return best;
}

std::string reason_of(const Record& record, const char* path) {
  const auto found = record.missing.find(path);
  return found == record.missing.end() ? "" : found->second;
}

std::vector<Metric> training_metrics(const Record& record) {
  return {{.name = "seconds_per_epoch",
           .unit = "s",
           .title = "s/epoch",
           .label = "time per epoch",
           .better = Better::kLower,
           .value = seconds_per_epoch(record)},
          {.name = kOverallSpeed,
           .unit = "images/s",
           .title = "",
           .label = "images over seconds of training",
           .role = MetricRole::kCost,
           .value = overall_images_per_s(record)},
          {.name = "train_s",
           .unit = "s",
           .title = "",
           .label = "time of training",
           .better = Better::kLower,
           .value = record.times.train},
          {.name = "best_val_accuracy",
           .unit = "share",
           .title = "best val",
           .label = "validation accuracy",
           .role = MetricRole::kQuality,
           .value = best_val_accuracy(record),
           .of_images = record.data.val,
           .stands_in_for = "test_accuracy",
           .reason = reason_of(record, "accuracy.val")},
          {.name = "test_accuracy",
           .unit = "share",
           .title = "test",
           .label = "test accuracy",
           .role = MetricRole::kQuality,
           .value = record.training.accuracy.test,
           .of_images = record.data.test,
           .reason = reason_of(record, "accuracy.test")}};
}

std::string epochs_text(const Record& record) {
  const std::size_t count = record.training.epochs.size();
  return std::to_string(count) + (count == 1 ? " epoch" : " epochs");
}

}  // namespace

const RecordKind kInferenceKind{.name = "infer",
                                .does = "answers",
                                .did = "answered",
                                .speed_label = "speed from files to answers",
                                .do_more = "give it more images",
                                .amount = images_text,
                                .metrics = [](const Record&) { return std::vector<Metric>(); }};

const RecordKind kDetectionKind{.name = "detect",
                                .does = "looks at images",
                                .did = "looked at",
                                .speed_label = "speed from files to boxes",
                                .do_more = "give it more images",
                                .amount = images_text,
                                .metrics = [](const Record&) { return std::vector<Metric>(); }};

const RecordKind kMatmulKind{.name = "matmul",
                             .does = "multiplies matrices",
                             .did = "multiplied matrices",
                             .speed_label = "speed of products",
                             .do_more = "give it more --repeats",
                             .amount = [](const Record&) { return std::string(); },
                             .metrics = [](const Record&) { return std::vector<Metric>(); }};

const RecordKind& kind_of(const Record& record) {
  for (const RecordKind* kind : {&kTrainingKind, &kInferenceKind, &kDetectionKind, &kMatmulKind, &kFacesKind}) {
    if (record.kind == kind->name) return *kind;
  }
  return kOtherKind;
}

std::string speed_note(const Record& record) {
  constexpr double kRemarkable = 0.1;
  const std::optional<double> overall = overall_images_per_s(record);
  const std::optional<double> median = record.images_per_s.median;
  if (!overall || !median || *overall <= 0 || std::abs(*overall / *median - 1) <= kRemarkable) return "";
  return fmt::format(
      "all images over all seconds of training are {} images/s, {:.0f} % {} than the training speed, which is {}: the "
      "warm-up and steps that last longer than most count in the one and not in the other",
      si_text(*overall), 100 * std::abs(*overall / *median - 1), *overall < *median ? "less" : "more",
      median_text(record.images_per_s.samples.size(), record.images_per_s.over));
}

const RecordKind kTrainingKind{.name = "train",
                               .does = "trains",
                               .did = "trained",
                               .speed_label = "training speed",
                               .do_more = "train more epochs, or on more images",
                               .amount = epochs_text,
                               .metrics = training_metrics};

}  // namespace evener::record
