// The user's own meters, each of which a command reads: one at the socket that answers over HTTP, a file that a logger
// writes.
#pragma once

#include <memory>
#include <string>

#include "measure/sensors/energy_sensor.h"

namespace evener::measure {

struct Answer {
  std::string text;   // the answer; empty: nothing yet, or an error
  std::string error;  // why there is no answer
  double at_s = 0;    // midpoint of question and answer, by boot_now_s()
};

/// Asks a slow source: the caller polls for the answer and never waits longer than it says.
class Poller {
 public:
  virtual ~Poller() = default;
  /// Asks unless a question is pending, and returns the answer once it is there. `wait_s`: how long to wait for it.
  virtual Answer poll(double wait_s) = 0;
};

/// Asks by running a shell command, whose stdout is the answer. It is killed after `limit_s` seconds.
std::unique_ptr<Poller> ask_command(std::string command, double limit_s);

/// The parsed argument of --meter, run:COMMAND[#PATH][=UNIT].
struct MeterSpec {
  std::string command;
  std::string path;        // place of the value: a JSON path ("StatusSNS.ENERGY.Power"), or text before it
  bool is_energy = false;  // true: a counter of energy; false: power
  double factor = 1;       // from the value to joules or watts
  std::string unit = "W";
};

struct MeterUnit {
  const char* name;
  bool is_energy;
  double factor;  // to watts or joules
};
/// The unit called `name`, or nullptr.
const MeterUnit* find_meter_unit(const std::string& name);

/// Reads "run:curl -s http://10.0.0.5/rpc/Switch.GetStatus?id=0#aenergy.total=Wh", "run:COMMAND#=W". Units: W (the
/// default), mW, kW, Wh, kWh, J. Throws UsageError.
MeterSpec parse_meter(const std::string& text);

/// The number in a meter's answer. In JSON it is the value at `path` ("a.b.0.c"); in other text the first number after
/// `path`, or the first of all if `path` is empty, and it may have a decimal comma. `unit`, if not null, gets the word
/// after a number in such text. Throws an Error that shows the answer.
double value_in(const std::string& answer, const std::string& path, std::string* unit = nullptr);

/// A meter that is asked for one value at a time.
class AskedMeter final : public EnergySensor {
 public:
  /// Asks again when `every_s` seconds have passed since the last answer.
  AskedMeter(std::string name, std::string channel, MeterSpec spec, double every_s, std::unique_ptr<Poller> poller);

  std::string name() const override { return name_; }
  std::vector<Reading> read(double wait_s) override;
  /// Why its first value can't be; "" = it can.
  const std::string& doubt() const { return doubt_; }

 private:
  Reading reading_of(const Answer& answer) const;

  const std::string name_;
  const MeterSpec spec_;
  std::unique_ptr<Poller> poller_;
  const double every_s_;
  double asked_again_s_ = 0;
  std::string doubt_;
};

/// Opens the meter of a --meter argument; `channel` is its channel's name. Throws UsageError for a bad argument, and
/// Error if the meter doesn't work.
std::unique_ptr<EnergySensor> open_meter(const std::string& text, const std::string& channel = "meter");

/// The server's built-in meter, read with ipmitool (`root`/dev/ipmi0).
std::unique_ptr<EnergySensor> open_ipmi(const std::string& root);

}  // namespace evener::measure
