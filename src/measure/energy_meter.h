// Reads the energy sensors during a run, sums energy counters and integrates powers, and keeps measured and estimated
// joules apart. It keeps only sums, so its memory doesn't grow with the run.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "measure/meter_check.h"
#include "measure/phase_recorder.h"
#include "measure/sensors/energy_sensor.h"
#include "record/energy.h"

namespace evener::measure {

/// Counters tell nothing of a shorter time.
inline constexpr double kShortestWindow_s = 1;

/// The times at which a channel's value changed, as far as readings show them.
class UpdatePeriod {
 public:
  /// `moved`: the value differs from the last reading's.
  void take(bool moved, double at_s);

  /// The seconds between two changes. Absent below four changes, and where the value changed at nearly every reading,
  /// as it may change more often than it is read. A power's must be multiples of the shortest, as it may also stay the
  /// same because nothing changed. `is_power`: it is one, not a counter.
  std::optional<double> seconds(bool is_power) const;
  /// The longest time without a change until now, and the length of the next longest.
  CheckedChannel::Still longest() const;
  double next_longest_s() const;

 private:
  std::vector<double> gaps_s_;  // between changes; the first 256
  std::size_t still_gaps_ = 0;  // of these, those in which a reading showed it standing still
  bool begun_ = false, moved_before_ = false, stood_ = false;
  CheckedChannel::Still still_ = {};    // since the last change
  CheckedChannel::Still longest_ = {};  // of those that ended
  double next_longest_s_ = 0;
};

/// A counter's device that also tells its power: the counter is held against it before it is trusted.
class OwnPower {
 public:
  /// `counted_j`: what the counter has come to since its first reading.
  void take(double watts, double counted_j, double at_s, double longest_gap_s);

  /// Whether the counter stood still while there was power, or differs from it by more than a factor of two, over half
  /// a second at least. Allows for a power that is the mean of the last second. Once true, it stays so.
  bool contradicts() const { return contradicts_; }
  /// The counter said what can't be: it contradicts, if there is a power.
  void distrust_counter() { contradicts_ = contradicts_ || watts_.has_value(); }
  double joules() const { return summed_j_; }
  std::optional<double> watts() const { return watts_; }
  double peak_watts() const { return highest_; }
  const PowerCurve& curve() const { return curve_; }

 private:
  std::optional<double> watts_ = {};
  double at_s_ = 0, counted_j_ = 0;
  double summed_j_ = 0;
  double compared_s_ = 0, compared_j_ = 0, compared_count_j_ = 0;  // over gaps short enough to compare
  double lowest_ = 0, highest_ = 0;
  bool contradicts_ = false;
  PowerCurve curve_;
};

/// Follows one channel of a sensor from reading to reading: sums its counter or integrates its power, and finds how
/// finely and how often its value changes. It keeps sums and a curve of bounded size, so its memory doesn't grow.
class ChannelMeter {
 public:
  ChannelMeter(const Channel& channel, std::string sensor) : channel_(&channel), sensor_(std::move(sensor)) {}

  const Channel& channel() const { return *channel_; }
  const std::string& sensor() const { return sensor_; }
  const std::string& problem() const { return problem_; }
  bool was_read() const { return readings_ > 0; }
  std::optional<std::uint64_t> count() const { return last_count_; }
  /// Whether its counter, whose resolution is known, stood still for a second from the first reading on: it is dead.
  bool never_moved() const;
  bool added = false;                     // one of those that add up
  const ChannelMeter* mirrors = nullptr;  // of another zone that reads the same counter, which is added instead

  /// Takes a reading that was asked for at `asked_s` and is there at `now_s`.
  void take(const Reading& reading, double asked_s, double now_s);

  /// Since the first reading.
  double joules() const;
  /// Since the reading before; absent if not known.
  std::optional<double> watts() const;
  double peak_watts() const { return peak_watts_; }
  /// Smallest increment of the counter; 0 for power.
  double step_j() const;
  /// Between two changes of its value: as found, if it is longer than its sensor states.
  double period_s() const;
  /// Windows that are shorter hold too few changes of its value.
  double shortest_window_s() const;

  /// What is extrapolated to both ends of a window: a reading may be older than the poll() that got it. Uses the
  /// nearest power for a meter of power and the mean power for a counter. Negative where readings reach beyond it.
  struct Held {
    double joules = 0, at_most_j = 0;
  };
  Held held(double begin_s, double end_s) const;
  /// Why its energy from `begin_s` to `end_s`, a window of `window_s` seconds, is not known; empty = it is.
  std::string absence(std::optional<double> begin_s, std::optional<double> end_s, double window_s) const;
  /// That it mirrors another one. Only where it does.
  std::string mirror_text() const;
  /// Remarks for the reader.
  std::string note(double joules) const;
  CheckedChannel checked() const;

 private:
  void take_count(std::uint64_t count, double at_s);
  void take_watts(double watts, double at_s);
  bool by_power() const { return own_power_.contradicts(); }
  bool counts() const { return channel_->joules_per_count > 0; }
  /// Cards can be switched off, and memory is counted on machines that have no sensor for it.
  bool may_draw_nothing() const {
    return channel_->covers == record::Covers::kGpu || channel_->covers == record::Covers::kDram;
  }
  double counted_j() const { return static_cast<double>(counts_) * channel_->joules_per_count; }
  double longest_gap_s() const;
  double most_j(double at_s) const;
  std::string coarseness() const;

