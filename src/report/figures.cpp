#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/names.h"
#include "record/validity.h"
#include "report/format.h"

namespace evener::report {

std::string cell_text(const record::Metric& metric, const char* missing) {
  if (!metric.value) return metric.unit == "J" ? "absent" : missing;
  if (metric.unit == "share") return percent_text(*metric.value);
  if (metric.unit == "bytes") return bytes_text(static_cast<std::uint64_t>(std::max(0.0, *metric.value)));
  if (metric.unit == "J") return si_text(*metric.value, "J");
  return number_text(*metric.value);
}

std::string figure_text(const record::Metric& metric, const char* missing) {
  const bool has_unit = !metric.value || metric.unit == "share" || metric.unit == "bytes" || metric.unit == "J";
  if (has_unit || metric.unit.empty()) return cell_text(metric, missing);
  if (metric.unit == "s") return duration_text(*metric.value);
  return number_text(*metric.value) + " " + metric.unit;
}

bool has_value(const std::vector<record::Metric>& metrics, const std::string& name) {
  const record::Metric* metric = record::find_metric(metrics, name);
  return metric != nullptr && metric->value.has_value();
}

std::optional<std::int64_t> overfitting_epoch(const record::Record& record) {
  constexpr double kRise = 1.1;
  const record::EpochRecord *lowest = nullptr, *last = nullptr;
  for (const auto& epoch : record.training.epochs) {
    if (!epoch.val_loss || !epoch.train_loss) continue;
    if (lowest == nullptr || *epoch.val_loss < *lowest->val_loss) lowest = &epoch;
    last = &epoch;
  }
  if (lowest == last || *last->val_loss <= kRise * *lowest->val_loss) return std::nullopt;
  return *last->train_loss < *lowest->train_loss ? std::optional(lowest->epoch) : std::nullopt;
}

std::vector<std::vector<std::size_t>> jobs_of(std::span<const Run> runs) {
  std::vector<std::vector<std::size_t>> jobs;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const std::vector<std::size_t>& known) {
      return same_job(runs[known.front()].record, runs[n].record);
    });
    if (job == jobs.end()) {
      jobs.push_back({n});
    } else {
      job->push_back(n);
    }
  }
  return jobs;
}

const record::Record& base_of(std::span<const Run> runs, const Run& run) {
  const auto base =
      std::find_if(runs.begin(), runs.end(), [&](const Run& known) { return same_job(known.record, run.record); });
  return base == runs.end() ? run.record : base->record;
}

bool is_alone(std::span<const Run> runs, const Run& run) {
  return std::ranges::count_if(runs, [&](const Run& known) { return same_job(known.record, run.record); }) <= 1;
}

std::optional<double> speed_against(const record::Record& record, const record::Record& base) {
  const std::vector<record::Metric> metrics = record::metrics_of(record), base_metrics = record::metrics_of(base);
  const record::Metric *speed = record::main_speed(metrics), *base_speed = record::main_speed(base_metrics);
  if (speed == nullptr || base_speed == nullptr || speed->name != base_speed->name) return std::nullopt;
  return record::speed_ratio(*base_speed, *speed);
}

std::optional<double> edp_against(const record::Record& record, const record::Record& base, bool used_only) {
  const auto edp = [&](const record::Record& of) { return used_only ? of.energy.used_edp_js : of.energy.edp_js; };
  if (!edp(record) || !edp(base) || *edp(base) <= 0) return std::nullopt;
  return *edp(record) / *edp(base);
}

std::optional<double> other_s(const record::Record& record) {
  if (!record.times.total || record.phases_s.empty()) return std::nullopt;
  double covered = 0;
  for (const auto& [phase, seconds] : record.phases_s) covered += seconds;
  return std::max(0.0, *record.times.total - covered);
}

std::string validity_text(const record::Record& record) {
  if (!record.validity.valid) return "-";
  if (*record.validity.valid) return "VALID";
  if (!is_told_in_passing(record)) return "INVALID";
  std::vector<std::string> words;
  for (const auto& reason : record.validity.reasons) {
    const char* const word = record::validity_rule(reason.rule).in_passing;
    if (std::ranges::find(words, word) == words.end()) words.emplace_back(word);
  }
  return listed(words);
}

bool is_told_in_passing(const record::Record& record) {
  const auto& reasons = record.validity.reasons;
  return !reasons.empty() && std::ranges::all_of(reasons, [](const record::ValidityReason& reason) {
    return *record::validity_rule(reason.rule).in_passing != '\0';
  });
}

std::string load_text(const std::optional<double>& percent) {
  return record::kBesideOthers + (percent ? fmt::format(" ({:.0f} % of the CPUs)", *percent) : "");
}

bool same_job(const record::Record& a, const record::Record& b) {
  const auto scenario = [](const record::Record& record) {
    const record::ScenarioRecord& asked = record.scenario;
    return std::tie(asked.name, asked.percentile, asked.latency_limit_s, asked.samples_per_query);
  };
  return a.kind == b.kind && a.model.name == b.model.name && a.data.location == b.data.location &&
         a.data.shape == b.data.shape && scenario(a) == scenario(b);
}

std::string job_text(const record::Record& record) {
  const std::string job = record.model.name + " on " + record.data.location;
  return record.scenario.empty() ? job : job + ", " + record.scenario.name;
}

}  // namespace evener::report
