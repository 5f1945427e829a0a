#include "plan/looks.h"

#include <algorithm>
#include <cmath>

namespace evener::plan {

const Trial& Looks::widest() const {
  return *std::ranges::max_element(trials, {}, [](const Trial& trial) { return trial.timings.back().images; });
}

StepModel Looks::step() const {
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

double Looks::noise() const {
  double within = 0, low = 0, high = 0;
  for (const Trial& trial : trials) {
    if (trial.timings.back().images != widest().timings.back().images) continue;
    const double step_s = trial.timings.back().seconds;
    low = low == 0 ? step_s : std::min(low, step_s);
    high = std::max(high, step_s);
    within = std::max(within, trial.noise);
  }
  return std::max(within / std::sqrt(static_cast<double>(trials.size())), high > 0 ? (high - low) / (high + low) : 0);
}

}  // namespace evener::plan