  const Channel* channel_;
  std::string sensor_;
  std::optional<std::uint64_t> last_count_ = {};
  std::optional<double> last_watts_ = {};
  double last_s_ = 0;                           // time of either
  double first_s_ = 0, first_watts_ = 0;        // time and power of the first reading
  double moved_s_ = 0;                          // time at which the counter last changed
  std::uint64_t divisor_ = 0;                   // greatest common divisor of its counts
  double largest_move_j_ = 0;                   // largest change between readings close in time
  std::int64_t moves_ = 0;                      // readings at which it had changed
  bool stood_still_ = false;                    // once stayed the same for longer than its stated step_s
  std::uint64_t counts_ = 0;                    // summed changes
  double summed_j_ = 0;                         // integral of power
  double unseen_s_ = 0;                         // time without a known power
  double step_watts_j_ = 0, step_watts_s_ = 0;  // of the last reading
  double peak_watts_ = 0;
  std::int64_t readings_ = 0, left_out_ = 0;
  std::string problem_ = {};  // why it can't be used at all
  std::string error_ = {};    // why its last missing value was missing
  UpdatePeriod period_;
  OwnPower own_power_;
  PowerCurve curve_;
};

/// Divides energy among phases: the energy between two readings goes to the phases that ended between them, in
/// proportion to their time.
class PhaseEnergyDivider {
 public:
  /// Takes in that `joules` were used in the last `seconds`. `totals`: phases of the run so far. A phase that lasted
  /// longer than `seconds` also gets earlier energy that no phase has claimed, as far back as it reaches.
  void add(double joules, double seconds, const PhaseTotals& totals);

  /// The energy of each phase that occurred, and of "other", the rest. `step_s`: the interval at which counters change.
  /// Phases whose marks last less than ten such steps on average are flagged as inaccurate.
  std::vector<record::PhaseEnergy> phases(double step_s) const;

 private:
  struct Piece {
    double joules = 0, seconds = 0;
  };
  Piece take(double seconds);

  std::deque<Piece> unclaimed_;  // in order of time; the oldest are merged
  PhaseTotals last_;
  std::array<double, kPhaseCount> joules_{};
};

/// The power of each channel before the run, while nothing was computed.
struct IdlePower {
  struct Of {
    std::string sensor, channel;
    double watts = 0;
  };
  std::vector<Of> channels;
  std::optional<double> watts = {};               // sum over the channels that add up
  std::optional<record::Interval> interval = {};  // 95 % interval of `watts`
  double seconds = 0;
  std::string reason = {};  // why `watts` is absent
};

class EnergyMeter {
 public:
  using Clock = std::function<double()>;

  explicit EnergyMeter(Sensors sensors, Clock clock = boot_now_s);

  /// Why no energy can be measured, with advice; empty = it can.
  const std::string& refusal() const { return refusal_; }

  /// Reads all sensors and adds the energy used since the last call; the first call starts at 0. Must be called more
  /// often than a counter wraps around (at 200 W about every 5 minutes); if it may have wrapped more than once, that
  /// channel's energy is absent. `wait_s`: see EnergySensor::read(). `cpu_share`: this program's share of the busy CPU
  /// time since the last call. `phases`: totals of the run so far; null: energy isn't divided among phases.
  void poll(double wait_s = 0, std::optional<double> cpu_share = {}, const PhaseTotals* phases = nullptr);

  /// Seconds from the first poll() to the last.
  double seconds() const { return last_s_ && first_s_ ? *last_s_ - *first_s_ : 0; }
  /// The energy used in that time, for a run of `window_s` seconds. Absent, with a reason, below one second.
  record::Energy energy(double window_s, const IdlePower& idle = {}) const;

  /// All channels' meters as of the last poll(), in their sensors' order.
  const std::vector<ChannelMeter>& meters() const { return meters_; }
  /// What the sum lacks: parts that its sensors see and can't read, each with why, or all processors. Where all parts
  /// of a sensor are refused, another one may measure them.
  std::vector<std::string> lacks() const;
  /// Joules of all channels that add up; absent if one of them can't be followed.
  std::optional<double> joules_so_far() const;
  /// Shorter windows hold too few changes of a value that adds up, as far as its readings show by now; 0 = none is
  /// known.
  double shortest_window_s() const;
  /// The devices' states as of the last poll().
  const std::vector<DeviceState>& states() const { return states_; }

 private:
  /// Two channels of a sensor that may be one counter.
  struct Pair {
    ChannelMeter *first, *second;
    std::int64_t moves = 0, apart = 0;  // readings that moved on, and of these those that differed

    bool is_one() const { return moves > 0 && kFewApart * apart <= moves; }
    static constexpr std::int64_t kFewApart = 5;
  };
  void choose_added();
  void find_mirrors(double reading_s);
  bool sees_processors() const;
  void look_at_devices();
  ChannelMeter::Held held(const ChannelMeter& meter) const;
  record::DeviceEnergy device(const ChannelMeter& meter, double window_s, const IdlePower& idle) const;
  void sum_up(record::Energy& energy, const IdlePower& idle) const;
  std::vector<record::MeterCheck> checks() const;

  Sensors sensors_;
  Clock clock_;
  std::vector<ChannelMeter> meters_;
  std::vector<Pair> pairs_;  // of those that were chosen to be added
  std::vector<DeviceState> states_;
  std::string refusal_;
  std::optional<double> first_s_, last_s_;
  double process_j_ = 0;
  bool process_known_ = false;
  PhaseEnergyDivider phases_;
  bool phases_known_ = false;
};

/// Measures idle power for `seconds`, polling `meter` every `step_s`; longer, up to two minutes, if a meter's value
/// turns out to change too seldom for that. A stop request ends it early. `sleep`: waits for the given seconds.
IdlePower measure_idle(EnergyMeter& meter, double seconds, double step_s, const std::function<void(double)>& sleep);

}  // namespace evener::measure
