// Adds up what the phase marks of base/phase.h say: exclusive time on the critical thread, hidden time elsewhere.
// Each thread adds to numbers of its own, without locks; optionally the marks are kept as a Chrome trace.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/phase.h"
#include "base/this_work.h"

namespace evener::measure {

/// Totals of all marks that have ended.
struct PhaseTotals {
  struct Sum {
    std::int64_t ns = 0;
    std::int64_t marks = 0;
  };
  std::array<Sum, kPhaseCount> critical;  // on the rank's own thread: these add up to at most its total time
  std::array<Sum, kPhaseCount> hidden;    // on all other threads together: may exceed the wall clock

  /// What was added since `earlier`, e.g. during an epoch.
  PhaseTotals since(const PhaseTotals& earlier) const;
  /// Seconds by phase name, phases without marks left out.
  std::map<std::string, double> critical_s() const;
  std::map<std::string, double> hidden_s() const;
};

class PhaseRecorder : public PhaseListener {
 public:
  /// `trace_capacity`: how many marks to keep for write_trace (0 = none; 32 bytes each); later ones are counted only.
  explicit PhaseRecorder(std::size_t trace_capacity = 0);
  ~PhaseRecorder() override;

  void on_phase(Phase phase, bool critical, std::int64_t begin_ns, std::int64_t end_ns,
                std::int64_t exclusive_ns) override;

  /// Any thread, at any time.
  PhaseTotals snapshot() const;

  /// The kept marks as Chrome's trace event format (chrome://tracing, ui.perfetto.dev), written atomically. Times count
  /// from the recorder's construction. Throws Error if it can't be written.
  void write_trace(const std::filesystem::path& path) const;
  std::int64_t trace_dropped() const { return trace_dropped_.load(std::memory_order_relaxed); }

 private:
  struct ThreadSums;
  ThreadSums& this_thread_sums();
  void keep_for_trace(ThreadSums& sums, Phase phase, bool critical, std::int64_t begin_ns, std::int64_t end_ns);

  const std::uint64_t id_;  // never used again, so that a thread notices a new recorder at an old address
  const std::int64_t begin_ns_;
  const std::size_t trace_capacity_;
  std::atomic<std::int64_t> trace_kept_ = 0;
  std::atomic<std::int64_t> trace_dropped_ = 0;
  mutable std::mutex mutex_;  // guards threads_
  std::vector<std::unique_ptr<ThreadSums>> threads_;
};

/// Listens from construction to destruction: to the calling thread and those that do its work, and to threads of
/// libraries, which do nobody's; of several jobs in a process those are heard by the one that began last.
class PhaseListening {
 public:
  explicit PhaseListening(PhaseListener& listener) : scope_({this_work().stop, &listener}) {
    set_phase_listener(&listener);
  }
  ~PhaseListening() { set_phase_listener(nullptr); }
  PhaseListening(const PhaseListening&) = delete;
  PhaseListening& operator=(const PhaseListening&) = delete;

 private:
  WorkScope scope_;
};

}  // namespace evener::measure
