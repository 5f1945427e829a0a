#include "record/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/statistics.h"
#include "record/record.h"
#include "record/record_kind.h"

namespace evener::record {
namespace {

Metric images_per_s(const Record& record) {
  const Throughput& rate = record.images_per_s;
  return {.name = "images_per_s",
          .unit = "images/s",
          .title = "images/s",
          .label = kind_of(record).speed_label,
          .role = MetricRole::kSpeed,
          .value = rate.median,
          .samples = rate.samples,
          .interval = rate.interval,
          .over = rate.over,
          .reason = rate.reason};
}

Metric cost(const char* name, const char* unit, const char* title, std::string label, std::optional<double> value,
            std::string reason = "") {
  return {.name = name,
          .unit = unit,
          .title = title,
          .label = std::move(label),
          .better = Better::kLower,
          .value = value,
          .reason = std::move(reason)};
}

/// The reason of an absent value; "" for none.
std::string why_missing(const Record& record, const char* path) {
  const auto found = record.missing.find(path);
  return found == record.missing.end() ? "" : found->second;
}

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

std::vector<Metric> training_metrics(const Record& record) {
  const auto quality = [&](const char* name, const char* title, const char* label, const std::optional<double>& value,
                           const std::optional<std::int64_t>& images, const char* path) {
    return Metric{.name = name,
                  .unit = "share",
                  .title = title,
                  .label = label,
                  .role = MetricRole::kQuality,
                  .value = value,
                  .of_images = images,
                  .reason = why_missing(record, path)};
  };
  Metric overall{.name = kOverallSpeed, .unit = "images/s", .title = "", .label = "images over seconds of training"};
  overall.value = overall_images_per_s(record);
  Metric val = quality("best_val_accuracy", "best val", "validation accuracy", best_val_accuracy(record),
                       record.data.val, "accuracy.val");
  val.stands_in_for = "test_accuracy";
  return {cost("seconds_per_epoch", "s", "s/epoch", "time per epoch", seconds_per_epoch(record)), overall,
          cost("train_s", "s", "", "time of training", record.times.train), val,
          quality("test_accuracy", "test", "test accuracy", record.training.accuracy.test, record.data.test,
                  "accuracy.test")};
}

/// Joules of the work on an image that was computed: trained on or answered.
std::optional<double> joules_per_image(const Record& record) {
  double images = 0;
  for (const SessionRecord& session : record.sessions) images += static_cast<double>(session.images);
  return per_image(record.energy.work_joules, images);
}

Metric images_per_joule(const Record& record) {
  Metric metric{.name = "images_per_joule", .unit = "images/J", .title = "", .label = "images per joule of the work"};
  const std::optional<double> joules = joules_per_image(record);
  if (joules && *joules > 0) metric.value = 1 / *joules;
  const Energy& energy = record.energy;
  metric.reason = metric.value                 ? ""
                  : !energy.joules             ? energy.reason
                  : energy.work_joules         ? "no images were counted"
                  : energy.work_reason.empty() ? "this record doesn't tell the energy of the work alone"
                                               : energy.work_reason;
  return metric;
}

/// With the class of the joules, where there are any.
std::string energy_label(const Energy& energy) {
  return energy.joules ? fmt::format("energy ({})", energy_class_name(energy.kind)) : "energy";
}

/// The metrics of every run, whatever its task.
std::vector<Metric> costs(const Record& record) {
  const Energy& energy = record.energy;
  std::optional<double> peak_bytes;
  if (record.memory.peak_rss_bytes) peak_bytes = static_cast<double>(*record.memory.peak_rss_bytes);
  return {
      cost("total_s", "s", "", "total time", record.times.total),
      cost("peak_rss_bytes", "bytes", "peak memory", "peak memory", peak_bytes,
           why_missing(record, "memory.peak_rss_bytes")),
      cost("cpu_seconds", "s", "", "CPU time", record.cpu.seconds),
      cost("energy_joules", "J", "energy", energy_label(record.energy), record.energy.joules, record.energy.reason),
      cost("edp_joule_seconds", "J s", "", "energy-delay product", record.energy.edp_js, record.energy.reason),
      cost("ed2p_joule_square_seconds", "J s2", "", "energy-delay-squared product", record.energy.ed2p_js2,
           record.energy.reason),
      cost("used_devices_joules", "J", "", "energy of the devices that were used", energy.used_joules,
           energy.joules ? energy.used_reason : energy.reason),
      cost("used_devices_edp_joule_seconds", "J s", "", "energy-delay product of the devices that were used",
           energy.used_edp_js, energy.joules ? energy.used_reason : energy.reason),
      cost("net_energy_joules", "J", record.energy.net_joules ? "net energy" : "", "energy without idle power",
           record.energy.net_joules, record.energy.joules ? record.energy.net_reason : record.energy.reason),
      cost("process_joules", "J", "", "energy of the processor by this program's share of CPU time (derived)",
           energy.process_joules, energy.joules ? energy.process_reason : energy.reason),
      images_per_joule(record),
  };
}

/// The metrics with keys of their own in record.json; the task's own come between the speed and the costs.
std::vector<Metric> own_metrics(const Record& record, std::vector<Metric> others) {
  std::vector<Metric> metrics;
  const Throughput& rate = record.images_per_s;
  if (record.kind == kTrainingKind.name || rate.median || !rate.reason.empty()) metrics.push_back(images_per_s(record));
  const auto append = [&](std::vector<Metric> more) {
    metrics.insert(metrics.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  if (record.kind == kTrainingKind.name) append(training_metrics(record));
  append(std::move(others));
  append(costs(record));
  return metrics;
}

/// The samples as rates, for which higher is better: inverted if lower is better.
std::vector<double> rates_of(const Metric& metric) {
  std::vector<double> rates = metric.samples;
  if (metric.better == Better::kLower) {
    for (double& sample : rates) sample = 1 / sample;
  }
  return rates;
}

}  // namespace

const char* better_name(Better better) {
  return better == Better::kHigher ? "higher" : "lower";
}

const char* role_name(MetricRole role) {
  return name_in({"speed", "quality", "cost"}, role);
}

std::vector<Metric> metrics_of(const Record& record) {
  std::vector<Metric> others;
  for (const auto& [name, metric] : record.metrics) others.push_back(metric);
  return own_metrics(record, std::move(others));
}

std::string energy_text(const Record& record) {
  const std::string lacks = lacks_text(record.energy);
  if (!record.energy.joules) {
    return !record.energy.lost.empty() ? "not known: " + record.energy.lost.front()
           : lacks.empty()             ? ""
                                       : "not known, " + lacks;
  }
  const double joules = *record.energy.joules;
  std::string text = fmt::format("{} ({})", joules_text(joules), energy_class_name(record.energy.kind));
  if (const auto each = joules_per_image(record)) text += fmt::format(", {} an image", joules_text(*each));
  return lacks.empty() ? text : text + ", " + lacks;
}

const Metric* main_speed(const std::vector<Metric>& metrics) {
  const auto found = std::ranges::find(metrics, MetricRole::kSpeed, &Metric::role);
  return found == metrics.end() ? nullptr : &*found;
}

const Metric* find_metric(const std::vector<Metric>& metrics, const std::string& name) {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  return found == metrics.end() ? nullptr : &*found;
}

void add_metric(Record& record, Metric metric) {
  const bool taken = metric.name == "images_per_s" || find_metric(metrics_of(record), metric.name) != nullptr;
  if (metric.name.empty() || taken) {
    throw Error("a record can't have a second figure that is named '" + metric.name + "'; give it another name");
  }
  record.metrics.emplace(metric.name, std::move(metric));
}

std::string median_text(std::size_t samples, const std::string& over) {
  if (samples == 1) return "a single sample";
  return fmt::format("the median of {} {}", samples, over.empty() ? "samples" : over);
}

std::string spread_text(const Metric& metric) {
  const auto all = range(metric.samples);
  if (!all) return "";
  const std::string text = median_text(metric.samples.size(), metric.over);
  if (metric.samples.size() == 1) return text;
  const Interval ends = metric.interval.value_or(*all);
  return fmt::format("{}; {}: {} to {}", text, metric.interval ? "95 %" : "their range", si_text(ends.low),
                     si_text(ends.high));
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

Comparison compare_speeds(const Metric& baseline, const Metric& candidate) {
  return compare_rates(rates_of(baseline), rates_of(candidate));
}

std::optional<double> speed_ratio(const Metric& baseline, const Metric& candidate) {
  if (!baseline.value || !candidate.value || *baseline.value <= 0) return std::nullopt;
  if (candidate.better == Better::kHigher) return *candidate.value / *baseline.value;
  if (*candidate.value <= 0) return std::nullopt;
  return *baseline.value / *candidate.value;
}

Metric quality_share(std::string name, std::string title, std::string label, std::optional<double> value,
                     std::optional<std::int64_t> of_images) {
  return {.name = std::move(name),
          .unit = "share",
          .title = std::move(title),
          .label = std::move(label),
          .role = MetricRole::kQuality,
          .value = value,
          .of_images = of_images};
}

Metric plain_number(std::string name, std::string title, std::string label, std::optional<double> value) {
  return {.name = std::move(name), .unit = "", .title = std::move(title), .label = std::move(label), .value = value};
}

}  // namespace evener::record
