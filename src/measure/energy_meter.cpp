#include "measure/energy_meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/stop.h"
#include "measure/sensors/open_sensors.h"

namespace evener::measure {
namespace {

using record::Covers;
using record::DeviceEnergy;
using record::EnergyClass;

constexpr std::size_t kMostPieces = 256;
constexpr double kStepsOfACounter = 10;

}  // namespace

PhaseEnergyDivider::Piece PhaseEnergyDivider::take(double seconds) {
  Piece taken;
  while (!unclaimed_.empty() && seconds > 1e-9) {
    Piece& newest = unclaimed_.back();
    if (newest.seconds <= seconds) {
      taken.joules += newest.joules;
      taken.seconds += newest.seconds;
      seconds -= newest.seconds;
      unclaimed_.pop_back();
      continue;
    }
    const double share = seconds / newest.seconds;
    taken.joules += share * newest.joules;
    taken.seconds += seconds;
    newest.joules -= share * newest.joules;
    newest.seconds -= seconds;
    break;
  }
  return taken;
}

void PhaseEnergyDivider::add(double joules, double seconds, const PhaseTotals& totals) {
  unclaimed_.push_back({joules, seconds});
  if (unclaimed_.size() > kMostPieces) {
    const Piece oldest = unclaimed_.front();
    unclaimed_.pop_front();
    unclaimed_.front().joules += oldest.joules;
    unclaimed_.front().seconds += oldest.seconds;
  }
  const PhaseTotals ended = totals.since(last_);
  last_ = totals;
  double all_s = 0;
  for (const auto& sum : ended.critical) all_s += static_cast<double>(sum.ns) * 1e-9;
  if (all_s <= 0) return;
  const Piece piece = take(all_s);
  for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
    joules_[phase] += piece.joules * static_cast<double>(ended.critical[phase].ns) * 1e-9 / all_s;
  }
}

std::vector<record::PhaseEnergy> PhaseEnergyDivider::phases(double step_s) const {
  std::vector<record::PhaseEnergy> all;
  for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
    const PhaseTotals::Sum& sum = last_.critical[phase];
    if (sum.marks == 0) continue;
    const double seconds = static_cast<double>(sum.ns) * 1e-9;
    all.push_back({.phase = phase_name(static_cast<Phase>(phase)),
                   .joules = joules_[phase],
                   .seconds = seconds,
                   .short_marks = seconds / static_cast<double>(sum.marks) < kStepsOfACounter * step_s});
  }
  if (all.empty()) return all;
  record::PhaseEnergy other{.phase = "other"};
  for (const Piece& piece : unclaimed_) {
    other.joules += piece.joules;
    other.seconds += piece.seconds;
  }
  all.push_back(std::move(other));
  return all;
}

EnergyMeter::EnergyMeter(Sensors sensors, Clock clock) : sensors_(std::move(sensors)), clock_(std::move(clock)) {
  for (const auto& sensor : sensors_) {
    for (const Channel& channel : sensor->channels()) meters_.emplace_back(channel, sensor->name());
  }
  choose_added();
  look_at_devices();
  if (std::ranges::none_of(meters_, &ChannelMeter::added)) refusal_ = sensors_refusal(sensors_);
}

/// Chooses the channels that add up, so that nothing counts twice and measurements precede stated powers. Takes a meter
/// of the whole machine if no sensor measures its CPUs, or if a stated power would replace a part that the meter
/// measures; else the parts.
void EnergyMeter::choose_added() {
  const auto of = [&](Covers covers, EnergyClass kind) {
    std::vector<ChannelMeter*> found;
    for (ChannelMeter& meter : meters_) {
      if (meter.channel().covers == covers && meter.channel().kind == kind) found.push_back(&meter);
    }
    return found;
  };
  std::vector<ChannelMeter*> chosen;
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
  for (ChannelMeter* meter : chosen) {
    for (ChannelMeter* before : chosen) {
      if (before == meter) break;
      const bool alike = before->sensor() == meter->sensor() && before->channel().covers == meter->channel().covers;
      if (alike && meter->channel().kind == EnergyClass::kMeasured && meter->channel().covers != Covers::kGpu) {
        pairs_.push_back({before, meter});
      }
    }
    meter->added = true;
  }
}

/// Zones that show one counter of a socket under several names (dies of AMD's first Zen processors) count once. They
/// say the same within a tick, and the `reading_s` in which one was read after the other; writing may have come
/// between.
void EnergyMeter::find_mirrors(double reading_s) {
  for (Pair& pair : pairs_) {
    const Channel& channel = pair.first->channel();
    const double watts = std::max(pair.first->watts().value_or(0), pair.second->watts().value_or(0));
    if (watts <= 0 || !pair.first->count() || !pair.second->count()) continue;
    const double apart_j =
        std::abs(static_cast<double>(*pair.first->count()) - static_cast<double>(*pair.second->count())) *
        channel.joules_per_count;
    ++pair.moves;
    if (apart_j > watts * (reading_s + channel.step_s) + channel.step_j) ++pair.apart;
    pair.second->mirrors = nullptr;
  }
  for (const Pair& pair : pairs_) {
    if (pair.is_one() && pair.first->mirrors == nullptr) pair.second->mirrors = pair.first;
  }
  for (const Pair& pair : pairs_) pair.second->added = pair.second->mirrors == nullptr;
}

