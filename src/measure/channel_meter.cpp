#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/statistics.h"
#include "measure/energy_meter.h"

namespace evener::measure {
namespace {

using record::Covers;
using record::EnergyClass;

/// Power is integrated over gaps between readings of up to this many seconds, or this many of the sensor's own steps.
constexpr double kLongestPowerGap_s = 5, kLongestPowerGapSteps = 5;
/// The share of a window that may lack a known power.
constexpr double kMostUnseenShare = 0.01;
/// A change of fewer steps of a counter is too coarse to be trusted.
constexpr double kFewestSteps = 10;
/// The same of a power: fewer values don't make a mean.
constexpr double kFewestValues = 5;
/// A counter of fine steps that stands still for longer has stopped.
constexpr double kLongestStill_s = 2;
/// A display of whole kilowatt-hours moves by so much.
constexpr double kCoarsestStep_j = 3.6e6;

}  // namespace

std::string why_implausible(const Channel& channel, double watts) {
  const bool too_little = watts < 0 || (watts == 0 && channel.covers == Covers::kMachine);
  if (channel.kind != EnergyClass::kMeasured || (!too_little && watts <= channel.most_watts)) return "";
  return fmt::format("it said {:g} W, which no {} draws", watts,
                     channel.covers == Covers::kMachine ? "machine that computes" : "such device");
}

void UpdatePeriod::take(bool moved, double at_s) {
  constexpr std::size_t kMostGaps = 256;
  if (!std::exchange(begun_, true)) {
    still_ = {at_s, at_s};
    return;
  }
  if (!moved) {
    stood_ = true;
    still_.to_s = at_s;
    return;
  }
  // The first change ends a time whose begin was not seen.
  if (std::exchange(moved_before_, true) && gaps_s_.size() < kMostGaps) {
    gaps_s_.push_back(at_s - still_.from_s);
    if (stood_) ++still_gaps_;
  }
  if (still_.seconds() > longest_.seconds()) {
    next_longest_s_ = longest_.seconds();
    longest_ = still_;
  } else {
    next_longest_s_ = std::max(next_longest_s_, still_.seconds());
  }
  still_ = {at_s, at_s};
  stood_ = false;
}

CheckedChannel::Still UpdatePeriod::longest() const {
  return still_.seconds() > longest_.seconds() ? still_ : longest_;
}

double UpdatePeriod::next_longest_s() const {
  return std::max(next_longest_s_, std::min(still_.seconds(), longest_.seconds()));
}

std::optional<double> UpdatePeriod::seconds(bool is_power) const {
  constexpr std::size_t kFewestGaps = 3;
  constexpr double kShortest = 0.1, kNearlyAll = 0.9, kNear = 0.2;
  if (gaps_s_.size() < kFewestGaps) return std::nullopt;
  const auto share = [&](auto count) { return static_cast<double>(count) / static_cast<double>(gaps_s_.size()); };
  if (share(still_gaps_) < (is_power ? kNearlyAll : 0.5)) return std::nullopt;
  if (!is_power) return median(gaps_s_);
  const double period_s = *quantile(gaps_s_, kShortest);
  const auto regular = std::ranges::count_if(gaps_s_, [&](double gap_s) {
    const double periods = gap_s / period_s;
    return std::abs(periods - std::round(periods)) < kNear;
  });
  return share(regular) >= kNearlyAll ? std::optional(period_s) : std::nullopt;
}

void OwnPower::take(double watts, double counted_j, double at_s, double longest_gap_s) {
  constexpr double kAveraged_s = 1, kLongestCompared_s = 1, kShortestCompared_s = 0.5, kFactor = 2;
  const double gap_s = at_s - at_s_, more_j = counted_j - counted_j_;
  if (watts_ && gap_s <= 0) return;
  if (watts_ && gap_s <= longest_gap_s) {
    const double power_j = gap_s * (watts + *watts_) / 2;
    summed_j_ += power_j;
    curve_.add(at_s_, at_s, power_j);
    // Between distant readings the power may have been another.
    if (gap_s <= kLongestCompared_s) {
      compared_s_ += gap_s;
      compared_j_ += power_j;
      compared_count_j_ += more_j;
    }
  }
  lowest_ = watts_ ? std::min(lowest_, watts) : watts;
  highest_ = std::max(highest_, watts);
  watts_ = watts;
  at_s_ = at_s;
  counted_j_ = counted_j;
  if (compared_s_ < kShortestCompared_s || highest_ <= 0) return;
  const double slack_j = kAveraged_s * (highest_ - lowest_);
  const bool stands = compared_count_j_ <= 0 && lowest_ > 0;
  const bool below = kFactor * compared_count_j_ < compared_j_ - slack_j;
  const bool above = compared_count_j_ > kFactor * (compared_j_ + slack_j);
  contradicts_ = contradicts_ || stands || below || above;
}

double ChannelMeter::joules() const {
  if (by_power()) return own_power_.joules();
  return counts() ? counted_j() : summed_j_;
}

std::optional<double> ChannelMeter::watts() const {
  if (!problem_.empty()) return std::nullopt;
  if (by_power()) return own_power_.watts();
  if (!counts()) return last_watts_;
  return step_watts_s_ > 0 ? std::optional(step_watts_j_ / step_watts_s_) : std::nullopt;
}

/// The counter's resolution, given by its sensor or inferred from readings: a meter that shows three decimals of a
/// kilowatt-hour stays the same most of the time and then jumps by one unit of the last digit.
double ChannelMeter::step_j() const {
  if (!counts() || by_power()) return 0;
  if (channel_->step_j > 0) return channel_->step_j;
  constexpr std::int64_t kFewestMoves = 3;  // with fewer, a common divisor means nothing
  const double of_digits_j = static_cast<double>(divisor_) * channel_->joules_per_count;
  if (stood_still_) return std::max(of_digits_j, largest_move_j_);
  return moves_ < kFewestMoves ? 0 : of_digits_j;
}

double ChannelMeter::period_s() const {
  return std::max(period_.seconds(!counts()).value_or(0), channel_->step_s);
}

double ChannelMeter::shortest_window_s() const {
  if (by_power()) return 0;
  std::optional<double> found_s = period_.seconds(!counts());
  // Before three changes, the time in which a counter stood still says at least how long its period is.
  const double still_s = period_.longest().seconds();
  if (!found_s && counts() && !may_draw_nothing() && still_s > kLongestPowerGap_s) found_s = still_s;
  return found_s.value_or(0) > channel_->step_s ? (counts() ? kFewestSteps : kFewestValues) * *found_s : 0;
}

double ChannelMeter::longest_gap_s() const {
  return std::max(kLongestPowerGap_s, kLongestPowerGapSteps * period_s());
}

/// The most that the counter can move by at once. The first move of one of unknown resolution tells what it counted
/// before, too.
double ChannelMeter::most_j(double at_s) const {
  const double before_j = channel_->step_j <= 0 && moves_ == 0 ? kCoarsestStep_j : 0;
  return channel_->most_watts * std::max(at_s - moved_s_, kShortestWindow_s) + before_j;
}

void ChannelMeter::take_count(std::uint64_t count, double at_s) {
  const Channel& channel = *channel_;
  divisor_ = std::gcd(divisor_, count);
  period_.take(last_count_ && *last_count_ != count, at_s);
  if (channel.range > 0 && count > channel.range) {
    problem_ = fmt::format("INVALID: it says {} counts, and its range ends at {}", count, channel.range);
  }
  if (!last_count_) {
    last_count_ = count;
    first_s_ = moved_s_ = last_s_ = at_s;
    return;
  }
  const double gap_s = at_s - last_s_;
  const double range_j = static_cast<double>(channel.range) * channel.joules_per_count;
  const bool round = count < *last_count_;
  std::uint64_t used = round ? 0 : count - *last_count_;
  if (channel.range > 0 && gap_s * channel.most_watts >= range_j) {
    problem_ = fmt::format(
        "INVALID: it was not read for {:.0f} s, in which a counter of {:.0f} J may have gone round more than once",
        gap_s, range_j);
  } else if (round && channel.range == 0) {
    problem_ = "it went backwards, and its range is unknown";
  } else {
    if (round) used = count + channel.range - std::min(*last_count_, channel.range);
    const double used_j = static_cast<double>(used) * channel.joules_per_count;
    if (channel.kind == EnergyClass::kMeasured && used_j > most_j(at_s)) {
      own_power_.distrust_counter();
      if (own_power_.watts()) {
        used = 0;
      } else if (round) {
        problem_ = fmt::format("INVALID: it went backwards by more than {:g} W could have turned it round",
                               channel.most_watts);
      } else {
        problem_ = fmt::format("INVALID: it jumped by {:.3g} J within {:.2g} s, more than {:g} W can draw", used_j,
                               gap_s, channel.most_watts);
      }
    }
  }
  if (!problem_.empty()) used = 0;
  counts_ += used;
  last_count_ = count;
  last_s_ = std::max(at_s, last_s_);
  step_watts_j_ = static_cast<double>(used) * channel.joules_per_count;
  if (used == 0) {
    stood_still_ = stood_still_ || at_s - moved_s_ > channel.step_s;
    return;
  }
  ++moves_;
  curve_.add(moved_s_, last_s_, step_watts_j_);
  moved_s_ = last_s_;
  if (gap_s <= longest_gap_s()) largest_move_j_ = std::max(largest_move_j_, step_watts_j_);
}

/// Integrates power linearly between two readings. Over a gap that is too long nothing is added.
void ChannelMeter::take_watts(double watts, double at_s) {
  if (last_watts_ && at_s <= last_s_) return;  // nothing new
  period_.take(last_watts_ && *last_watts_ != watts, at_s);
  if (last_watts_) {
    const double gap_s = at_s - last_s_;
    if (gap_s > longest_gap_s()) {
      unseen_s_ += gap_s;
    } else {
      step_watts_j_ = gap_s * (watts + *last_watts_) / 2;
      summed_j_ += step_watts_j_;
      curve_.add(last_s_, at_s, step_watts_j_);
    }
  } else {
    first_s_ = at_s;
    first_watts_ = watts;
  }
  last_watts_ = watts;
  last_s_ = at_s;
  peak_watts_ = std::max(peak_watts_, watts);
}

void ChannelMeter::take(const Reading& reading, double asked_s, double now_s) {
  step_watts_j_ = step_watts_s_ = 0;
  if (!reading.problem.empty()) {
    if (problem_.empty()) problem_ = reading.problem;
    return;
  }
  if (!reading.error.empty()) error_ = reading.error;
  if (const std::string doubt = reading.watts ? why_implausible(*channel_, *reading.watts) : ""; !doubt.empty()) {
    error_ = doubt;
    ++left_out_;
    return;
  }
  const double at_s = std::min(reading.at_s.value_or(asked_s), now_s);
  const double before_s = last_s_;
  const bool first = readings_ == 0;
  if (reading.count) {
    take_count(*reading.count, at_s);
    if (reading.own_watts && why_implausible(*channel_, *reading.own_watts).empty())
      own_power_.take(*reading.own_watts, counted_j(), at_s, longest_gap_s());
  } else if (reading.watts) {
    take_watts(*reading.watts, at_s);
  } else {
    return;
  }
  ++readings_;
  if (first || at_s <= before_s) return;
  step_watts_s_ = at_s - before_s;
  // Shortly after another reading, a single step of the counter would look like a peak of power.
  if (by_power()) {
    peak_watts_ = own_power_.peak_watts();
  } else if (reading.count && step_watts_s_ >= kFewestSteps * period_s()) {
    peak_watts_ = std::max(peak_watts_, step_watts_j_ / step_watts_s_);
  }
}

ChannelMeter::Held ChannelMeter::held(double begin_s, double end_s) const {
  if (readings_ == 0) return {};
  const double counted_s = last_s_ - first_s_, mean_watts = counted_s > 0 ? joules() / counted_s : 0;
  const double begin_j = (first_s_ - begin_s) * (last_watts_ ? first_watts_ : mean_watts);
  const double end_j = (end_s - last_s_) * last_watts_.value_or(mean_watts);
  return {begin_j + end_j, std::abs(begin_j) + std::abs(end_j)};
}

bool ChannelMeter::never_moved() const {
  const bool judged =
      counts() && channel_->step_j > 0 && channel_->kind == EnergyClass::kMeasured && !may_draw_nothing();
  return judged && !by_power() && moves_ == 0 && last_s_ - first_s_ >= kShortestWindow_s;
}

/// Why a counter is too coarse for the joules counted, or stopped; empty = it is fine.
std::string ChannelMeter::coarseness() const {
  const Channel& channel = *channel_;
  if (!counts() || by_power() || channel.kind != EnergyClass::kMeasured) return "";
  const bool known = channel.step_j > 0;
  if (known && may_draw_nothing()) return "";
  const double all_j = joules(), step = step_j();
  constexpr const char* kRemedy = "run longer, or take the meter's power where it tells it";
  if (all_j <= 0) {
    return fmt::format("INVALID: its counter did not move in {:.1f} s: {}", last_s_ - first_s_,
                       known ? "it measures nothing here (usual in virtual machines)" : kRemedy);
  }
  if (!known && stood_still_ && all_j < kFewestSteps * step) {
    return fmt::format(
        "INVALID: its counter moves by {:g} J at a time, and it came to {:g} J, less than ten times that: {}", step,
        all_j, kRemedy);
  }
  const CheckedChannel checked = this->checked();
  const double longest_s = known ? std::max(kLongestStill_s, kFewestSteps * period_s()) : longest_gap_s();
  if (checked.still.seconds() <= longest_s || !lost_while_still(checked)) return "";
  return fmt::format("INVALID: its counter stood still {} {:.1f} s",
                     checked.still.to_s < last_s_ ? "for" : "in the last", checked.still.seconds());
}

std::string ChannelMeter::absence(std::optional<double> begin_s, std::optional<double> end_s, double window_s) const {
  if (!problem_.empty()) return problem_;
  if (window_s < kShortestWindow_s) {
    return fmt::format("a window of {:.2f} s is too short for the counters (at least {} s)", window_s,
                       kShortestWindow_s);
  }
  const std::string last = error_.empty() ? "" : "; last: " + error_;
  double unseen_s = readings_ == 0 ? window_s : unseen_s_;
  if (readings_ > 0 && begin_s && end_s) {
    for (const double gap_s : {first_s_ - *begin_s, *end_s - last_s_}) {
      if (gap_s > longest_gap_s()) unseen_s += gap_s;
    }
  }
  if (unseen_s > longest_gap_s() && unseen_s > kMostUnseenShare * window_s) {
    return fmt::format("INVALID: it said nothing for {:.1f} of {:.1f} s{}", unseen_s, window_s, last);
  }
  if (readings_ < 2) return "it was read less than twice" + last;
  if (std::string coarse = coarseness(); !coarse.empty()) return coarse;
  // A counter of unknown resolution was judged by its steps.
  const double least_s = counts() && channel_->step_j == 0 ? 0 : shortest_window_s();
  if (window_s < least_s) {
    return fmt::format(
        "INVALID: a window of {:.1f} s is too short for a value that changes each {:.3g} s (at least {:.3g} s): run "
        "longer",
        window_s, least_s / (counts() ? kFewestSteps : kFewestValues), least_s);
  }
  return "";
}

std::string ChannelMeter::note(double joules) const {
  std::string text = channel_->note;
  const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (by_power()) {
    add(fmt::format(
        "its energy counter came to {:.3g} J, which its power contradicts: energy is its power, summed over time",
        counted_j()));
  } else if (step_j() > kMostUnseenShare * joules) {
    add(fmt::format("its counter moves by {:g} J at a time", step_j()));
  }
  if (mirrors != nullptr) add(mirror_text());
  if (left_out_ > 0) add(fmt::format("{} of its values left out; last: {}", left_out_, error_));
  if (channel_->covers == Covers::kDram && counts() && moves_ == 0) {
    add("its counter did not move: this machine doesn't measure its memory");
  }
  return text;
}

std::string ChannelMeter::mirror_text() const {
  return fmt::format("{} is the same counter as {}, and counts once", channel_->name, mirrors->channel().name);
}

CheckedChannel ChannelMeter::checked() const {
  return {.name = channel_->name,
          .curve = by_power() ? own_power_.curve() : curve_,
          .period_s = period_s(),
          .stated_s = channel_->step_s,
          .step_j = step_j(),
          .counts = counts() && !by_power(),
          .may_draw_nothing = may_draw_nothing(),
          .still = period_.longest(),
          .next_still_s = period_.next_longest_s()};
}

}  // namespace evener::measure
