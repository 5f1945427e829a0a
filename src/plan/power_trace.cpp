#include "plan/power_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/clock.h"
#include "base/names.h"
#include "placement/machine.h"

namespace evener::plan {
namespace {

constexpr double kInterval_s = 0.05;
/// Parts are at least so long: a processor's stated power follows its usage, which is counted in ticks of 10 ms.
constexpr double kShortestPart_s = 0.1;
constexpr std::size_t kMostParts = 20, kFewestParts = 3;

/// The energy until `at_s`, on a line between two readings.
EnergyReading reading_at(const std::vector<EnergyReading>& readings, double at_s) {
  const auto after = std::ranges::upper_bound(readings, at_s, {}, &EnergyReading::at_s);
  if (after == readings.begin()) return readings.front();
  if (after == readings.end()) return readings.back();
  const EnergyReading &from = *(after - 1), &to = *after;
  const double share = (at_s - from.at_s) / (to.at_s - from.at_s);
  return {at_s, std::lerp(from.joules, to.joules, share), std::lerp(from.used_joules, to.used_joules, share)};
}

/// Whether the plan leaves the device of this channel idle: a GPU that it doesn't compute on.
bool leaves_idle(const placement::Plan& plan, const measure::EnergyMeter::Now& channel) {
  if (channel.name.starts_with("idle gpu")) return true;  // of stated powers, which know the plan
  if (channel.covers != record::Covers::kGpu || channel.kind == record::EnergyClass::kEstimated) return false;
  const auto& cards = placement::machine().cuda.devices;
  for (const auto& replica : plan.replicas) {
    for (const auto& stage : replica.stages) {
      if (stage.device.kind != DeviceKind::kCuda) continue;
      const auto index = static_cast<std::size_t>(stage.device.index);
      const bool by_uuid = !channel.uuid.empty() && index < cards.size() && !cards[index].uuid.empty();
      if (by_uuid ? cards[index].uuid == channel.uuid : channel.name == fmt::format("gpu {}", index)) return false;
    }
  }
  return true;
}

}  // namespace

TrialPower power_between(const std::vector<EnergyReading>& readings, double begin_s, double end_s, double step_s) {
  TrialPower power;
  const double part_s = std::max(step_s, kShortestPart_s);
  const auto parts = std::min(kMostParts, static_cast<std::size_t>(std::max(0.0, (end_s - begin_s) / part_s)));
  if (parts < kFewestParts || readings.size() < 2) {
    power.reason =
        fmt::format("the steps took {}, in which a sensor that has a new value every {} can't tell the power",
                    duration_text(end_s - begin_s), duration_text(part_s));
    return power;
  }
  const double seconds = (end_s - begin_s) / static_cast<double>(parts);
  EnergyReading from = reading_at(readings, begin_s);
  const EnergyReading first = from;
  for (std::size_t part = 1; part <= parts; ++part) {
    const EnergyReading to = reading_at(readings, begin_s + seconds * static_cast<double>(part));
    power.watts.push_back((to.joules - from.joules) / seconds);
    from = to;
  }
  power.seconds = end_s - begin_s;
  const double joules = from.joules - first.joules;
  if (joules > 0) power.used_share = (from.used_joules - first.used_joules) / joules;
  return power;
}

PowerTrace::PowerTrace(measure::EnergyMeter& meter, const placement::Plan& plan, double step_s)
    : meter_(meter), plan_(plan), step_s_(step_s) {
  if (meter.refusal().empty()) thread_ = std::jthread([this](const std::stop_token& stopping) { follow(stopping); });
}

void PowerTrace::follow(const std::stop_token& stopping) {
  while (!stopping.stop_requested()) {
    read();
    std::this_thread::sleep_for(std::chrono::duration<double>(kInterval_s));
  }
  read();
}

void PowerTrace::read() {
  meter_.poll();
  EnergyReading reading{.at_s = now_s()};
  if (!meter_.joules_so_far()) {
    lost_ = "a sensor could not be followed";
    return;
  }
  record::EnergyClass kind = record::EnergyClass::kAbsent;
  for (const measure::EnergyMeter::Now& channel : meter_.now()) {
    if (!channel.added) continue;
    reading.joules += channel.joules;
    if (!leaves_idle(plan_, channel)) reading.used_joules += channel.joules;
    kind = record::together(kind, channel.kind);
  }
  kind_ = kind;
  readings_.push_back(reading);
}

void PowerTrace::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

TrialPower PowerTrace::power(double begin_s, double end_s) {
  stop();
  TrialPower power;
  if (!meter_.refusal().empty()) {
    power.reason = meter_.refusal();
  } else if (!lost_.empty()) {
    power.reason = lost_;
  } else {
    power = power_between(readings_, begin_s, end_s, step_s_);
    power.kind = kind_;
  }
  return power;
}

}  // namespace evener::plan
