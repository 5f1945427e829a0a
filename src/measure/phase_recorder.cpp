#include "measure/phase_recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/files.h"

namespace evener::measure {
namespace {

std::atomic<std::uint64_t> next_recorder_id = 1;

std::map<std::string, double> seconds_by_name(const std::array<PhaseTotals::Sum, kPhaseCount>& sums) {
  std::map<std::string, double> seconds;
  for (int phase = 0; phase < kPhaseCount; ++phase) {
    const PhaseTotals::Sum& sum = sums[static_cast<std::size_t>(phase)];
    if (sum.marks > 0) seconds[phase_name(static_cast<Phase>(phase))] = static_cast<double>(sum.ns) * 1e-9;
  }
  return seconds;
}

/// Adds without a locked instruction, as only the owning thread writes; atomic because snapshot() reads meanwhile.
void add(std::atomic<std::int64_t>& sum, std::int64_t value) {
  sum.store(sum.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

struct TracedMark {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  Phase phase;
  bool critical;
};

}  // namespace

struct PhaseRecorder::ThreadSums {
  struct Sum {
    std::atomic<std::int64_t> ns = 0;
    std::atomic<std::int64_t> marks = 0;
  };
  std::array<std::array<Sum, kPhaseCount>, 2> sums;  // [critical][phase]
  std::size_t number = 0;
  std::mutex trace_mutex;  // between the owner and write_trace; taken only if there is a trace
  std::vector<TracedMark> trace;
};

PhaseTotals PhaseTotals::since(const PhaseTotals& earlier) const {
  PhaseTotals difference = *this;
  for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
    difference.critical[phase].ns -= earlier.critical[phase].ns;
    difference.critical[phase].marks -= earlier.critical[phase].marks;
    difference.hidden[phase].ns -= earlier.hidden[phase].ns;
    difference.hidden[phase].marks -= earlier.hidden[phase].marks;
  }
  return difference;
}

std::map<std::string, double> PhaseTotals::critical_s() const {
  return seconds_by_name(critical);
}
std::map<std::string, double> PhaseTotals::hidden_s() const {
  return seconds_by_name(hidden);
}

PhaseRecorder::PhaseRecorder(std::size_t trace_capacity)
    : id_(next_recorder_id.fetch_add(1)), begin_ns_(now_ns()), trace_capacity_(trace_capacity) {}

PhaseRecorder::~PhaseRecorder() = default;

PhaseRecorder::ThreadSums& PhaseRecorder::this_thread_sums() {
  thread_local std::uint64_t owner_id = 0;
  thread_local ThreadSums* sums = nullptr;
  if (owner_id != id_) {
    const std::lock_guard lock(mutex_);
    threads_.push_back(std::make_unique<ThreadSums>());
    sums = threads_.back().get();
    sums->number = threads_.size();
    owner_id = id_;
  }
  return *sums;
}

void PhaseRecorder::on_phase(Phase phase, bool critical, std::int64_t begin_ns, std::int64_t end_ns,
                             std::int64_t exclusive_ns) {
  ThreadSums& sums = this_thread_sums();
  ThreadSums::Sum& sum = sums.sums[critical ? 1 : 0][static_cast<std::size_t>(phase)];
  add(sum.ns, exclusive_ns);
  add(sum.marks, 1);
  if (trace_capacity_ > 0) keep_for_trace(sums, phase, critical, begin_ns, end_ns);
}

void PhaseRecorder::keep_for_trace(ThreadSums& sums, Phase phase, bool critical, std::int64_t begin_ns,
                                   std::int64_t end_ns) {
  if (trace_kept_.fetch_add(1, std::memory_order_relaxed) >= static_cast<std::int64_t>(trace_capacity_)) {
    trace_dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const std::lock_guard lock(sums.trace_mutex);
  sums.trace.push_back({begin_ns, end_ns, phase, critical});
}

PhaseTotals PhaseRecorder::snapshot() const {
  PhaseTotals totals;
  const std::lock_guard lock(mutex_);
  for (const auto& thread : threads_) {
    for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
      totals.hidden[phase].ns += thread->sums[0][phase].ns.load(std::memory_order_relaxed);
      totals.hidden[phase].marks += thread->sums[0][phase].marks.load(std::memory_order_relaxed);
      totals.critical[phase].ns += thread->sums[1][phase].ns.load(std::memory_order_relaxed);
      totals.critical[phase].marks += thread->sums[1][phase].marks.load(std::memory_order_relaxed);
    }
  }
  return totals;
}

void PhaseRecorder::write_trace(const std::filesystem::path& path) const {
  const std::lock_guard lock(mutex_);
  write_file_atomically(path, [&](std::ostream& out) {
    out << "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"dropped_marks\":" << trace_dropped()
        << "},\"traceEvents\":[\n";
    out << R"({"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"evener"}})";
    for (const auto& thread : threads_) {
      const std::lock_guard trace_lock(thread->trace_mutex);
      if (thread->trace.empty()) continue;
      const bool critical =
          std::any_of(thread->trace.begin(), thread->trace.end(), [](const TracedMark& mark) { return mark.critical; });
      out << fmt::format(
          ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{},\"args\":{{\"name\":\"{} {}\"}}}}",
          thread->number, critical ? "critical thread" : "thread", thread->number);
      for (const TracedMark& mark : thread->trace) {
        // Three decimals of a microsecond are nanoseconds: rounding never makes a child stick out of its parent.
        out << fmt::format(
            ",\n{{\"name\":\"{}\",\"cat\":\"{}\",\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f}}}",
            phase_name(mark.phase), mark.critical ? "critical" : "hidden", thread->number,
            static_cast<double>(mark.begin_ns - begin_ns_) * 1e-3,
            static_cast<double>(mark.end_ns - mark.begin_ns) * 1e-3);
      }
    }
    out << "\n]}\n";
  });
}

}  // namespace evener::measure
