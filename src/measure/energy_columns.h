// The columns of samples.csv that tell power and how devices are doing.
#pragma once

#include <string>
#include <vector>

#include "measure/energy_meter.h"

namespace evener::measure {

/// Of all added channels together, since the run's start.
inline constexpr const char* kJoulesColumn = "energy_joules";
/// How the name of a phase's column begins: the share of the time since the last sample, as far as marks have ended.
inline constexpr const char* kPhaseBeginning = "phase_";
/// How the name of a channel's column ends.
inline constexpr const char* kWattsEnding = "_watts";

class EnergyColumns {
 public:
  /// A column for each channel, some for each device, and one for each phase where these are known.
  EnergyColumns(const EnergyMeter& meter, bool with_phases);

  /// Writes those columns alone that a file has already, of a run that goes on; `header`: its first line.
  void go_on_with(const std::string& header);

  /// ",energy_joules,package-0_watts", or nothing.
  std::string titles() const;
  /// ",120.5,65.0": as the last poll() saw it. `phases`: those that ended within the last `seconds`; null = not known.
  std::string cells(const EnergyMeter& meter, const PhaseTotals* phases, double seconds) const;

 private:
  std::vector<std::string> titles_;
};

}  // namespace evener::measure