std::vector<std::string> EnergyMeter::lacks() const {
  std::vector<std::string> all;
  const auto is_added = [&](auto matches) {
    return std::ranges::any_of(meters_, [&](const ChannelMeter& meter) { return meter.added && matches(meter); });
  };
  const bool none = !is_added([](const ChannelMeter&) { return true; });
  const bool whole = is_added([](const ChannelMeter& meter) { return meter.channel().covers == Covers::kMachine; });
  for (const auto& sensor : sensors_) {
    const bool serves = is_added([&](const ChannelMeter& meter) { return meter.sensor() == sensor->name(); });
    for (const Lack& lack : sensor->lacks()) {
      const bool of_sum = whole ? lack.covers == Covers::kMachine : lack.covers != Covers::kMachine;
      if (none || (of_sum && (serves || lack.covers == Covers::kGpu)))
        all.push_back(fmt::format("{} ({})", lack.part, lack.why));
    }
  }
  if (!none && !whole && !sees_processors())
    all.push_back(fmt::format("the processors ({})", sensors_.front()->refusal()));
  return all;
}

void EnergyMeter::poll(double wait_s, std::optional<double> cpu_share, const PhaseTotals* phases) {
  std::size_t n = 0;
  double cpu_j = 0, added_j = 0;
  std::vector<double> before_j;
  for (const ChannelMeter& meter : meters_) before_j.push_back(meter.joules());
  const double begin_s = clock_();
  double asked_s = begin_s;
  for (const auto& sensor : sensors_) {
    const std::size_t channels = sensor->channels().size();
    if (channels == 0) continue;
    const std::vector<Reading> readings = sensor->read(wait_s);
    const double now = clock_();
    for (std::size_t c = 0; c < channels; ++c, ++n) {
      meters_[n].take(c < readings.size() ? readings[c] : Reading{.problem = "it gave no reading"}, asked_s, now);
    }
    asked_s = now;
  }
  find_mirrors(asked_s - begin_s);
  for (std::size_t meter = 0; meter < meters_.size(); ++meter) {
    if (!meters_[meter].added) continue;
    const double step_j = meters_[meter].joules() - before_j[meter];
    added_j += step_j;
    if (meters_[meter].channel().covers == Covers::kPackage) cpu_j += step_j;
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

std::optional<double> EnergyMeter::joules_so_far() const {
  double joules = 0;
  bool any = false;
  for (const ChannelMeter& meter : meters_) {
    if (!meter.added) continue;
    if (!meter.problem().empty() || !meter.was_read() || meter.never_moved()) return std::nullopt;
    joules += meter.joules() + held(meter).joules;
    any = true;
  }
  return any ? std::optional(joules) : std::nullopt;
}

double EnergyMeter::shortest_window_s() const {
  double longest_s = 0;
  for (const ChannelMeter& meter : meters_) {
    if (meter.added) longest_s = std::max(longest_s, meter.shortest_window_s());
  }
  return longest_s;
}

bool EnergyMeter::sees_processors() const {
  return std::ranges::any_of(
      meters_, [](const ChannelMeter& meter) { return meter.added && meter.channel().covers == Covers::kPackage; });
}

void EnergyMeter::look_at_devices() {
  states_.clear();
  for (const auto& sensor : sensors_) {
    for (DeviceState& state : sensor->states()) states_.push_back(std::move(state));
  }
}

ChannelMeter::Held EnergyMeter::held(const ChannelMeter& meter) const {
  return first_s_ && last_s_ ? meter.held(*first_s_, *last_s_) : ChannelMeter::Held{};
}

DeviceEnergy EnergyMeter::device(const ChannelMeter& meter, double window_s, const IdlePower& idle) const {
  const Channel& channel = meter.channel();
  DeviceEnergy device{.name = channel.name, .sensor = meter.sensor(), .covers = channel.covers, .added = meter.added};
  device.note = channel.note;
  device.uuid = channel.uuid;
  if (const double period_s = meter.period_s(); period_s > 0) device.update_period_s = period_s;
  device.reason = meter.absence(first_s_, last_s_, window_s);
  if (!device.reason.empty()) return device;
  device.kind = channel.kind;
  const ChannelMeter::Held held = this->held(meter);
  const double joules = meter.joules() + held.joules;
  if (channel.kind == EnergyClass::kMeasured) device.uncertainty_joules = meter.step_j() + held.at_most_j;
  device.note = meter.note(joules);
  device.joules = joules;
  device.mean_watts = joules / window_s;
  if (meter.peak_watts() > 0) device.peak_watts = meter.peak_watts();
  for (const IdlePower::Of& of : idle.channels) {
    if (of.sensor != meter.sensor() || of.channel != channel.name) continue;
    device.idle_watts = of.watts;
    device.net_joules = joules - of.watts * window_s;
  }
  return device;
}

/// Holds against each other what measures the same, and the sum of the parts against each sensor of the whole machine.
std::vector<record::MeterCheck> EnergyMeter::checks() const {
  std::vector<record::MeterCheck> all;
  if (!first_s_ || !last_s_) return all;
  CheckedSource parts;
  bool sees_packages = false;
  std::vector<const ChannelMeter*> machine;
  for (const ChannelMeter& meter : meters_) {
    if (meter.channel().kind != EnergyClass::kMeasured) continue;
    if (meter.channel().covers == Covers::kMachine) {
      machine.push_back(&meter);
    } else if (meter.was_read() && meter.mirrors == nullptr) {
      parts.push_back(meter.checked());
      sees_packages = sees_packages || meter.channel().covers == Covers::kPackage;
    }
  }
  const auto check = [&](const CheckedSource& first, const ChannelMeter& second, Relation relation) {
    all.push_back(check_meters(first, {second.checked()}, relation, *first_s_, *last_s_));
  };
  for (std::size_t n = 0; n < machine.size(); ++n) {
    if (!parts.empty()) check(parts, *machine[n], sees_packages ? Relation::kMachine : Relation::kMore);
    for (std::size_t other = 0; other < machine.size(); ++other) {
      const bool n_all = machine[n]->channel().at_socket, other_all = machine[other]->channel().at_socket;
      if (other_all && !n_all) check({machine[n]->checked()}, *machine[other], Relation::kMachine);
      if (other > n && n_all && other_all) check({machine[n]->checked()}, *machine[other], Relation::kSame);
    }
  }
  return all;
}

record::Energy EnergyMeter::energy(double window_s, const IdlePower& idle) const {
  record::Energy energy;
  energy.seconds = window_s;
  energy.reason = refusal_;
  double step_s = 0;
  for (const ChannelMeter& meter : meters_) {
    energy.devices.push_back(device(meter, window_s, idle));
    if (meter.added) step_s = std::max(step_s, meter.period_s());
    const std::string& why = energy.devices.back().reason;
    if (!meter.problem().empty() || (meter.added && why.starts_with("INVALID"))) {
      energy.lost.push_back(fmt::format("{} ({}): {}", meter.channel().name, meter.sensor(), why));
    }
    if (meter.added && energy.reason.empty() && !energy.devices.back().joules) {
      energy.reason = fmt::format("{} ({}): {}", meter.channel().name, meter.sensor(), why);
    }
  }
  energy.checks = checks();
  energy.lacks = lacks();
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
  for (const ChannelMeter& meter : meters_) {
    if (meter.mirrors != nullptr) energy.source += "; " + meter.mirror_text();
  }
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

IdlePower measure_idle(EnergyMeter& meter, double seconds, double step_s, const std::function<void(double)>& sleep) {
  constexpr std::size_t kParts = 10;
  constexpr double kStudent9 = 2.262;  // 95 % of Student's t with nine degrees of freedom
  IdlePower idle;
  if (!meter.refusal().empty()) {
    idle.reason = meter.refusal();
    return idle;
  }
  constexpr double kEndsWait_s = 2;  // wait for a meter's answer at both ends
  constexpr double kLongest_s = 120;
  meter.poll(kEndsWait_s);
  const auto asked = static_cast<std::size_t>(std::max(1.0, seconds / step_s));
  struct End {
    double joules = 0, seconds = 0;
  };
  const auto end = [&] { return End{meter.joules_so_far().value_or(0), meter.seconds()}; };
  const auto too_short = [&] { return meter.seconds() < std::min(meter.shortest_window_s(), kLongest_s); };
  std::vector<End> ends = {end()};  // of each look
  for (std::size_t look = 0; (look < asked || too_short()) && !stop_requested(); ++look) {
    sleep(step_s);
    meter.poll(look + 1 >= asked && !too_short() ? kEndsWait_s : 0);
    ends.push_back(end());
  }
  const std::size_t looks = ends.size() - 1;
  idle.seconds = meter.seconds();
  const record::Energy energy = meter.energy(idle.seconds);
  for (const record::DeviceEnergy& device : energy.devices) {
    if (device.joules) idle.channels.push_back({device.sensor, device.name, *device.joules / idle.seconds});
  }
  if (!energy.joules) {
    idle.reason = energy.reason;
    return idle;
  }
  idle.watts = *energy.joules / idle.seconds;
  if (looks < kParts || looks < asked) return idle;
  // The interval is from ten parts of several readings each: neighbouring readings are correlated, neighbouring parts
  // hardly.
  double mean = 0, squares = 0;
  std::vector<double> watts;
  for (std::size_t part = 0; part < kParts; ++part) {
    const End &from = ends[part * looks / kParts], &to = ends[(part + 1) * looks / kParts];
    watts.push_back((to.joules - from.joules) / std::max(to.seconds - from.seconds, 1e-9));
    mean += watts.back() / kParts;
  }
  for (const double w : watts) squares += (w - mean) * (w - mean);
  const double half = kStudent9 * std::sqrt(squares / (kParts - 1) / kParts);
  idle.interval = record::Interval{*idle.watts - half, *idle.watts + half};
  return idle;
}

}  // namespace evener::measure
