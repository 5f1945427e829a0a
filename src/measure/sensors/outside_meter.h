// The user's own meters: one at the socket that answers over HTTP, a command that reads one, or a file that a logger
// writes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "measure/sensors/csv_cells.h"
#include "measure/sensors/energy_sensor.h"
#include "measure/sensors/poller.h"

namespace evener::measure {

/// The parsed argument of --meter, SOURCE[#PATH][=UNIT].
struct MeterSpec {
  enum class From { kHttp, kCommand, kCsv };
  From from = From::kHttp;
  std::string source;  // address, command or file
  std::string path;  // place of the value: a JSON path ("StatusSNS.ENERGY.Power"), a column's title, or text before it
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

/// Reads "http://10.0.0.5/rpc/Switch.GetStatus?id=0#aenergy.total=Wh", "run:COMMAND#=W", "csv:FILE#watts". Units: W
/// (the default), mW, kW, Wh, kWh, J. Throws UsageError.
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

 private:
  Reading reading_of(const Answer& answer);
  void note_clock(const Answer& answer);

  const std::string name_;
  const MeterSpec spec_;
  std::unique_ptr<Poller> poller_;
  const double every_s_;
  double asked_again_s_ = 0;
  double clock_sum_s_ = 0;
  int clock_samples_ = 0;
};

/// A growing file of rows with time stamps.
class CsvMeter final : public EnergySensor {
 public:
  CsvMeter(std::string channel, MeterSpec spec, std::function<double()> now_s);

  std::string name() const override { return "--meter csv"; }
  std::vector<Reading> read(double wait_s) override;

 private:
  struct Row {
    double time_s = 0;
    std::optional<double> value = {};  // watts or joules; absent: an empty line
    std::string error = {};            // why the row can't be read
  };
  std::string error_at_the_start();
  Row row_of(const std::string& line);
  bool take_rows(Reading& reading);

  const MeterSpec spec_;
  const std::function<double()> now_s_;
  char separator_ = ',';
  DecimalMark mark_ = DecimalMark::kUnknown;
  std::size_t columns_ = 0, time_column_ = 0, value_column_ = 0;
  std::uintmax_t offset_ = 0;          // in the file, after the last complete row
  std::size_t rows_ = 0;               // lines until there
  std::optional<double> least_lag_s_;  // our clock minus the file's at finding a row; the least so far
};

/// Opens the meter of a --meter argument; `channel` is its channel's name. Throws UsageError for a bad argument, and
/// Error if the meter doesn't work.
std::unique_ptr<EnergySensor> open_meter(const std::string& text, const std::function<double()>& now_s,
                                         const std::string& channel = "meter");

/// The server's built-in meter, read with ipmitool (`root`/dev/ipmi0).
std::unique_ptr<EnergySensor> open_ipmi(const std::string& root);

}  // namespace evener::measure
