// The frame of every measuring command around its task: the locked output folder, the sampler, the phases, the
// judgement of validity, and the record. Runs a job on all ranks of a plan, and restarts it when a rank is lost.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/precision.h"
#include "measure/machine.h"
#include "measure/phase_recorder.h"
#include "measure/process_sampler.h"
#include "measure/record_samples.h"
#include "measure/run/out_folder.h"
#include "parallel/launcher.h"
#include "placement/plan.h"
#include "record/record.h"

namespace evener::measure {

/// Shows a run's messages to the user.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// Shows a message. Notes that belong into the record too go through MeteredRun::note().
  virtual void on_note(const std::string& text) = 0;
  /// The work has failed or was interrupted: a progress line has to be ended now.
  virtual void on_failure() = 0;
};

/// This process's command line as the user gave it, with "evener" in place of the program's path.
std::vector<std::string> command_line();

/// The internal option of processes started on the hosts of a run; it and the number of hosts follow the user's words.
inline constexpr const char* kHostsStarted = "--hosts-started";

struct RunOptions {
  std::string kind;     // of the record: "train"
  std::string version;  // of the program
  std::vector<std::string> command = command_line();
  std::filesystem::path out = {};          // empty: a new folder; see OutFolderOptions
  std::string default_name = {};           // NAME of a new folder; empty: no folder, and nothing is written
  bool resume = false, overwrite = false;  // see OutFolderOptions, as the next two
  bool can_resume = false;
  std::vector<std::filesystem::path> reads = {};
  int sample_interval_ms = 500;  // see SamplerOptions
  measure::EnergyOptions energy = {};
  int hosts = 0;                     // number of hosts of the run
  std::filesystem::path trace = {};  // file for a Chrome trace of the phases; empty = none
  std::filesystem::path json = {};   // where the caller writes the record too; empty or "-" = no file
};

/// When sampling starts: at the start of the work, or at begin(), for runs that try things out first which shouldn't
/// count.
enum class SampledFrom { kStart, kBegin };

class MeteredRun {
 public:
  /// Makes and locks the folder and checks that all outputs can be written, before any work is done. Throws like
  /// OutFolder, and Error if an output can't be written.
  MeteredRun(RunOptions options, RunObserver& observer);

  /// The output folder; empty without one.
  std::filesystem::path folder() const { return out_ ? out_->path() : std::filesystem::path(); }

  /// The record of the run so far. Kind, command, start, machine and versions are filled in from the beginning.
  record::Record& record() { return record_; }
  /// Adds a note to the record and shows it.
  void note(const std::string& text);

  /// The earlier sessions' record if this run resumes another; null for a new run.
  const record::Record* earlier() const { return earlier_ ? &*earlier_ : nullptr; }

  /// Call this once the record describes the work and it really begins: from now on the folder stays, whatever happens.
  void begin();
  /// Undoes begin() for work that turned out void: a new folder is removed at the end.
  void withdraw();

  /// Seconds of the session so far.
  double session_s() const { return clock_.seconds(); }
  /// Takes a sample, so that the energy until now is known, and returns the seconds of the session so far.
  double look();
  /// Says that the work on images, of which so many were computed, lasted from `from_s` of the session until now, or
  /// until `to_s`, when a sample was taken: an image takes a part of that time's energy. Of trainings the epochs say
  /// it.
  void worked(double from_s, std::int64_t images, std::optional<double> to_s = {});
  /// The phases so far in this process.
  measure::PhaseTotals phases() const { return phases_.snapshot(); }
  /// Fills total time and phases into `record`, and writes the trace if asked for. Has to be called at the end in the
  /// process that did the work, because phases are recorded there; if ranks are processes, that is rank 0's.
  void take_times(record::Record& record) const;

  /// Writes `record` with the status kRunning, so that the run can be followed and a killed run leaves a record; adds
  /// the total time, the phases so far and the earlier sessions. Does nothing if writing would take more than half a
  /// percent of the run's time. A failure, such as a full disk, is noted once and doesn't end the run. If ranks are
  /// processes, rank 0 calls this.
  void save_so_far(record::Record record);
  /// The same however long it takes, for data that must not be lost in a kill.
  void save_now(record::Record record);
  /// Ends the session and begins another one, after a rank was lost and before all ranks start again.
  void start_again();

