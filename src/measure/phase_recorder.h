// Sums the phase marks of base/phase.h: exclusive time on the critical thread, hidden time on other threads. Each
// thread has sums of its own and adds to them without locks. Optionally keeps the marks for a Chrome trace.
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

  /// The difference to `earlier`, e.g. for the phases of an epoch.
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

  /// The totals so far. May be called on any thread at any time.
  PhaseTotals snapshot() const;

  /// Writes the kept marks atomically in Chrome's trace event format (chrome://tracing, ui.perfetto.dev). Times count
  /// from the recorder's construction. Throws Error if the file can't be written.
  void write_trace(const std::filesystem::path& path) const;
  std::int64_t trace_dropped() const { return trace_dropped_.load(std::memory_order_relaxed); }

 private:
  struct ThreadSums;
  ThreadSums& this_thread_sums();
  void keep_for_trace(ThreadSums& sums, Phase phase, bool critical, std::int64_t begin_ns, std::int64_t end_ns);

  const std::uint64_t id_;  // unique, so that a thread notices a new recorder at an old address
  const std::int64_t begin_ns_;
  const std::size_t trace_capacity_;
  std::atomic<std::int64_t> trace_kept_ = 0;
  std::atomic<std::int64_t> trace_dropped_ = 0;
  mutable std::mutex mutex_;  // guards threads_
  std::vector<std::unique_ptr<ThreadSums>> threads_;
};

/// Connects `listener` for its lifetime to the phase marks of the calling thread and of the threads that work for it.
/// Also to threads of libraries, which belong to no job: if a process has several jobs, the one that began last hears
/// these.
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
