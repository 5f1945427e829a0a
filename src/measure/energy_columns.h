// The columns of samples.csv for energy, power and the state of devices.
#pragma once

#include <string>
#include <vector>

#include "measure/energy_meter.h"

namespace evener::measure {

/// The column of the joules since the run's start, summed over the channels that add up.
inline constexpr const char* kJoulesColumn = "energy_joules";
/// The beginning of a phase column's name. The column has the phase's percentage of the time since the last sample,
/// counting marks that ended in it.
inline constexpr const char* kPhaseBeginning = "phase_";
/// The end of the name of a channel's power column.
inline constexpr const char* kWattsEnding = "_watts";

class EnergyColumns {
 public:
  /// Makes a column for each channel, several for each device and, with `with_phases`, one for each phase.
  EnergyColumns(const EnergyMeter& meter, bool with_phases);

  /// For a resumed run: from now on gives exactly the columns that the existing file has. `header`: the file's first
  /// line.
  void go_on_with(const std::string& header);

  /// The end of the header line: ",energy_joules,package-0_watts", or "" without columns.
  std::string titles() const;
  /// The end of a row, ",120.5,65.0", as of the meter's last poll(). `phases`: the marks that ended within the last
  /// `seconds`; null = unknown.
  std::string cells(const EnergyMeter& meter, const PhaseTotals* phases, double seconds) const;

 private:
  std::vector<std::string> titles_;
};

}  // namespace evener::measure
