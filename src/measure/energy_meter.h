// Reads the energy sensors during a run, sums energy counters and integrates powers, and keeps measured and estimated
// joules apart. It keeps only sums, so its memory doesn't grow with the run.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "measure/channel_meter.h"
#include "measure/phase_recorder.h"
#include "measure/sensors/energy_sensor.h"
#include "record/energy.h"

namespace evener::measure {

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
  double seconds() const;
  /// The energy used in that time, for a run of `window_s` seconds. Absent, with a reason, below one second.
  record::Energy energy(double window_s, const IdlePower& idle = {}) const;

  /// A channel's state as of the last poll().
  struct Now {
    std::string sensor, name;
    bool added = false;
    double joules = 0;                 // since the first poll()
    std::optional<double> watts = {};  // since the poll() before
    record::Covers covers = record::Covers::kPackage;
    record::EnergyClass kind = record::EnergyClass::kMeasured;
    std::string uuid = {};  // of a card that reports one
  };
  std::vector<Now> now() const;
  /// Joules of all channels that add up; absent if one of them can't be followed.
  std::optional<double> joules_so_far() const;
  /// Shorter windows hold too few changes of a value that adds up, as far as its readings show by now; 0 = none is
  /// known.
  double shortest_window_s() const;
  /// The devices' states as of the last poll().
  const std::vector<DeviceState>& states() const { return states_; }

 private:
  struct Meter {
    ChannelMeter of;
    bool added = false;
  };
  void choose_added();
  bool sees_processors() const;
  void look_at_devices();
  ChannelMeter::Held held(const ChannelMeter& meter) const;
  record::DeviceEnergy device(const Meter& meter, double window_s, const IdlePower& idle) const;
  void sum_up(record::Energy& energy, const IdlePower& idle) const;
  std::vector<record::MeterCheck> checks() const;

  Sensors sensors_;
  Clock clock_;
  std::vector<Meter> meters_;  // of the channels of all sensors, in their order
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
