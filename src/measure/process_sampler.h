// A thread that looks at this process and the machine twice a second: CPU, memory, other load, energy counters.
// Samples go to samples.csv as they come, so that a killed run keeps them.
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
#include "record/statistics.h"

namespace evener::measure {

struct SamplerOptions {
  int interval_ms = 500;             // 100 to 10000; outside: UsageError
  std::filesystem::path csv = {};    // samples.csv; empty = not written. Replaced at the start; see csv_start_s
  double csv_start_s = 0;            // added to the times of the file
  bool append = false;               // a resumed run goes on with the file (a header is written only if it is empty)
  std::filesystem::path root = "/";  // where proc/ and sys/ are (tests give a made-up tree)
  EnergyOptions energy = {};
  IdlePower idle = {};                       // what was drawn before the run
  std::function<PhaseTotals()> phases = {};  // of the run so far, to divide energy among them; empty: they aren't known
};

/// All of one run. Percent are of one logical CPU: 200 means two CPUs busy all the time.
struct DeviceUse {
  std::string name;  // "gpu 0"
  std::optional<record::Spread> utilisation_percent, memory_bytes, clock_mhz, temperature_c;
  std::int64_t samples = 0, throttled_samples = 0;
  std::string throttle_reasons;  // all that were seen
  std::string uuid = {};         // of a card that tells it
};

struct SamplerSummary {
  std::int64_t samples = 0;
  double seconds = 0;  // between start and stop
  std::optional<record::Spread> process_percent;
  std::optional<double> process_cpu_s;           // user + system
  std::vector<double> core_percent_mean;         // of each online logical CPU, all processes together
  std::optional<record::Spread> others_percent;  // busy, but not with this process
  std::optional<double> steal_percent_mean;      // of a virtual machine: time the host gave to others
  std::optional<record::Spread> rss_bytes;
  std::optional<record::Spread> pss_bytes;  // looked at less often where it takes long
  /// The kernel's high-water mark (VmHWM), between samples too; with children the sum of theirs and its own, in which
  /// shared pages count several times.
  std::optional<std::uint64_t> peak_rss_bytes;
  std::vector<std::uint64_t> child_peak_rss_bytes;  // of each child; of those still running as far as samples saw it
  std::optional<std::uint64_t> swap_bytes_max;      // of this process swapped out
  std::optional<std::int64_t> throttle_events;  // thermal throttling of any core during the run; absent = not visible
  record::Energy energy;
  std::vector<DeviceUse> devices;  // of those that tell more than their power
  std::string error;               // samples.csv could not be written any more (disk full); else empty
};

class ProcessSampler {
 public:
  /// Takes a first sample and starts the thread. Start it before the calling thread is pinned: threads inherit that.
  /// Throws Error if the CSV can't be created.
  explicit ProcessSampler(SamplerOptions options);
  ~ProcessSampler();

  /// From now on these processes count as part of this one: their CPU time and memory are added to its own.
  void watch(const std::vector<int>& children);
  /// One of them has ended, which the kernel says had this peak: no sample may have seen it.
  void ended(int child, std::uint64_t peak_rss_bytes);

  /// Takes a last sample, ends the thread and says what was seen. A second call returns the same.
  SamplerSummary stop();

 private:
  void start();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace evener::measure
