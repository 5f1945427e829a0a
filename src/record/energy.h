// The energy of a run as in its record. Each value has a class (measured, estimated, ...), and sums say which classes
// they contain.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/statistics.h"

namespace evener::record {

/// kMeasured: by a sensor. kDerived: a share of measured energy, such as by CPU time. kEstimated: from powers that the
/// user stated. kMixed: a sum over several classes. kAbsent: unknown.
enum class EnergyClass { kAbsent, kMeasured, kDerived, kEstimated, kMixed };
const char* energy_class_name(EnergyClass kind);
/// The class of a sum of values of classes `a` and `b`; kAbsent changes nothing.
EnergyClass together(EnergyClass a, EnergyClass b);

/// "41.2 uJ", "0.35 mJ", "1.2 kJ": joules with three significant digits.
std::string joules_text(double joules);

/// The part of the machine that a channel measures. kPackage, kDram and kGpu add up; kMachine includes all of them.
enum class Covers { kPackage, kDram, kGpu, kMachine };
const char* covers_name(Covers covers);

/// The energy of one channel of a sensor.
struct DeviceEnergy {
  std::string name;    // "package-0"
  std::string sensor;  // "powercap"
  Covers covers = Covers::kPackage;
  EnergyClass kind = EnergyClass::kAbsent;
  bool added = false;  // counts in Energy::joules
  bool used = true;    // the run computed on it
  std::optional<double> joules = {}, mean_watts = {}, peak_watts = {};
  /// From the counter's resolution and the extrapolation to both ends of the run; absent unless kMeasured.
  std::optional<double> uncertainty_joules = {};
  std::optional<double> idle_watts = {};  // before the run
  std::optional<double> net_joules = {};  // joules minus idle energy; negative if the run drew less
  /// Between two changes of its value, as far as readings showed it standing still; else as its sensor states it.
  std::optional<double> update_period_s = {};
  std::string note = {};    // a remark for the reader
  std::string reason = {};  // why `joules` is absent
  std::string host = {};    // its host, if there are several
  std::string uuid = {};    // of a card that reports one
};

/// What two sources that measured the same, or of which one measured a part of the other, say of each other.
enum class Agreement { kUndecided, kAgree, kDisagree };
const char* agreement_name(Agreement agreement);

/// How one source differs from another. kGain: by a factor. kOffset: by constant watts. kLag: it follows later. kStop:
/// it stood still. kJump: their relation changed within the run.
enum class MeterFault { kNone, kGain, kOffset, kLag, kStop, kJump };
const char* meter_fault_name(MeterFault fault);

/// Two sources of a run held against each other, by their joules in consecutive windows.
struct MeterCheck {
  std::string first, second;              // "package-0 + gpu 0", "meter"
  bool nested = false;                    // `second` measures all that `first` does, and more; else both the same
  std::optional<double> ratio = {};       // joules of `first` / joules of `second`, the median over the windows
  std::optional<Interval> interval = {};  // 95 % interval of `ratio`; absent below ten windows
  std::int64_t windows = 0;
  double window_s = 0;
  std::optional<double> offset_watts = {};  // what `second` draws when `first` draws nothing; absent if not separable
  std::optional<double> lag_s = {};         // `second` tells this much later than `first`; absent if none was seen
  Agreement agreement = Agreement::kUndecided;
  MeterFault fault = MeterFault::kNone;
  std::string reason = {};  // what is wrong, or why it is undecided; empty if they agree
};

/// The idle power of the added devices, measured before the run.
struct IdleEnergy {
  std::optional<double> watts = {};
  std::optional<Interval> interval = {};  // 95 % interval of the mean; absent if measured too briefly
  double seconds = 0;                     // duration of the measurement
};

/// The energy of a phase.
struct PhaseEnergy {
  std::string phase;
  double joules = 0;
  double seconds = 0;
  EnergyClass kind = EnergyClass::kDerived;
  bool short_marks = false;  // marks shorter than ten counter steps: inaccurate
};

/// The energy of a run, or the reasons why parts of it are absent.
struct Energy {
  struct Domain {
    std::string name;  // "package-0", "package-0 dram"
    double joules = 0;
  };
  std::optional<double> joules = {};   // of all added devices, idle power included
  std::optional<double> edp_js = {};   // energy-delay product: joules x seconds of the same window
  std::optional<double> seconds = {};  // length of the window
  std::string source = {};             // "powercap (measured): package-0, package-0 dram"
  std::string reason = {};             // why joules is absent; empty otherwise
  std::vector<Domain> domains = {};    // what was added up
  EnergyClass kind = EnergyClass::kAbsent;
  std::optional<double> uncertainty_joules = {};  // of the measured devices together
  std::optional<double> ed2p_js2 = {};            // joules x seconds x seconds
  std::map<std::string, double> by_class = {};    // the parts of `joules`: "measured" -> joules
  std::optional<double> used_joules = {};         // without the devices that the run left idle
  std::optional<double> used_edp_js = {};
  std::string used_reason = {};  // why used_joules is absent while `joules` is not
  IdleEnergy idle = {};
  std::optional<double> net_joules = {};      // joules - idle power x seconds; may be negative
  std::optional<Interval> net_interval = {};  // from the interval of the idle power
  std::string net_reason = {};                // why net_joules is absent
  std::optional<double> process_joules = {};  // the CPU's energy x this program's share of busy CPU time
  std::string process_reason = {};            // why process_joules is absent while `joules` is not
  std::vector<DeviceEnergy> devices = {};     // every channel that was read, added or not
  std::vector<PhaseEnergy> phases = {};
  std::string phases_reason = {};       // why `phases` is empty
  std::vector<MeterCheck> checks = {};  // of sources that measure the same, or parts of each other
  std::vector<std::string> lost = {};   // counters that could not be followed to the end, each with why
  // Of the work on images alone, by which the energy of an image is told: without the start, the warm-up, and passes
  // that only measure.
  std::optional<double> work_joules = {}, work_seconds = {};
  std::string work_reason = {};         // why work_joules is absent while `joules` is not
  std::vector<std::string> lacks = {};  // parts of the machine that could not be read, each with why
};

/// The part of joules, seconds or watts that falls to each of so many images; absent for none.
std::optional<double> per_image(const std::optional<double>& amount, double images);
/// "without package-1 (no right to read /sys/...)": what the sum lacks; "" = nothing that is known.
std::string lacks_text(const Energy& energy);
/// "package-0 and meter contradict each other (gain): ..."; "" if they don't.
std::string contradiction_text(const MeterCheck& check);

/// Computes the energy-delay products from joules and seconds.
void set_products(Energy& energy);

// The energy of a run on several hosts: each host reads its own sensors and sends the result to the first host at the
// end.

/// A host's energy as a message, and back. Throws Error for a text that isn't such a message.
std::string energy_message(const Energy& energy);
Energy energy_of_message(const std::string& message);

/// Adds the other hosts' energies to `energy`, the first host's. `names` and `energies` are by host; energies[0] is
/// ignored. If one host's energy is unknown, so is the sum, but all known devices are listed.
void add_hosts(Energy& energy, const std::vector<std::string>& names, const std::vector<Energy>& energies);

}  // namespace evener::record
