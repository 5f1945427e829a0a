// What is known of a run's energy, as its record tells it. Each joule has a class, and sums say which they hold.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/statistics.h"

namespace evener::record {

/// kMeasured: by a sensor. kDerived: a share of that, as by CPU time. kEstimated: from powers that a user stated.
/// kMixed: a sum over several of these. kAbsent: not known.
enum class EnergyClass { kAbsent, kMeasured, kDerived, kEstimated, kMixed };
/// "absent", "measured", "derived", "estimated", "mixed".
const char* energy_class_name(EnergyClass kind);
/// Of a sum over both; what is absent changes nothing.
EnergyClass together(EnergyClass a, EnergyClass b);

/// What a channel's energy is that of. Packages, memory and GPUs add up; what covers a whole machine holds all of them.
enum class Covers { kPackage, kDram, kGpu, kMachine };
/// "package", "dram", "gpu", "machine".
const char* covers_name(Covers covers);

/// The energy of one channel of a sensor.
struct DeviceEnergy {
  std::string name;    // "package-0"
  std::string sensor;  // "powercap"
  Covers covers = Covers::kPackage;
  EnergyClass kind = EnergyClass::kAbsent;
  bool added = false;  // is part of Energy::joules
  bool used = true;    // the run computed on it
  std::optional<double> joules = {}, mean_watts = {}, peak_watts = {};
  /// By the steps of its counter, and by what was held to the ends of the run; absent for what is no measurement.
  std::optional<double> uncertainty_joules = {};
  std::optional<double> idle_watts = {};  // before the run
  std::optional<double> net_joules = {};  // without that; below zero where the run drew less
  std::string note = {};                  // what a reader has to know
  std::string reason = {};                // why `joules` is absent
  std::string host = {};                  // whose it is, where there are several
  std::string uuid = {};                  // of a card that tells it
};

/// The power that the added devices drew before the run.
struct IdleEnergy {
  std::optional<double> watts = {};
  std::optional<Interval> interval = {};  // of 95 %, of the mean; absent for less than ten parts
  double seconds = 0;                     // it was measured for
};

/// The energy of a phase.
struct PhaseEnergy {
  std::string phase;
  double joules = 0;
  double seconds = 0;
  EnergyClass kind = EnergyClass::kDerived;
  bool short_marks = false;  // its marks are shorter than ten steps of the counters
};

/// What an energy figure is, or why there is none.
struct Energy {
  struct Domain {
    std::string name;  // "package-0", "package-0 dram"
    double joules = 0;
  };
  std::optional<double> joules = {};   // of all devices that add up, idle power included
  std::optional<double> edp_js = {};   // energy-delay product: joules x seconds of the same window
  std::optional<double> seconds = {};  // length of the window
  std::string source = {};             // "powercap (measured): package-0, package-0 dram"
  std::string reason = {};             // why joules is absent; empty otherwise
  std::vector<Domain> domains = {};    // what was added up
  EnergyClass kind = EnergyClass::kAbsent;
  std::optional<double> uncertainty_joules = {};  // of the measured part: of its devices together
  std::optional<double> ed2p_js2 = {};            // joules x seconds x seconds
  std::map<std::string, double> by_class = {};    // "measured" -> joules: the parts of a mixed sum
  std::optional<double> used_joules = {};         // without the devices that the run left idle
  std::optional<double> used_edp_js = {};
  std::string used_reason = {};  // why used_joules is absent where `joules` is not
  IdleEnergy idle = {};
  std::optional<double> net_joules = {};      // joules - idle power x seconds; below zero is told
  std::optional<Interval> net_interval = {};  // from that of the idle power
  std::string net_reason = {};                // why net_joules is absent
  std::optional<double> process_joules = {};  // derived: of the processor's, this program's share of the busy CPU time
  std::string process_reason = {};            // why that is absent where `joules` is not
  std::vector<DeviceEnergy> devices = {};     // every channel that was read, added or not
  std::vector<PhaseEnergy> phases = {};
  std::string phases_reason = {};      // why there are none
  std::vector<std::string> lost = {};  // counters that could not be followed to the end, each with why
};

/// Fills the products of energy and time from joules and seconds.
void set_products(Energy& energy);

}  // namespace evener::record
