#include "report/figures.h"

#include <algorithm>
#include <vector>

#include "base/statistics.h"

namespace evener::report {

std::optional<double> seconds_per_epoch(const measure::Record& record) {
  std::vector<double> seconds;
  for (const measure::EpochRecord& epoch : record.epochs) {
    if (epoch.seconds) seconds.push_back(*epoch.seconds);
  }
  if (seconds.size() > 1) seconds.erase(seconds.begin());
  return median(seconds);
}

std::optional<double> best_val_accuracy(const measure::Record& record) {
  if (record.accuracy.val) return record.accuracy.val;
  std::optional<double> best;
  for (const measure::EpochRecord& epoch : record.epochs) {
    if (epoch.val_accuracy) best = std::max(best.value_or(0), *epoch.val_accuracy);
  }
  return best;
}

std::optional<std::int64_t> overfitting_epoch(const measure::Record& record) {
  constexpr double kRise = 1.1;
  const measure::EpochRecord *lowest = nullptr, *last = nullptr;
  for (const auto& epoch : record.epochs) {
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

const measure::Record& base_of(std::span<const Run> runs, const Run& run) {
  const auto base =
      std::find_if(runs.begin(), runs.end(), [&](const Run& known) { return same_job(known.record, run.record); });
  return base == runs.end() ? run.record : base->record;
}

std::optional<double> speed_against(const measure::Record& record, const measure::Record& base) {
  const std::optional<double>& rate = record.images_per_s.median;
  const std::optional<double>& base_rate = base.images_per_s.median;
  if (!rate || !base_rate || *base_rate <= 0) return std::nullopt;
  return *rate / *base_rate;
}

std::optional<double> other_s(const measure::Record& record) {
  if (!record.times.total || record.phases_s.empty()) return std::nullopt;
  double covered = 0;
  for (const auto& [phase, seconds] : record.phases_s) covered += seconds;
  return std::max(0.0, *record.times.total - covered);
}

std::string validity_text(const measure::Record& record) {
  if (!record.validity.valid) return "-";
  return *record.validity.valid ? "VALID" : "INVALID";
}

bool same_job(const measure::Record& a, const measure::Record& b) {
  return a.kind == b.kind && a.model.name == b.model.name && a.data.location == b.data.location &&
         a.data.shape == b.data.shape;
}

std::string job_text(const measure::Record& record) {
  return record.model.name + " on " + record.data.location;
}

}  // namespace evener::report
