#include "sweep/run/pilot.h"

#include <algorithm>
#include <cmath>

#include "record/metric.h"

namespace evener::sweeps {
namespace {

constexpr int kMostPilots = 5;
constexpr double kIntervalDeviations = 2 * 1.96;  // the width of a 95 % interval of a normal figure
constexpr double kMargin = 1.2;                   // as the deviation itself is known roughly
constexpr double kLeastGrowth = 1.5, kUnknownGrowth = 4, kMostGrowth = 8;
constexpr double kHopeless = 4;        // times the longest run: more than a rough deviation is off by
constexpr double kWorthwhile = 1.2;    // a run that is hardly longer tells nothing new
constexpr double kFewestPeriods = 10;  // of a sensor within a window (see measure::ChannelMeter)

/// How many times longer the next run is.
double growth_after(const PilotRun& run, double deviation) {
  const auto needed_s = seconds_needed(run, deviation);
  const double by_speed = needed_s ? *needed_s / std::max(run.seconds, 1e-3) : kUnknownGrowth;
  return std::clamp(std::max(by_speed, kMargin * run.energy_needs), kLeastGrowth, kMostGrowth);
}

/// Two digits of a length in seconds say enough, and read well.
double rounded_up(double length, bool is_whole) {
  if (is_whole) return std::ceil(length - 1e-9);
  const double per_unit = std::pow(10, 1 - std::floor(std::log10(length)));
  return std::ceil(length * per_unit - 1e-9) / per_unit;
}

bool is_steady(const PilotRun& run, double deviation) {
  return run.deviation && *run.deviation <= deviation && run.energy_needs <= 1;
}

}  // namespace

std::optional<double> deviation_within(const record::Record& record) {
  const auto metrics = record::metrics_of(record);
  const record::Metric* speed = record::main_speed(metrics);
  if (speed == nullptr || !speed->value || *speed->value <= 0) return std::nullopt;
  const auto interval = record::median_interval(speed->samples);
  if (!interval) return std::nullopt;
  return (interval->high - interval->low) / kIntervalDeviations / *speed->value;
}

double energy_needs(const record::Record& record) {
  if (record.energy.joules || record.energy.seconds.value_or(0) <= 0) return 1;
  double longest_s = 0;
  for (const record::DeviceEnergy& device : record.energy.devices) {
    longest_s = std::max(longest_s, device.update_period_s.value_or(0));
  }
  return std::max(1.0, kFewestPeriods * longest_s / *record.energy.seconds);
}

std::optional<double> seconds_needed(const PilotRun& run, double deviation) {
  if (!run.deviation) return std::nullopt;
  return std::max(run.seconds, 1e-3) * kMargin * std::pow(*run.deviation / deviation, 2);
}

FoundLength steady_length(double length, const PilotGoal& goal, const std::function<PilotRun(double length)>& run) {
  FoundLength found{.length = length, .last = run(length)};
  for (int made = 1; found.last.failure.empty(); ++made) {
    found.is_steady = is_steady(found.last, goal.deviation);
    if (found.is_steady || made == kMostPilots) break;
    if (seconds_needed(found.last, goal.deviation).value_or(0) > kHopeless * goal.longest_run_s) break;
    const double longest = found.length * goal.longest_run_s / std::max(found.last.seconds, 1e-3);
    double next = rounded_up(found.length * growth_after(found.last, goal.deviation), goal.is_whole);
    if (next > longest) next = std::floor(longest);
    if (next < kWorthwhile * found.length) break;
    PilotRun longer = run(next);
    if (!longer.failure.empty()) break;  // such as for want of time: what the run before told holds
    found.length = next;
    found.last = std::move(longer);
  }
  return found;
}

}  // namespace evener::sweeps
