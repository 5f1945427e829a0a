#include "measure/energy_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "measure/sensors/open_sensors.h"

namespace evener::measure {
namespace {

using record::Covers;
using record::DeviceEnergy;
using record::EnergyClass;

constexpr double kShortestWindow_s = 1;
/// Power is integrated over gaps between readings of up to this many seconds, or this many of the sensor's own steps.
constexpr double kLongestPowerGap_s = 5, kLongestPowerGapSteps = 5;
/// The share of a window that may lack a known power.
constexpr double kMostUnseenShare = 0.01;
/// A change of fewer steps of a counter is too coarse to be trusted.
constexpr double kFewestSteps = 10;

}  // namespace

double EnergyMeter::Meter::joules() const {
  return channel->joules_per_count > 0 ? static_cast<double>(counts) * channel->joules_per_count : summed_j;
}

/// The counter's resolution, given by its sensor or inferred from readings: a meter that shows three decimals of a
/// kilowatt-hour stays the same most of the time and then jumps by one unit of the last digit.
double EnergyMeter::Meter::step_j() const {
  if (channel->step_j > 0) return channel->step_j;
  constexpr std::int64_t kFewestMoves = 3;  // with fewer, a common divisor means nothing
  const double of_digits_j = static_cast<double>(divisor) * channel->joules_per_count;
  if (stood_still) return std::max(of_digits_j, largest_move_j);
  return moves < kFewestMoves ? 0 : of_digits_j;
}

double EnergyMeter::Meter::longest_gap_s() const {
  return std::max(kLongestPowerGap_s, kLongestPowerGapSteps * channel->step_s);
}

double EnergyMeter::seconds() const {
  return last_s_ && first_s_ ? *last_s_ - *first_s_ : 0;
}

EnergyMeter::EnergyMeter(Sensors sensors, Clock clock) : sensors_(std::move(sensors)), clock_(std::move(clock)) {
  for (const auto& sensor : sensors_) {
    for (const Channel& channel : sensor->channels()) {
      meters_.push_back({.channel = &channel, .sensor = sensor->name()});
    }
  }
  choose_added();
  look_at_devices();
  if (std::ranges::none_of(meters_, &Meter::added)) refusal_ = sensors_refusal(sensors_);
}

/// Chooses the channels that add up, so that nothing counts twice and measurements precede stated powers. Takes a meter
/// of the whole machine if no sensor measures its CPUs, or if a stated power would replace a part that the meter
/// measures; else the parts.
void EnergyMeter::choose_added() {
  const auto of = [&](Covers covers, EnergyClass kind) {
    std::vector<Meter*> found;
    for (Meter& meter : meters_) {
      if (meter.channel->covers == covers && meter.channel->kind == kind) found.push_back(&meter);
    }
    return found;
  };
  std::vector<Meter*> chosen;
  bool all_measured = !of(Covers::kPackage, EnergyClass::kMeasured).empty();
  for (const Covers covers : {Covers::kPackage, Covers::kDram, Covers::kGpu}) {
    auto parts = of(covers, EnergyClass::kMeasured);
    if (parts.empty()) {
      parts = of(covers, EnergyClass::kEstimated);
      all_measured = all_measured && parts.empty();
    }
    chosen.insert(chosen.end(), parts.begin(), parts.end());
  }
  const auto machine = of(Covers::kMachine, EnergyClass::kMeasured);
  if (!all_measured && !machine.empty()) chosen = {machine.front()};
  for (Meter* meter : chosen) meter->added = true;
}

void EnergyMeter::take_count(Meter& meter, std::uint64_t count, double at_s) {
  const Channel& channel = *meter.channel;
  meter.divisor = std::gcd(meter.divisor, count);
  if (!meter.last_count) {
    meter.last_count = count;
    meter.first_s = meter.moved_s = meter.last_s = at_s;
    return;
  }
  const double gap_s = at_s - meter.last_s;
  const double range_j = static_cast<double>(channel.range) * channel.joules_per_count;
  const bool round = count < *meter.last_count;
  std::uint64_t used = round ? 0 : count - *meter.last_count;
  if (channel.range > 0 && gap_s * channel.most_watts >= range_j) {
    meter.problem = fmt::format(
        "INVALID: it was not read for {:.0f} s, in which a counter of {:.0f} J may have gone round more than once",
        gap_s, range_j);
  } else if (round && channel.range == 0) {
    meter.problem = "it went backwards, and its range is unknown";
  } else if (round) {
    used = count + channel.range - std::min(*meter.last_count, channel.range);
    if (static_cast<double>(used) * channel.joules_per_count >
        channel.most_watts * std::max(gap_s, kShortestWindow_s)) {
      meter.problem =
          fmt::format("INVALID: it went backwards by more than {:g} W could have turned it round", channel.most_watts);
    }
  }
  meter.counts += used;
  meter.last_count = count;
  meter.last_s = std::max(at_s, meter.last_s);
  meter.step_watts_j = static_cast<double>(used) * channel.joules_per_count;
  if (used == 0) {
    meter.stood_still = meter.stood_still || at_s - meter.moved_s > channel.step_s;
    return;
  }
  ++meter.moves;
  meter.moved_s = meter.last_s;
  if (gap_s <= meter.longest_gap_s()) meter.largest_move_j = std::max(meter.largest_move_j, meter.step_watts_j);
}

/// Integrates power linearly between two readings. Over a gap that is too long nothing is added.
void EnergyMeter::take_watts(Meter& meter, double watts, double at_s) {
  if (meter.last_watts && at_s <= meter.last_s) return;  // nothing new
  if (meter.last_watts) {
    const double gap_s = at_s - meter.last_s;
    if (gap_s > meter.longest_gap_s()) {
      meter.unseen_s += gap_s;
    } else {
      meter.step_watts_j = gap_s * (watts + *meter.last_watts) / 2;
      meter.summed_j += meter.step_watts_j;
    }
  } else {
    meter.first_s = at_s;
    meter.first_watts = watts;
  }
  meter.last_watts = watts;
  meter.last_s = at_s;
  meter.peak_watts = std::max(meter.peak_watts, watts);
}

void EnergyMeter::take(Meter& meter, const Reading& reading, double asked_s, double now) {
  meter.step_watts_j = meter.step_watts_s = 0;
  if (!reading.problem.empty()) {
    if (meter.problem.empty()) meter.problem = reading.problem;
    return;
  }
  if (!reading.error.empty()) meter.error = reading.error;
  for (const Reading::Power& power : reading.earlier) take_watts(meter, power.watts, power.at_s);
  const double at_s = std::min(reading.at_s.value_or(asked_s), now);
  const double before_s = meter.last_s;
  const bool first = meter.readings == 0;
  if (reading.count) {
    take_count(meter, *reading.count, at_s);
  } else if (reading.watts) {
    take_watts(meter, *reading.watts, at_s);
  } else {
    return;
  }
  ++meter.readings;
  if (first || at_s <= before_s) return;
  meter.step_watts_s = at_s - before_s;
  // Shortly after another reading, a single step of the counter would look like a peak of power.
  if (reading.count && meter.step_watts_s >= kFewestSteps * meter.channel->step_s) {
    meter.peak_watts = std::max(meter.peak_watts, meter.step_watts_j / meter.step_watts_s);
  }
}

void EnergyMeter::poll(double wait_s, std::optional<double> cpu_share, const PhaseTotals* phases) {
  std::size_t n = 0;
  double cpu_j = 0, added_j = 0;
  const double begin_s = clock_();
  double asked_s = begin_s;
  for (const auto& sensor : sensors_) {
    const std::size_t channels = sensor->channels().size();
    if (channels == 0) continue;
    const std::vector<Reading> readings = sensor->read(wait_s);
    const double now = clock_();
    for (std::size_t c = 0; c < channels; ++c, ++n) {
      Meter& meter = meters_[n];
      const double before_j = meter.joules();
      take(meter, c < readings.size() ? readings[c] : Reading{.problem = "it gave no reading"}, asked_s, now);
      const double step_j = meter.joules() - before_j;
      if (!meter.added) continue;
      added_j += step_j;
      if (meter.channel->covers == Covers::kPackage) cpu_j += step_j;
    }
    asked_s = now;
  }
  look_at_devices();
  if (!first_s_) first_s_ = begin_s;
  const double seconds = begin_s - last_s_.value_or(begin_s);
  last_s_ = begin_s;
  if (cpu_share && seconds > 0) {
    process_j_ += cpu_j * std::clamp(*cpu_share, 0.0, 1.0);
    process_known_ = true;
  }
  if (phases != nullptr) {
    phases_.add(added_j, seconds, *phases);
    phases_known_ = true;
  }
}

std::vector<EnergyMeter::Now> EnergyMeter::now() const {
  std::vector<Now> all;
  for (const Meter& meter : meters_) {
    Now& now = all.emplace_back(Now{.sensor = meter.sensor,
                                     .name = meter.channel->name,
                                     .added = meter.added,
                                     .joules = meter.joules(),
                                     .covers = meter.channel->covers,
                                     .kind = meter.channel->kind,
                                     .uuid = meter.channel->uuid});
    if (!meter.problem.empty()) continue;
    if (meter.channel->joules_per_count == 0) {
      now.watts = meter.last_watts;
    } else if (meter.step_watts_s > 0) {
      now.watts = meter.step_watts_j / meter.step_watts_s;
    }
  }
  return all;
}

std::optional<double> EnergyMeter::joules_so_far() const {
  double joules = 0;
  bool any = false;
  for (const Meter& meter : meters_) {
    if (!meter.added) continue;
    if (!meter.problem.empty() || meter.readings == 0) return std::nullopt;
    joules += meter.joules() + held(meter).joules;
    any = true;
  }
  return any ? std::optional(joules) : std::nullopt;
}

bool EnergyMeter::sees_processors() const {
  return std::ranges::any_of(
      meters_, [](const Meter& meter) { return meter.added && meter.channel->covers == Covers::kPackage; });
}

void EnergyMeter::look_at_devices() {
  states_.clear();
  for (const auto& sensor : sensors_) {
    for (DeviceState& state : sensor->states()) states_.push_back(std::move(state));
  }
}

/// Extrapolates to both ends of the window: a reading may be older than the poll() that got it. Uses the nearest power
/// for a meter of power and the mean power for a counter. Negative where readings reach beyond the window.
EnergyMeter::Held EnergyMeter::held(const Meter& meter) const {
  if (meter.readings == 0 || !first_s_ || !last_s_) return {};
  const double begin_s = meter.first_s - *first_s_, end_s = *last_s_ - meter.last_s;
  const double counted_s = meter.last_s - meter.first_s, mean_watts = counted_s > 0 ? meter.joules() / counted_s : 0;
  const double begin_j = begin_s * (meter.last_watts ? meter.first_watts : mean_watts);
  const double end_j = end_s * meter.last_watts.value_or(mean_watts);
  return {begin_j + end_j, std::abs(begin_j) + std::abs(end_j)};
}

/// For counters of unknown resolution: why they are too coarse for the joules counted; empty = they are fine.
std::string EnergyMeter::coarseness(const Meter& meter) const {
  const Channel& channel = *meter.channel;
  if (channel.joules_per_count == 0 || channel.step_j > 0 || channel.kind != EnergyClass::kMeasured) return "";
  const double joules = meter.joules(), step_j = meter.step_j(), still_s = meter.last_s - meter.moved_s;
  constexpr const char* kRemedy = "run longer, or take the meter's power where it tells it";
  if (joules <= 0) {
    return fmt::format("INVALID: its counter did not move in {:.1f} s: {}", meter.last_s - meter.first_s, kRemedy);
  }
  if (meter.stood_still && joules < kFewestSteps * step_j) {
    return fmt::format(
        "INVALID: its counter moves by {:g} J at a time, and it came to {:g} J, less than ten times that: {}", step_j,
        joules, kRemedy);
  }
  if (still_s > meter.longest_gap_s() && still_s * joules > kFewestSteps * step_j * (meter.moved_s - meter.first_s)) {
    return fmt::format("INVALID: its counter stood still in the last {:.1f} s", still_s);
  }
  return "";
}

std::string EnergyMeter::absence(const Meter& meter, double window_s) const {
  if (!meter.problem.empty()) return meter.problem;
  if (window_s < kShortestWindow_s) {
    return fmt::format("a window of {:.2f} s is too short for the counters (at least {} s)", window_s,
                       kShortestWindow_s);
  }
  const std::string last = meter.error.empty() ? "" : "; last: " + meter.error;
  double unseen_s = meter.readings == 0 ? window_s : meter.unseen_s;
  if (meter.readings > 0 && first_s_ && last_s_) {
    for (const double gap_s : {meter.first_s - *first_s_, *last_s_ - meter.last_s}) {
      if (gap_s > meter.longest_gap_s()) unseen_s += gap_s;
    }
  }
  if (unseen_s > meter.longest_gap_s() && unseen_s > kMostUnseenShare * window_s) {
    return fmt::format("INVALID: it said nothing for {:.1f} of {:.1f} s{}", unseen_s, window_s, last);
  }
  if (meter.readings < 2) return "it was read less than twice" + last;
  return coarseness(meter);
}

DeviceEnergy EnergyMeter::device(const Meter& meter, double window_s, const IdlePower& idle) const {
  const Channel& channel = *meter.channel;
  DeviceEnergy device{.name = channel.name, .sensor = meter.sensor, .covers = channel.covers, .added = meter.added};
  device.note = channel.note;
  device.uuid = channel.uuid;
  device.reason = absence(meter, window_s);
  if (!device.reason.empty()) return device;
  device.kind = channel.kind;
  const Held held = this->held(meter);
  const double joules = meter.joules() + held.joules;
  const double step_j = channel.joules_per_count > 0 ? meter.step_j() : 0;
  if (channel.kind == EnergyClass::kMeasured) device.uncertainty_joules = step_j + held.at_most_j;
  if (step_j > kMostUnseenShare * joules) {
    device.note += fmt::format("{}its counter moves by {:g} J at a time", device.note.empty() ? "" : "; ", step_j);
  }
  device.joules = joules;
  device.mean_watts = joules / window_s;
  if (meter.peak_watts > 0) device.peak_watts = meter.peak_watts;
  for (const IdlePower::Of& of : idle.channels) {
    if (of.sensor != meter.sensor || of.channel != channel.name) continue;
    device.idle_watts = of.watts;
    device.net_joules = joules - of.watts * window_s;
  }
  return device;
}

record::Energy EnergyMeter::energy(double window_s, const IdlePower& idle) const {
  record::Energy energy;
  energy.seconds = window_s;
  energy.reason = refusal_;
  double step_s = 0;
  for (const Meter& meter : meters_) {
    energy.devices.push_back(device(meter, window_s, idle));
    if (meter.added) step_s = std::max(step_s, meter.channel->step_s);
    const std::string& why = energy.devices.back().reason;
    if (!meter.problem.empty() || (meter.added && why.starts_with("INVALID"))) {
      energy.lost.push_back(fmt::format("{} ({}): {}", meter.channel->name, meter.sensor, why));
    }
    if (meter.added && energy.reason.empty() && !energy.devices.back().joules) {
      energy.reason = fmt::format("{} ({}): {}", meter.channel->name, meter.sensor, why);
    }
  }
  if (idle.watts) energy.idle = {idle.watts, idle.interval, idle.seconds};
  if (!energy.reason.empty()) return energy;
  sum_up(energy, idle);
  if (process_known_ && sees_processors()) {
    energy.process_joules = process_j_;
  } else {
    energy.process_reason = sees_processors() ? "the use of the processors is not known"
                                              : "no sensor tells the processors' energy apart from the rest";
  }
  if (phases_known_) energy.phases = phases_.phases(step_s);
  if (energy.kind == EnergyClass::kEstimated) {
    for (record::PhaseEnergy& phase : energy.phases)
      phase.kind = EnergyClass::kEstimated;  // a share of an estimate is one
  }
  if (energy.phases.empty()) energy.phases_reason = "no phase was marked on the run's own thread";
  return energy;
}

void EnergyMeter::sum_up(record::Energy& energy, const IdlePower& idle) const {
  double joules = 0;
  std::map<std::string, std::string> names;  // "powercap (measured)" -> "package-0, package-1"
  std::vector<std::string> order;
  for (const DeviceEnergy& device : energy.devices) {
    if (!device.added) continue;
    joules += *device.joules;
    if (device.uncertainty_joules) {
      energy.uncertainty_joules = energy.uncertainty_joules.value_or(0) + *device.uncertainty_joules;
    }
    energy.domains.push_back({device.name, *device.joules});
    energy.kind = record::together(energy.kind, device.kind);
    energy.by_class[record::energy_class_name(device.kind)] += *device.joules;
    const std::string group = fmt::format("{} ({})", device.sensor, record::energy_class_name(device.kind));
    if (!names.contains(group)) order.push_back(group);
    names[group] += (names[group].empty() ? "" : ", ") + device.name;
  }
  for (const std::string& group : order) {
    energy.source += (energy.source.empty() ? "" : "; ") + group + ": " + names[group];
  }
  energy.source += ". Whole devices, idle power included";
  energy.joules = joules;
  const double window_s = *energy.seconds;
  record::set_products(energy);
  if (!idle.watts) {
    energy.net_reason = idle.reason.empty() ? "idle power was not measured: --idle SECONDS does" : idle.reason;
    return;
  }
  energy.net_joules = joules - *idle.watts * window_s;
  if (idle.interval) {
    energy.net_interval =
        record::Interval{joules - idle.interval->high * window_s, joules - idle.interval->low * window_s};
  }
}

}  // namespace evener::measure
