#include "plan/rounds.h"

#include <algorithm>

#include "base/statistics.h"
#include "record/statistics.h"

namespace evener::plan {

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
    if (trial.timings.back().images != widest().timings.back().images) continue;
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

}  // namespace evener::plan
