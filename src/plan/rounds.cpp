#include "plan/rounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/statistics.h"
#include "record/statistics.h"

namespace evener::plan {
namespace {

double mean_of(const std::vector<double>& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

}  // namespace

const Trial& Rounds::widest() const {
  return *std::ranges::max_element(trials, {}, [](const Trial& trial) { return trial.timings.back().images; });
}

StepModel Rounds::step() const {
  std::vector<Timing> means;
  for (const Timing& size : widest().timings) {
    Timing mean{size.images, 0};
    double count = 0;
    for (const Trial& trial : trials) {
      for (const Timing& other : trial.timings) {
        if (other.images != size.images) continue;
        mean.seconds += other.seconds;
        ++count;
      }
    }
    mean.seconds /= count;
    means.push_back(mean);
  }
  return fit_step(means);
}

std::optional<double> Rounds::noise() const {
  std::vector<double> blocks;
  double low = 0, high = 0;
  for (const Trial& trial : trials) {
    if (!is_widest(trial)) continue;
    const double step_s = trial.timings.back().seconds;
    low = low == 0 ? step_s : std::min(low, step_s);
    high = std::max(high, step_s);
    blocks.insert(blocks.end(), trial.blocks.begin(), trial.blocks.end());
  }
  const auto interval = record::median_interval(blocks);
  const double typical_s = median(blocks).value_or(0);
  if (!interval || typical_s <= 0) return std::nullopt;
  return std::max(interval->high - interval->low, high - low) / 2 / typical_s;
}

std::optional<double> Rounds::watts() const {
  double joules = 0, seconds = 0;
  for (const Trial& trial : trials) {
    if (!is_widest(trial) || trial.power.watts.empty()) continue;
    joules += mean_of(trial.power.watts) * trial.power.seconds;
    seconds += trial.power.seconds;
  }
  return seconds > 0 ? std::optional(joules / seconds) : std::nullopt;
}

std::optional<double> Rounds::watts_noise() const {
  constexpr std::size_t kFewest = 5;
  std::vector<double> all;
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const Trial& trial : trials) {
    if (!is_widest(trial) || trial.power.watts.empty()) continue;
    all.insert(all.end(), trial.power.watts.begin(), trial.power.watts.end());
    low = std::min(low, mean_of(trial.power.watts));
    high = std::max(high, mean_of(trial.power.watts));
  }
  if (all.size() < kFewest) return std::nullopt;
  const double mean = mean_of(all), count = static_cast<double>(all.size());
  double squares = 0;
  for (const double watts : all) squares += (watts - mean) * (watts - mean);
  const double half = student_quantile(0.975, count - 1) * std::sqrt(squares / (count - 1) / count);
  return mean > 0 ? std::optional(std::max(half, (high - low) / 2) / mean) : std::nullopt;
}

bool Rounds::is_widest(const Trial& trial) const {
  return trial.timings.back().images == widest().timings.back().images;
}

}  // namespace evener::plan
