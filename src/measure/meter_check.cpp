#include "measure/meter_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/statistics.h"

namespace evener::measure {
namespace {

using record::Agreement;
using record::MeterCheck;
using record::MeterFault;

using Points = std::span<const double>;  // the powers of a meter, window by window

/// y = slope * x + offset.
struct Line {
  double slope = 1, offset = 0;
  double squares = 0;  // sum of the squared deviations
};

/// 0 for none.
double mean_of(Points values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// Sum of products of the deviations from the means.
double products(Points x, Points y) {
  const double x_mean = mean_of(x), y_mean = mean_of(y);
  double sum = 0;
  for (std::size_t n = 0; n < x.size(); ++n) sum += (x[n] - x_mean) * (y[n] - y_mean);
  return sum;
}

std::vector<double> deviations(Points x, Points y, const Line& line) {
  std::vector<double> all(x.size());
  for (std::size_t n = 0; n < x.size(); ++n) all[n] = y[n] - line.slope * x[n] - line.offset;
  return all;
}

double squares(Points values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

Line with_slope(Points x, Points y, double slope) {
  Line line{.slope = slope, .offset = mean_of(y) - slope * mean_of(x)};
  line.squares = squares(deviations(x, y, line));
  return line;
}

/// The correlation of x and y, 0 if one of them is constant.
double correlation(Points x, Points y) {
  const double both = std::sqrt(products(x, x) * products(y, y));
  return both > 0 ? products(x, y) / both : 0;
}

/// The correlation of values[n] and values[n + places].
double likeness_after(Points values, int places) {
  const auto skipped = static_cast<std::size_t>(places);
  return correlation(values.first(values.size() - skipped), values.subspan(skipped));
}

std::vector<double> changes(Points values) {
  std::vector<double> all;
  for (std::size_t n = 1; n < values.size(); ++n) all.push_back(values[n] - values[n - 1]);
  return all;
}

/// The line of least squares whose slope lies from `low` to `high`. At least one point.
Line fit_line(Points x, Points y, double low, double high) {
  const double spread = products(x, x);
  return with_slope(x, y, std::clamp(spread > 0 ? products(x, y) / spread : 1, low, high));
}

/// The same through the origin.
Line fit_gain(Points x, Points y) {
  double product = 0;
  for (std::size_t n = 0; n < x.size(); ++n) product += x[n] * y[n];
  Line line{.slope = product / std::max(squares(x), 1e-300)};
  line.squares = squares(deviations(x, y, line));
  return line;
}

/// A change of the offset at y[at], with a common slope.
struct Split {
  std::size_t at = 0;
  double shift = 0;  // of the offset, in units of y
};
/// The split that explains the points best, if it does so far better than one line: by an F test whose limit, 25, is
/// well above the 5 % point of the largest F over all splits (some 9 to 12: Andrews 1993), corrected for the
/// correlation of neighbouring deviations. `least`: shifts that are smaller don't count.
std::optional<Split> find_split(Points x, Points y, double low, double high, double least) {
  constexpr std::size_t kShortestPart = 3;
  constexpr double kLeastF = 25, kMostLikeness = 0.9;
  const std::size_t count = x.size();
  if (count < 2 * kShortestPart + 2) return std::nullopt;
  const Line whole = fit_line(x, y, low, high);
  double fewest = whole.squares;
  std::optional<Split> best;
  std::vector<double> rest;
  for (std::size_t at = kShortestPart; at + kShortestPart <= count; ++at) {
    const Points x1 = x.first(at), x2 = x.subspan(at), y1 = y.first(at), y2 = y.subspan(at);
    const double spread = products(x1, x1) + products(x2, x2);
    const bool varies = spread > 1e-9 * squares(x);
    const double slope = varies ? std::clamp((products(x1, y1) + products(x2, y2)) / spread, low, high) : whole.slope;
    const Line before = with_slope(x1, y1, slope), after = with_slope(x2, y2, slope);
    if (before.squares + after.squares >= fewest) continue;
    fewest = before.squares + after.squares;
    best = Split{at, after.offset - before.offset};
    rest = deviations(x1, y1, before);
    const std::vector<double> behind = deviations(x2, y2, after);
    rest.insert(rest.end(), behind.begin(), behind.end());
  }
  if (!best || std::abs(best->shift) < least) return std::nullopt;
  const double n = static_cast<double>(count), gained = whole.squares - fewest;
  if (std::sqrt(gained / n) < least / 4) return std::nullopt;
  const double likeness = std::clamp(likeness_after(rest, 1), 0.0, kMostLikeness);
  const bool clear = gained * (n - 3) * (1 - likeness) > kLeastF * fewest * (1 + likeness);
  return clear ? best : std::nullopt;
}

/// After how many places a load that goes in rounds repeats itself: the first peak of its autocorrelation behind a dip.
/// Absent if it doesn't, or if that is beyond half of the values.
std::optional<int> find_round(Points values) {
  constexpr double kAlike = 0.5, kDip = 0.3;
  double least = 1, here = likeness_after(values, 1);
  for (int places = 1; 2 * places < static_cast<int>(values.size()); ++places) {
    const double next = likeness_after(values, places + 1);
    least = std::min(least, here);
    if (here >= std::max(kAlike, next) && here - least >= kDip) return places;
    here = next;
  }
  return std::nullopt;
}

/// Two meters of the same agree if they are this near to each other; a lag matters from this share of the run on.
constexpr double kTolerance = 0.05;
/// What draws power beside the processors may change by this share of the whole machine's power: fans, disks.
constexpr double kRestsShare = 0.2;
constexpr double kShortestCheck_s = 1, kShortestStop_s = 5;
constexpr double kPeriodsOfAWindow = 2, kPeriodsOfAStop = 5, kStepsOfAWindow = 10;
constexpr std::size_t kMostWindows = 200;

/// The two sources' mean powers in the windows that both know.
struct Windows {
  double seconds = 0;  // of each
  std::vector<double> begin_s = {}, first = {}, second = {};

  std::size_t count() const { return first.size(); }
};

std::string name_of(const CheckedSource& source) {
  std::string name;
  for (const CheckedChannel& channel : source) name += (name.empty() ? "" : " + ") + channel.name;
  return name;
}

double longest_s(const CheckedSource& source, double CheckedChannel::*period_s) {
  double longest_s = 0;
  for (const CheckedChannel& channel : source)
    longest_s = std::max({longest_s, channel.*period_s, channel.curve.width_s()});
  return longest_s;
}

/// The time in which all of its channels are known.
double known_from_s(const CheckedSource& source) {
  return std::ranges::max_element(source, {}, [](const CheckedChannel& c) { return c.curve.begin_s(); })
      ->curve.begin_s();
}
double known_to_s(const CheckedSource& source) {
  return std::ranges::min_element(source, {}, [](const CheckedChannel& c) { return c.curve.end_s(); })->curve.end_s();
}

std::optional<double> joules_of(const CheckedSource& source, double from_s, double to_s) {
  double sum = 0;
  for (const CheckedChannel& channel : source) {
    const std::optional<double> part = channel.curve.joules(from_s, to_s);
    if (!part) return std::nullopt;
    sum += *part;
  }
  return sum;
}

bool is_known(const CheckedSource& source) {
  return std::ranges::all_of(source, [](const CheckedChannel& c) { return c.curve.end_s() > c.curve.begin_s(); });
}

/// How long it takes until the source's counters have moved by ten of their steps.
double ten_steps_s(const CheckedSource& source) {
  double longest_s = 0;
  for (const CheckedChannel& channel : source) {
    const double known_s = channel.curve.end_s() - channel.curve.begin_s();
    const double all_j = channel.curve.joules(channel.curve.begin_s(), channel.curve.end_s()).value_or(0);
    if (all_j > 0) longest_s = std::max(longest_s, kStepsOfAWindow * channel.step_j * known_s / all_j);
  }
  return longest_s;
}

Windows windows_of(const CheckedSource& first, const CheckedSource& second, double length_s, double lag_s) {
  Windows windows{.seconds = length_s};
  const double from_s = std::max(known_from_s(first), known_from_s(second) - lag_s);
  const double to_s = std::min(known_to_s(first), known_to_s(second) - lag_s);
  const double slack_s = 1e-6 * length_s;  // of rounding
  for (double at_s = from_s; at_s + length_s <= to_s + slack_s; at_s += length_s) {
    const auto a = joules_of(first, at_s, at_s + length_s),
               b = joules_of(second, at_s + lag_s, at_s + lag_s + length_s);
    if (!a || !b) continue;
    windows.begin_s.push_back(at_s);
    windows.first.push_back(*a / length_s);
    windows.second.push_back(*b / length_s);
  }
  return windows;
}

/// The mean powers of both sources, and how far the other one's ranged, within a stretch of time.
struct Stretch {
  double own = 0, other = 0, other_range = 0;
  std::size_t windows = 0;
};

Stretch stretch_of(const Windows& windows, bool of_first, const CheckedChannel::Still& still) {
  std::vector<double> own, other;
  for (std::size_t n = 0; n < windows.count(); ++n) {
    const double from_s = windows.begin_s[n], to_s = from_s + windows.seconds;
    if (from_s < still.from_s || to_s > still.to_s) continue;
    own.push_back(of_first ? windows.first[n] : windows.second[n]);
    other.push_back(of_first ? windows.second[n] : windows.first[n]);
  }
  constexpr double kOutermost = 0.1;
  const double range = quantile(other, 1 - kOutermost).value_or(0) - quantile(other, kOutermost).value_or(0);
  return {mean_of(own), mean_of(other), range, own.size()};
}

/// Whether the channel stood still while the other source went on: a counter that lacks half of what the other one
/// lets expect, or a power that stayed the same far longer than ever while the other one's changed by a tenth. A part
/// may well be constant while its whole changes.
bool stopped(const CheckedChannel& channel, bool is_first, Relation relation, const Windows& windows, double end_s,
             double step_s) {
  const CheckedChannel::Still still = channel.still;
  const double lasted_s = still.seconds();
  if (lasted_s < std::max(kShortestStop_s, kPeriodsOfAStop * std::min(step_s, channel.period_s))) return false;
  constexpr std::size_t kFewestWindows = 3;
  if (channel.counts) return !channel.may_draw_nothing && end_s >= still.from_s && lost_while_still(channel);
  constexpr double kFarLonger = 2;
  if (lasted_s < kFarLonger * channel.next_still_s || (is_first && relation != Relation::kSame)) return false;
  const Stretch inside = stretch_of(windows, is_first, still);
  if (inside.windows < kFewestWindows || inside.other <= 0 || inside.own <= 0) return false;
  const double expected = inside.other_range * (relation == Relation::kSame ? inside.own / inside.other : 1);
  return expected > 2 * kTolerance * inside.own;
}

void find_stop(MeterCheck& check, const CheckedSource& source, bool is_first, Relation relation, const Windows& windows,
               double begin_s, double end_s, double step_s) {
  for (const CheckedChannel& channel : source) {
    if (check.fault != MeterFault::kNone || !stopped(channel, is_first, relation, windows, end_s, step_s)) continue;
    check.fault = MeterFault::kStop;
    check.agreement = Agreement::kDisagree;
    check.reason =
        fmt::format("{} stood still for {:.1f} s, from {:.1f} s on, while {} went on", channel.name,
                    channel.still.seconds(), channel.still.from_s - begin_s, is_first ? check.second : check.first);
  }
}

/// The slopes that are plausible where both sources are right: of a whole machine the losses of its power supply.
struct Slopes {
  double low = 0.5, high = 2;
};
Slopes slopes_of(Relation relation) {
  return relation == Relation::kSame ? Slopes{} : Slopes{1, 1.5};
}

void find_jump(MeterCheck& check, Relation relation, const Windows& windows, double begin_s) {
  if (relation == Relation::kMore || check.fault != MeterFault::kNone) return;
  const Slopes slopes = slopes_of(relation);
  const double least = (relation == Relation::kSame ? kTolerance : kRestsShare) * mean_of(windows.second);
  const auto split = find_split(windows.first, windows.second, slopes.low, slopes.high, least);
  if (!split) return;
  const auto ratio = [&](std::size_t from, std::size_t to) {
    std::vector<double> ratios;
    for (std::size_t n = from; n < to; ++n) ratios.push_back(windows.first[n] / std::max(windows.second[n], 1e-9));
    return *median(ratios);
  };
  // Within a part of the run the load may be another, so that a slope looks like a shift.
  if (relation == Relation::kSame &&
      std::abs(ratio(0, split->at) / ratio(split->at, windows.count()) - 1) < kTolerance) {
    return;
  }
  check.fault = MeterFault::kJump;
  check.agreement = Agreement::kDisagree;
  check.reason = fmt::format("their ratio was {:.3g} until {:.1f} s and {:.3g} from there on{}", ratio(0, split->at),
                             windows.begin_s[split->at] - begin_s, ratio(split->at, windows.count()),
                             relation == Relation::kSame ? "" : ": a meter changed, or what no sensor sees did");
}

/// A window in which one source tells far more than ever, and more than all that the other one told in it and beside it
/// lets expect, by a share of the run that matters: a false count, which the median of the ratios doesn't see.
void find_spike(MeterCheck& check, Relation relation, const Windows& windows, double begin_s) {
  constexpr std::size_t kFewestWindows = 3;
  constexpr double kFarHigher = 1.5;
  if (check.fault != MeterFault::kNone || windows.count() < kFewestWindows || !check.ratio) return;
  const bool same = relation == Relation::kSame;
  std::vector<double> rest;  // what the second source sees beside the first one
  for (std::size_t n = 0; n < windows.count(); ++n) rest.push_back(windows.second[n] - windows.first[n]);
  const double rest_watts = same ? 0 : std::max(0.0, *median(rest));
  const auto look = [&](Points own, Points other, double gain, double offset, double share, const std::string& name) {
    const double least = share * mean_of(own) * static_cast<double>(own.size());
    std::vector<double> highest(kFewestWindows);  // a count may lie in two windows
    std::ranges::partial_sort_copy(own, highest, std::greater<>());
    if (highest.front() < kFarHigher * highest.back()) return;
    for (std::size_t n = 0; n < own.size() && check.fault == MeterFault::kNone; ++n) {
      const Points beside = other.subspan(n - (n > 0), 2 + (n > 0 && n + 1 < other.size()));
      const double more = own[n] - offset - gain * *std::ranges::max_element(beside);
      if (more <= least) continue;
      check.fault = MeterFault::kJump;
      check.agreement = Agreement::kDisagree;
      check.reason = fmt::format("{} told {:.3g} J at once, {:.1f} s after the begin", name, more * windows.seconds,
                                 windows.begin_s[n] - begin_s);
    }
  };
  look(windows.first, windows.second, same ? *check.ratio : 1, 0, kTolerance, check.first);
  if (relation == Relation::kMore) return;
  const double gain = same ? 1 / std::max(*check.ratio, 1e-9) : slopes_of(relation).high;
  look(windows.second, windows.first, gain, rest_watts, same ? kTolerance : kRestsShare, check.second);
}

/// Judges the ratio of two meters that measure the same.
void judge_same(MeterCheck& check, const Windows& windows) {
  const double low = 1 / (1 + kTolerance), high = 1 + kTolerance;
  if (*check.ratio >= low && *check.ratio <= high) {
    check.agreement = Agreement::kAgree;
    return;
  }
  if (check.interval->low <= high && check.interval->high >= low) {
    check.reason =
        fmt::format("the ratio's interval reaches from {:.3g} to {:.3g}", check.interval->low, check.interval->high);
    return;
  }
  constexpr double kClearly = 1.5;  // of the squared deviations
  const Line gain = fit_gain(windows.second, windows.first), offset = fit_line(windows.second, windows.first, 1, 1);
  check.agreement = Agreement::kDisagree;
  check.fault = kClearly * offset.squares < gain.squares ? MeterFault::kOffset : MeterFault::kGain;
  const bool told_apart = check.fault == MeterFault::kOffset || kClearly * gain.squares < offset.squares;
  check.reason = check.fault == MeterFault::kOffset
                     ? fmt::format("{} tells {:+.3g} W against {}", check.first, offset.offset, check.second)
                     : fmt::format("{} tells {:.3g} times what {} does", check.first, *check.ratio, check.second);
  if (!told_apart) check.reason += fmt::format("; these windows do not tell that from {:+.3g} W", offset.offset);
}

void judge_part(MeterCheck& check) {
  check.agreement = Agreement::kAgree;
  if (*check.ratio <= 1) return;
  if (check.interval->low <= 1) {
    check.agreement = Agreement::kUndecided;
    check.reason = "the part may be above its whole";
    return;
  }
  check.fault = MeterFault::kGain;
  check.agreement = Agreement::kDisagree;
  check.reason = fmt::format("the part {} tells {:.3g} times what its whole does", check.first, *check.ratio);
}

/// The offset, if the first source's power varied enough for it.
void find_offset(MeterCheck& check, Relation relation, const Windows& windows) {
  constexpr double kEnough = 0.1;
  const double range = *quantile(windows.first, 0.9) - *quantile(windows.first, 0.1);
  if (range < kEnough * mean_of(windows.first)) return;
  const Slopes slopes = slopes_of(relation);
  check.offset_watts = fit_line(windows.first, windows.second, slopes.low, slopes.high).offset;
}

/// In which steps two sources tell new values, and by how much the second one follows the first (negative: it precedes
/// it); 0: nothing shows it.
struct Pace {
  double step_s = 0, lag_s = 0;
  double together = 0;  // the highest correlation of their changes at any lag
};

/// Looks for a lag of `most_s` at most. It must halve the unexplained variance, and the changes must correlate as well.
/// Of a load that goes in rounds a lag of more than half a round can't be told from one of less; and rounds of few
/// values may be shorter ones, which each source reads at other moments.
Pace find_lag(const CheckedSource& first, const CheckedSource& second, double step_s, double most_s) {
  constexpr double kLeastCorrelation = 0.5, kFewestErrors = 4, kFewestErrorsOfChanges = 3, kAsGood = 0.05;
  constexpr int kShortestRound = 12, kPartsOfAStep = 2;
  Pace pace{step_s};
  double round_s = std::numeric_limits<double>::max();
  for (const CheckedSource& source : {first, second}) {
    const double own_s = longest_s(source, &CheckedChannel::stated_s);
    const std::optional<int> round = find_round(windows_of(source, source, own_s, 0).first);
    if (round) round_s = std::min(round_s, *round * own_s);
  }
  most_s = std::min(most_s, (round_s - step_s) / 2);
  struct Try {
    double lag_s = 0, likeness = 0, of_changes = 0;
  };
  std::vector<Try> tries;
  const double count = static_cast<double>(windows_of(first, second, step_s, 0).count());
  const int most = static_cast<int>(std::clamp(most_s / step_s, 0.0, count / 4)) * kPartsOfAStep;
  for (int part = -most; part <= most; ++part) {
    const double lag_s = part * step_s / kPartsOfAStep;
    const Windows windows = windows_of(first, second, step_s, lag_s);
    tries.push_back({lag_s, correlation(windows.first, windows.second),
                     correlation(changes(windows.first), changes(windows.second))});
    pace.together = std::max(pace.together, tries.back().of_changes);
  }
  const Try now = tries[tries.size() / 2];
  const double highest = std::ranges::max_element(tries, {}, &Try::likeness)->likeness;
  Try best = now;
  double nearest_s = std::numeric_limits<double>::max();
  for (std::size_t n = 0; n < tries.size(); ++n) {
    const bool peak = (n == 0 || tries[n].likeness >= tries[n - 1].likeness) &&
                      (n + 1 == tries.size() || tries[n].likeness >= tries[n + 1].likeness);
    if (!peak || tries[n].likeness < highest - kAsGood || std::abs(tries[n].lag_s) >= nearest_s) continue;
    best = tries[n];
    nearest_s = std::abs(best.lag_s);
  }
  const double error = 1 / std::sqrt(std::max(1.0, count));
  const double unexplained = 1 - best.likeness * best.likeness, before = std::max(0.0, now.likeness);
  const bool shown = best.likeness >= std::max(kLeastCorrelation, kFewestErrors * error) &&
                     unexplained <= (1 - before * before) / 2 && best.of_changes >= kFewestErrorsOfChanges * error;
  if (shown && round_s >= kShortestRound * step_s) pace.lag_s = best.lag_s;
  return pace;
}

/// A value that stays the same for long looks like one that is seldom told. Where both sources change together, it is
/// the load that goes in steps.
Pace find_pace(const CheckedSource& first, const CheckedSource& second) {
  constexpr double kLongestLag_s = 5, kMostPeriods = 5;  // what meters hold back, and what they average
  constexpr double kTogether = 0.6;
  constexpr std::size_t kFewestSteps = 20;
  const auto longest = [&](double CheckedChannel::*period_s) {
    return std::max(longest_s(first, period_s), longest_s(second, period_s));
  };
  const double found_s = longest(&CheckedChannel::period_s);
  for (const double step_s : {longest(&CheckedChannel::stated_s), found_s}) {
    if (windows_of(first, second, step_s, 0).count() < kFewestSteps) continue;
    const Pace pace = find_lag(first, second, step_s, std::max(kLongestLag_s, kMostPeriods * step_s));
    if (step_s == found_s || pace.together >= kTogether) return pace;
  }
  return {found_s};
}

/// Tells a lag; it is a fault where it moves the meter's window away from the run's, and is more than what meters that
/// average, or are read by turns, have.
void tell_lag(MeterCheck& check, const Pace& pace, double run_s) {
  constexpr double kUsualLag_s = 1;
  const double lag_s = pace.lag_s;
  if (lag_s == 0) return;
  check.lag_s = lag_s;
  if (check.fault != MeterFault::kNone || std::abs(lag_s) <= std::max(kUsualLag_s, pace.step_s)) return;
  check.fault = MeterFault::kLag;
  const std::string text = fmt::format("{} follows {} by {:.3g} s", lag_s > 0 ? check.second : check.first,
                                       lag_s > 0 ? check.first : check.second, std::abs(lag_s));
  check.reason = text + (check.reason.empty() ? "" : "; " + check.reason);
  if (std::abs(lag_s) > kTolerance * run_s) check.agreement = Agreement::kDisagree;
}

/// What part of the run a source said nothing about: it came late, or went away.
std::string silence(const CheckedSource& source, double begin_s, double end_s) {
  std::string text;
  for (const CheckedChannel& channel : source) {
    const double gap_s = std::max(kShortestStop_s, kPeriodsOfAStop * channel.period_s);
    const double late_s = channel.curve.begin_s() - begin_s, early_s = end_s - channel.curve.end_s();
    const bool none = channel.curve.end_s() <= channel.curve.begin_s();
    if (none) text += fmt::format("{}{} told nothing", text.empty() ? "" : "; ", channel.name);
    if (!none && late_s > gap_s) {
      text += fmt::format("{}{} told nothing in the first {:.1f} s", text.empty() ? "" : "; ", channel.name, late_s);
    }
    if (!none && early_s > gap_s) {
      text += fmt::format("{}{} told nothing in the last {:.1f} s", text.empty() ? "" : "; ", channel.name, early_s);
    }
  }
  return text;
}

}  // namespace

bool lost_while_still(const CheckedChannel& channel) {
  const CheckedChannel::Still& still = channel.still;
  const double end_s = channel.curve.end_s(), known_s = end_s - channel.curve.begin_s();
  const double all_j = channel.curve.joules(channel.curve.begin_s(), end_s).value_or(0);
  const double within_j = channel.curve.joules(still.from_s, std::min(still.to_s, end_s)).value_or(0);
  const double outside_s = known_s - std::max(0.0, std::min(still.to_s, end_s) - still.from_s);
  if (outside_s <= 0) return false;
  const double expected_j = still.seconds() * (all_j - within_j) / outside_s;
  return within_j < expected_j / 2 && expected_j > kStepsOfAWindow * channel.step_j;
}

MeterCheck check_meters(const CheckedSource& first, const CheckedSource& second, Relation relation, double begin_s,
                        double end_s) {
  MeterCheck check{.first = name_of(first), .second = name_of(second), .nested = relation != Relation::kSame};
  std::string silent = silence(first, begin_s, end_s);
  if (const std::string other = silence(second, begin_s, end_s); !other.empty()) {
    silent += (silent.empty() ? "" : "; ") + other;
  }
  if (!silent.empty() && (!is_known(first) || !is_known(second))) {
    check.reason = silent;
    return check;
  }
  const Pace pace = find_pace(first, second);
  const double lag_s = pace.lag_s;
  const double common_s = std::min(known_to_s(first), known_to_s(second)) -
                          std::max(known_from_s(first), known_from_s(second)) - std::abs(lag_s);
  check.window_s = std::max({kShortestCheck_s, kPeriodsOfAWindow * pace.step_s, ten_steps_s(first), ten_steps_s(second),
                             common_s / static_cast<double>(kMostWindows)});
  const Windows windows = windows_of(first, second, check.window_s, lag_s);
  check.windows = static_cast<std::int64_t>(windows.count());
  std::vector<double> ratios;
  for (std::size_t n = 0; n < windows.count(); ++n) {
    if (windows.second[n] > 0) ratios.push_back(windows.first[n] / windows.second[n]);
  }
  check.ratio = median(ratios);
  check.interval = record::median_interval(ratios);
  find_stop(check, first, true, relation, windows, begin_s, end_s, pace.step_s);
  find_stop(check, second, false, relation, windows, begin_s, end_s, pace.step_s);
  find_spike(check, relation, windows, begin_s);
  if (!check.interval && check.fault == MeterFault::kNone) {
    check.reason = fmt::format("{} windows of {:.3g} s are too few to judge (at least {})", ratios.size(),
                               check.window_s, record::kFewestSamples);
  }
  if (check.interval) {
    find_jump(check, relation, windows, begin_s);
    find_offset(check, relation, windows);
    if (check.fault == MeterFault::kNone) {
      relation == Relation::kSame ? judge_same(check, windows) : judge_part(check);
    }
  }
  tell_lag(check, pace, end_s - begin_s);
  if (!silent.empty()) check.reason += (check.reason.empty() ? "" : "; ") + silent;
  return check;
}

void PowerCurve::add(double from_s, double to_s, double joules) {
  constexpr double kMostBins = 2048;
  if (to_s <= from_s) return;
  if (bins_.empty()) {
    origin_s_ = begin_s_ = from_s;
  }
  for (; to_s - origin_s_ >= kMostBins * width_s_; width_s_ *= 2) {
    const std::size_t merged = (bins_.size() + 1) / 2;
    for (std::size_t n = 0; n < merged; ++n) {
      Bin pair = bins_[2 * n];
      if (2 * n + 1 < bins_.size()) {
        pair.joules += bins_[2 * n + 1].joules;
        pair.seconds += bins_[2 * n + 1].seconds;
      }
      bins_[n] = pair;
    }
    bins_.resize(merged);
  }
  const auto first = static_cast<std::size_t>(std::max(0.0, from_s - origin_s_) / width_s_);
  const auto last = static_cast<std::size_t>(std::max(0.0, to_s - origin_s_) / width_s_);
  if (bins_.size() <= last) bins_.resize(last + 1);
  for (std::size_t n = first; n <= last; ++n) {
    const double bin_s = origin_s_ + static_cast<double>(n) * width_s_;
    const double within_s = std::min(to_s, bin_s + width_s_) - std::max(from_s, bin_s);
    bins_[n].joules += joules * within_s / (to_s - from_s);
    bins_[n].seconds += within_s;
  }
  end_s_ = to_s;
}

std::optional<double> PowerCurve::joules(double from_s, double to_s) const {
  constexpr double kLeastKnown = 0.99;
  const double last_s = std::min(to_s, end_s_), first_s = std::max(from_s, begin_s_);
  double joules = 0, known_s = 0;
  if (last_s <= first_s) return std::nullopt;
  const auto begin = static_cast<std::size_t>((first_s - origin_s_) / width_s_);
  for (std::size_t n = begin; n < bins_.size(); ++n) {
    // The first and the last bin are known in part, at one side.
    const double bin_s = origin_s_ + static_cast<double>(n) * width_s_;
    const double bin_from_s = std::max(bin_s, begin_s_), bin_to_s = std::min(bin_s + width_s_, end_s_);
    const double within_s = std::min(last_s, bin_to_s) - std::max(first_s, bin_from_s);
    if (bin_s >= last_s) break;
    if (within_s <= 0) continue;
    const double share = within_s / (bin_to_s - bin_from_s);
    joules += share * bins_[n].joules;
    known_s += share * bins_[n].seconds;
  }
  return known_s >= kLeastKnown * (to_s - from_s) ? std::optional(joules) : std::nullopt;
}

}  // namespace evener::measure
