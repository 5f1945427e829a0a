// The JSON that page/plots.js.inc draws: one object per run, with lists of numbers in which null is a missing value.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "report/curves.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/json_value.h"
#include "report/latencies.h"
#include "report/ways.h"

namespace evener::report {
namespace {

using Json = nlohmann::ordered_json;
using record::EpochRecord;
using record::Record;

/// The most rows of samples per run in a plot; more are averaged.
constexpr std::size_t kMostSamples = 1500;
/// If the durations of runs differ by more than this factor, phases are first shown as shares: in seconds the short run
/// would be invisible.
constexpr double kComparableLengths = 4;

struct PhaseColor {
  const char* name;
  const char* color;
  bool dark_text;
};
/// Phases in the order of the bars, with Okabe-Ito's colours for common ones and Tol's muted colours for the rest.
constexpr std::array<PhaseColor, 13> kPhaseColors{{{"spawn", "#666666", false},
                                                   {"connect", "#999999", true},
                                                   {"read", "#e69f00", true},
                                                   {"decode", "#f0e442", true},
                                                   {"augment", "#999933", true},
                                                   {"h2d", "#44aa99", true},
                                                   {"forward", "#0072b2", false},
                                                   {"backward", "#56b4e9", true},
                                                   {"exchange", "#882255", false},
                                                   {"update", "#009e73", false},
                                                   {"evaluate", "#cc79a7", true},
                                                   {"d2h", "#d55e00", true},
                                                   {"other", "#b8c0cc", true}}};

template <typename Field>
Json epoch_column(const Record& record, Field field) {
  Json column = Json::array();
  for (const EpochRecord& epoch : record.training.epochs) column.push_back(value_or_null(epoch.*field));
  return column;
}

Json epochs_data(const Record& record) {
  Json epochs = Json::array();
  for (const EpochRecord& epoch : record.training.epochs) epochs.push_back(epoch.epoch);
  return {{"epoch", epochs},
          {"train_loss", epoch_column(record, &EpochRecord::train_loss)},
          {"train_accuracy", epoch_column(record, &EpochRecord::train_accuracy)},
          {"val_loss", epoch_column(record, &EpochRecord::val_loss)},
          {"val_accuracy", epoch_column(record, &EpochRecord::val_accuracy)}};
}

/// Phases under the page's names: lower case ("H2D" -> "h2d"), unknown ones added to "other".
Json phases_data(const std::map<std::string, double>& seconds, const std::optional<double>& other) {
  std::map<std::string, double> sums;
  for (const auto& [name, value] : seconds) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    const bool known = std::any_of(kPhaseColors.begin(), kPhaseColors.end(),
                                   [&](const PhaseColor& phase) { return lower == phase.name; });
    sums[known ? lower : "other"] += value;
  }
  if (other) sums["other"] += *other;
  Json json = Json::object();
  for (const auto& [name, value] : sums) json[name] = value;
  return json;
}

/// Means of `bucket` neighbouring values; missing ones are skipped.
Json thinned(const std::vector<std::optional<double>>& values, std::size_t bucket) {
  Json json = Json::array();
  for (std::size_t begin = 0; begin < values.size(); begin += bucket) {
    double sum = 0;
    int count = 0;
    for (std::size_t n = begin; n < std::min(begin + bucket, values.size()); ++n) {
      if (!values[n]) continue;
      sum += *values[n];
      ++count;
    }
    json.push_back(count > 0 ? Json(sum / count) : Json(nullptr));
  }
  return json;
}

/// The columns that have any value.
Json columns_data(const std::vector<Samples::Column>& columns, std::size_t bucket) {
  Json data = Json::array();
  for (const auto& [name, values] : columns) {
    const bool any = std::ranges::any_of(values, [](const auto& value) { return value && *value > 0; });
    if (any) data.push_back({{"name", name}, {"values", thinned(values, bucket)}});
  }
  return data;
}

Json samples_data(const Samples& samples) {
  const std::size_t bucket = std::max<std::size_t>(1, (samples.time_s.size() + kMostSamples - 1) / kMostSamples);
  Json time = Json::array();
  for (std::size_t n = 0; n < samples.time_s.size(); n += bucket) time.push_back(samples.time_s[n]);
  return {{"time", time},
          {"cpu", thinned(samples.cpu_percent, bucket)},
          {"others", thinned(samples.others_percent, bucket)},
          {"rss", thinned(samples.rss_bytes, bucket)},
          {"pss", thinned(samples.pss_bytes, bucket)},
          {"watts", columns_data(samples.watts, bucket)},
          {"phases", columns_data(samples.phases, bucket)}};
}

/// The speed that runs are compared by.
Json rate_data(const Record& record) {
  const std::vector<record::Metric> metrics = record::metrics_of(record);
  const record::Metric* found = record::main_speed(metrics);
  const record::Metric speed = found == nullptr ? record::Metric{} : *found;
  return {{"median", value_or_null(speed.value)},
          {"interval", ends_or_null(speed.interval)},
          {"samples", speed.samples},
          {"unit", speed.unit},
          {"text", speed.value ? number_text(*speed.value) : ""}};
}

/// The precision-recall curves of classes with true boxes; of many classes the most frequent ones.
Json detection_data(const Run& run) {
  constexpr std::size_t kMostCurves = 20;
  if (!run.detection) return nullptr;
  std::vector<const record::DetectedClass*> classes;
  for (const record::DetectedClass& one : run.detection->classes) {
    if (!one.recall.empty()) classes.push_back(&one);
  }
  if (classes.size() > kMostCurves) {
    std::ranges::stable_sort(classes, std::ranges::greater{}, &record::DetectedClass::true_boxes);
    classes.resize(kMostCurves);
  }
  Json curves = Json::array();
  for (const record::DetectedClass* one : classes) {
    curves.push_back(
        {{"name", one->name}, {"recall", one->recall}, {"precision", one->precision}, {"score", one->score}});
  }
  return curves;
}

Json run_data(std::span<const Run> runs, std::size_t n, const std::string& label) {
  const Run& run = runs[n];
  const Record& record = run.record;
  const Record& base = base_of(runs, run);
  const std::optional<double> speed = &base == &record ? std::nullopt : speed_against(record, base);
  return {{"number", n},
          {"name", run.name},
          {"label", label},
          {"color", run_color(n)},
          {"rate", rate_data(record)},
          {"speed_text", speed ? number_text(*speed) + "×" : ""},
          {"epochs", epochs_data(record)},
          {"val_epoch", value_or_null(record.training.accuracy.val_epoch)},
          {"overfitting_epoch", value_or_null(overfitting_epoch(record))},
          {"phases", phases_data(record.phases_s, other_s(record))},
          {"hidden", phases_data(record.hidden_s, std::nullopt)},
          {"samples", samples_data(run.samples)},
          {"latency", latency_data(run)},
          {"detection", detection_data(run)}};
}

bool lengths_differ(std::span<const Run> runs, const std::vector<std::size_t>& job) {
  std::vector<double> totals;
  for (const std::size_t n : job) {
    const Run& run = runs[n];
    if (run.record.times.total && !run.record.phases_s.empty()) totals.push_back(*run.record.times.total);
  }
  if (totals.empty()) return false;
  const auto [least, most] = std::minmax_element(totals.begin(), totals.end());
  return *most > kComparableLengths * *least;
}

}  // namespace

const char* run_color(std::size_t n) {
  static constexpr std::array<const char*, 8> kColors{"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                      "#d55e00", "#56b4e9", "#b8ac00", "#7f7f7f"};
  return kColors[n % kColors.size()];
}

std::string plot_data(std::span<const Run> runs) {
  Json data;
  data["phases"] = Json::array();
  for (const PhaseColor& phase : kPhaseColors) {
    data["phases"].push_back({{"name", phase.name}, {"color", phase.color}, {"dark_text", phase.dark_text}});
  }
  data["jobs"] = Json::array();
  for (const std::vector<std::size_t>& job : jobs_of(runs)) {
    data["jobs"].push_back({{"runs", job},
                            {"title", job_text(runs[job.front()].record)},
                            {"accuracy_curves", coinciding(runs, job, Curve::kAccuracy)},
                            {"loss_curves", coinciding(runs, job, Curve::kLoss)},
                            {"phases_as_share", lengths_differ(runs, job)}});
  }
  data["runs"] = Json::array();
  const std::vector<std::string> labels = labels_of(runs);
  for (std::size_t n = 0; n < runs.size(); ++n) data["runs"].push_back(run_data(runs, n, labels[n]));
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace evener::report
