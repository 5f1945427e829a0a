// What a user has: a meter at the socket that answers over HTTP, a command that reads one, or a file that a logger
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

/// SOURCE[#PATH][=UNIT] of --meter.
struct MeterSpec {
  enum class From { kHttp, kCommand, kCsv };
  From from = From::kHttp;
  std::string source;  // the address, the command, the file
  std::string path;    // of the value: "apower", "StatusSNS.ENERGY.Power"; a column's title; a text before the number
  bool is_energy = false;  // a counter of energy, or power
  double factor = 1;       // of the value to joules or watts
  std::string unit = "W";
};

struct MeterUnit {
  const char* name;
  bool is_energy;
  double factor;  // to watts or joules
};
/// nullptr where there is no such unit.
const MeterUnit* find_meter_unit(const std::string& name);

/// Reads "http://10.0.0.5/rpc/Switch.GetStatus?id=0#aenergy.total=Wh", "run:COMMAND#=W", "csv:FILE#watts". Units: W
/// (the default), mW, kW, Wh, kWh, J. Throws UsageError.
MeterSpec parse_meter(const std::string& text);

/// The number that `path` names in an answer: in JSON the value there ("a.b.0.c"), in another text the first number, or
/// the first one after `path`, which may have a decimal comma. `unit`, if not null, gets the word behind that one.
/// Throws Error that says what there is instead.
double value_in(const std::string& answer, const std::string& path, std::string* unit = nullptr);

/// A meter whose answers are asked for one after the other.
class AskedMeter final : public EnergySensor {
 public:
  /// It is asked again when `every_s` has passed.
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

/// A file of rows with time stamps that grows while the run goes on.
class CsvMeter final : public EnergySensor {
 public:
  CsvMeter(std::string channel, MeterSpec spec, std::function<double()> now_s);

  std::string name() const override { return "--meter csv"; }
  std::vector<Reading> read(double wait_s) override;

 private:
  struct Row {
    double time_s = 0;
    std::optional<double> value = {};  // watts or joules; absent: the line is empty
    std::string error = {};            // why it can't be read
  };
  std::string error_at_the_start();
  Row row_of(const std::string& line);
  bool take_rows(Reading& reading);

  const MeterSpec spec_;
  const std::function<double()> now_s_;
  char separator_ = ',';
  DecimalMark mark_ = DecimalMark::kUnknown;
  std::size_t columns_ = 0, time_column_ = 0, value_column_ = 0;
  std::uintmax_t offset_ = 0;          // in the file, behind the last whole row
  std::size_t rows_ = 0;               // until there, as an editor counts lines
  std::optional<double> least_lag_s_;  // our clock less the file's, when a row was found: as little as it ever was
};

/// Opens the meter, whose channel is called so. Throws UsageError and Error: what a user asks for by name has to work.
std::unique_ptr<EnergySensor> open_meter(const std::string& text, const std::function<double()>& now_s,
                                         const std::string& channel = "meter");

/// A server's own meter through ipmitool (`root`/dev/ipmi0).
std::unique_ptr<EnergySensor> open_ipmi(const std::string& root);

}  // namespace evener::measure