  /// Does `work`, which returns its record, while recording phases and taking samples. The calling thread must not be
  /// pinned yet, since the sampler's thread would inherit that. Adds the sampler's figures, the earlier sessions and
  /// the validity to the record, with a folder or without, writes and returns it. A record whose `missing` has
  /// "validity.valid" isn't judged.
  /// Nothing is written if `work` returns without begin() or after withdraw(). If `work` throws before begin(), a new
  /// folder is removed. If it throws Interrupted after begin(), the record so far is written first; with another
  /// exception this is done only if save_so_far() had written one.
  record::Record measure(const std::function<record::Record()>& work, SampledFrom from = SampledFrom::kStart);

  /// Count child processes as part of the run, and report a child's end; see ProcessSampler.
  void watch(const std::vector<int>& children);
  void ended(int child, std::uint64_t peak_rss_bytes);

 private:
  void measure_idle_power();
  void start_sampling();
  void tell_of_others();
  void take_samples(record::Record& record);
  void write(record::Record& record);
  void judge_and_write(record::Record& record) const;
  void take_figures(record::Record& record) const;
  void begin_session();
  record::Record end_session(record::Status status);
  std::optional<record::Record> saved_so_far() const;

  const RunOptions options_;
  RunObserver& observer_;
  Stopwatch clock_;                            // of the session
  std::optional<measure::OthersLoad> others_;  // counts from where sampling begins
  std::optional<OutFolder> out_;
  measure::PhaseRecorder phases_;
  std::optional<measure::ProcessSampler> sampler_;  // uses phases_ until its end
  record::Record record_;
  std::optional<record::Record> earlier_;
  Stopwatch since_saved_;
  double last_save_s_ = 0;
  bool begun_ = false, save_failed_ = false;
  measure::IdlePower idle_;
  double samples_at_s_ = 0;     // the session's start on the time axis of samples.csv
  bool has_processes_ = false;  // ranks are child processes
  measure::WorkTime work_;
};

struct RankOptions {
  int restarts = 0;      // how often all ranks are restarted after a loss
  bool elastic = false;  // afterwards continue without the lost replica
  parallel::LaunchOptions launch = {};
};

/// A job's functions for run_on_all_ranks(): its plan; leaving out the replica of a lost rank; the size of the ranks'
/// shared memory; and returning to the last checkpoint.
struct RankedJob {
  std::function<const placement::Plan&()> plan;
  std::function<void(int rank)> leave_out;
  std::function<std::size_t()> shared_bytes;
  std::function<void()> rewind;
};

/// Runs `body` on every rank of the job's plan and returns their results. The run's sampler watches the ranks'
/// processes, and its record gets a note about each loss. When no restart is left, continues without the lost replica
/// if `elastic`, else throws Error. Also throws what run_ranks() throws.
std::vector<std::string> run_on_all_ranks(MeteredRun& run, const RankedJob& job, const RankOptions& options,
                                          const parallel::RankBody& body);

template <typename Job>
std::vector<std::string> run_on_all_ranks(MeteredRun& run, Job& job, const RankOptions& options,
                                          const parallel::RankBody& body) {
  const RankedJob ranked{[&job]() -> const placement::Plan& { return job.plan(); },
                         [&job](int rank) { job.leave_out(rank); }, [&job] { return job.shared_bytes(); },
                         [&job] { job.rewind(); }};
  return run_on_all_ranks(run, ranked, options, body);
}

/// The devices, threads and CPUs of a plan's replicas, with their given shares.
record::PlacementRecord placement_record(const placement::Plan& plan);

/// Corrects the threads of CPU stages for an engine that uses at most `most` threads per stage.
void limit_threads(record::PlacementRecord& placement, int most);

/// Adds fallbacks to the record for devices of the plan that don't compute everything in `precision`. Adds no sentence
/// twice.
void add_precision_fallbacks(record::Record& record, const placement::Plan& plan, Precision precision);

}  // namespace evener::measure
