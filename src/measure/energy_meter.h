// Follows the sensors of a run: reads them, adds up what counters and powers say, and keeps the classes of joules
// apart. It holds sums alone, however long a run is.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "measure/phase_energy.h"
#include "measure/sensors/energy_sensor.h"
#include "record/energy.h"

namespace evener::measure {

/// The power of each channel while nothing ran.
struct IdlePower {
  struct Of {
    std::string sensor, channel;
    double watts = 0;
  };
  std::vector<Of> channels;
  std::optional<double> watts = {};               // of the channels that add up
  std::optional<record::Interval> interval = {};  // of 95 %, of `watts`
  double seconds = 0;
  std::string reason = {};  // why there is none
};

class EnergyMeter {
 public:
  using Clock = std::function<double()>;

  explicit EnergyMeter(Sensors sensors, Clock clock = boot_now_s);

  /// Why no energy can be known, with what to do about it; empty = it can.
  const std::string& refusal() const { return refusal_; }

  /// Reads all sensors and adds what was used since the last call; the first call sets the zero. A counter must be read
  /// more often than it goes round (at 200 W about every 5 minutes); where it can't be known how often it did, its
  /// energy is absent. `wait_s`: see EnergySensor::read(). `cpu_share`: of the busy CPU time since the last call, this
  /// program's.
  void poll(double wait_s = 0, std::optional<double> cpu_share = {}, const PhaseTotals* phases = nullptr);

  /// Between the beginnings of the first and the last poll().
  double seconds() const;
  /// What was used in that time, over `window_s`. Windows under one second are refused.
  record::Energy energy(double window_s, const IdlePower& idle = {}) const;

  /// A channel as the last poll() saw it.
  struct Now {
    std::string sensor, channel;
    bool added = false;
    double joules = 0;                 // since the first poll()
    std::optional<double> watts = {};  // since the one before
  };
  std::vector<Now> now() const;
  /// Of all channels that add up; absent where one of them can't be followed.
  std::optional<double> joules_so_far() const;
  /// As the last poll() saw them.
  const std::vector<DeviceState>& states() const { return states_; }

 private:
  struct Meter {
    const Channel* channel = nullptr;
    std::string sensor;
    bool added = false;
    std::optional<std::uint64_t> last_count = {};
    std::optional<double> last_watts = {};
    double last_s = 0;                          // when either was so
    double first_s = 0, first_watts = 0;        // of the first reading
    double moved_s = 0;                         // when the counter was last seen to have moved
    std::uint64_t divisor = 0;                  // that all its counts have in common
    double largest_move_j = 0;                  // between two readings that came soon after each other
    std::int64_t moves = 0;                     // readings at which it had moved
    bool stood_still = false;                   // for longer than it takes to change
    std::uint64_t counts = 0;                   // added up
    double summed_j = 0;                        // of powers
    double unseen_s = 0;                        // for which no power is known
    double step_watts_j = 0, step_watts_s = 0;  // what came with the last poll()
    double peak_watts = 0;
    std::int64_t readings = 0;
    std::string problem = {};  // why it could not be followed
    std::string error = {};    // why it had no value at some time

    double joules() const;
    double step_j() const;
    double longest_gap_s() const;
  };
  void take(Meter& meter, const Reading& reading, double asked_s, double now);
  static void take_count(Meter& meter, std::uint64_t count, double at_s);
  static void take_watts(Meter& meter, double watts, double at_s);
  void choose_added();
  bool sees_processors() const;
  void look_at_devices();
  struct Held {
    double joules = 0, at_most_j = 0;
  };
  Held held(const Meter& meter) const;
  std::string coarseness(const Meter& meter) const;
  std::string absence(const Meter& meter, double window_s) const;
  record::DeviceEnergy device(const Meter& meter, double window_s, const IdlePower& idle) const;
  void sum_up(record::Energy& energy, const IdlePower& idle) const;

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

/// The power that the meter sees within `seconds` of rest, with a look every `step_s`; a stop request ends it. `sleep`:
/// waits so long.
IdlePower measure_idle(EnergyMeter& meter, double seconds, double step_s, const std::function<void(double)>& sleep);

}  // namespace evener::measure
