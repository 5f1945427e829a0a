// A thread that samples this process and the machine twice a second: CPU, memory, other programs' load, energy
// counters. Each sample is written to samples.csv at once, so that a killed run keeps them.
// Its columns of samples.csv for energy, power and the state of devices.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/energy_meter.h"
#include "measure/phase_recorder.h"
#include "measure/sensors/open_sensors.h"
#include "record/record.h"

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

struct SamplerOptions {
  int interval_ms = 500;             // 100 to 10000; outside: UsageError
  std::filesystem::path csv = {};    // samples.csv, replaced unless `append`; empty = not written
  double csv_start_s = 0;            // added to the times of the file
  bool append = false;               // continue the file of a resumed run; an empty one gets a header
  std::filesystem::path root = "/";  // where proc/ and sys/ are (tests give a made-up tree)
  EnergyOptions energy = {};
  IdlePower idle = {};                       // measured before the run
  std::function<PhaseTotals()> phases = {};  // totals so far; empty: unknown
};

/// What a device with sensors did during a run.
struct DeviceUse {
  std::string name;  // "gpu 0"
  std::optional<record::Spread> utilisation_percent, memory_bytes, clock_mhz, temperature_c;
  std::int64_t samples = 0, throttled_samples = 0;
  std::string throttle_reasons;  // all reasons seen
  std::string uuid = {};         // of a card that reports one
};

struct SamplerSummary {
  double begin_s = 0;  // by now_s(): the zero of the times in samples.csv, before the first look at the meters
  double seconds = 0;  // from start to stop
  record::CpuUse cpu;  // core_percent_mean: all processes together; throttle_events: absent = not visible
  /// peak_rss_bytes: the kernel's high-water mark (VmHWM), which also covers the time between samples; with children
  /// the sum over all processes, in which shared pages count several times. ranks: the children, or else this process;
  /// of running ones as of the last sample. pss_bytes: sampled less often if it takes long to read.
  record::Memory memory;
  record::Energy energy;
  std::vector<DeviceUse> devices;  // devices that report more than power
  double shortest_window_s = 0;    // of which the meters tell the energy
  std::string error;               // why samples.csv could not be written any more (a full disk); "" = fine
};

class ProcessSampler {
 public:
  /// Takes a first sample and starts the thread. Construct it before the calling thread is pinned, because new threads
  /// inherit the pinning. Throws UsageError for a bad interval and Error if the CSV file can't be created.
  explicit ProcessSampler(SamplerOptions options);
  ~ProcessSampler();

  /// From now on counts these child processes as part of this one: their CPU time and memory are added.
  void watch(const std::vector<int>& children);
  /// Says that a child has ended with this peak resident size according to the kernel; samples may have missed it.
  void ended(int child, std::uint64_t peak_rss_bytes);

  /// Takes a sample now, in which meters have time to answer.
  void look();
  /// Takes a last sample, ends the thread and returns the summary. Further calls return the same.
  SamplerSummary stop();

 private:
  void start();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evener::measure
