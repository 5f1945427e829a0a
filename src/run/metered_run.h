// What every measuring command is made of, around its task: the output folder with its lock, the sampler, the phases,
// the judgement whether the times are valid, and the record.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "measure/others_load.h"
#include "measure/phase_recorder.h"
#include "measure/process_sampler.h"
#include "record/record.h"
#include "run/out_folder.h"

namespace evener::run {

/// Who shows a run while it goes on.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// Something that the user should know. What the record has to tell too goes through MeteredRun::note().
  virtual void on_note(const std::string& text) = 0;
  /// The work has failed or was interrupted; whoever redraws a line ends it.
  virtual void on_failure() = 0;
};

/// The command line of this process, without the program's path, as the user gave it.
std::vector<std::string> command_line();

/// What a process that is started on one host of a run gets behind the user's words: this, and the number of hosts.
inline constexpr const char* kHostsStarted = "--hosts-started";

struct RunOptions {
  std::string kind;     // of the record: "train"
  std::string version;  // of the program
  std::vector<std::string> command = command_line();
  std::filesystem::path out = {};          // empty: a new folder; see OutFolderOptions
  std::string default_name = {};           // of that; empty: no folder, no samples, and the record is not written
  bool resume = false, overwrite = false;  // see OutFolderOptions, as the next two
  bool can_resume = false;
  std::vector<std::filesystem::path> reads = {};
  int sample_interval_ms = 500;  // see SamplerOptions
  measure::EnergyOptions energy = {};
  int hosts = 0;                     // of a run on several, each of which tells its energy
  std::filesystem::path trace = {};  // of the phases, for Chrome; empty = none
  std::filesystem::path json = {};   // the caller writes the record there too; empty or "-" = nowhere
};

/// From when on a run is sampled: from the start of its work, or from begin(), as what is tried out before is not the
/// run.
enum class SampledFrom { kStart, kBegin };

class MeteredRun {
 public:
  /// Makes and locks the folder, and proves that all outputs can be written. Throws as OutFolder does, and Error for an
  /// output.
  MeteredRun(RunOptions options, RunObserver& observer);
  ~MeteredRun();

  /// Empty without one.
  std::filesystem::path folder() const { return out_ ? out_->path() : std::filesystem::path(); }

  /// What is known of the run so far; kind, command, start, machine and versions from the beginning.
  record::Record& record() { return record_; }
  /// Writes a note into the record, and shows it.
  void note(const std::string& text);

  /// The record of the run so far, where this one goes on with it; null for a new run.
  const record::Record* earlier() const { return earlier_ ? &*earlier_ : nullptr; }

  /// The work begins, and the record says with what: the folder stays from now on, whatever happens.
  void begin();
  /// The work came to nothing after all: a new folder goes again at the end.
  void withdraw();

  /// Seconds of the session so far.
  double session_s() const { return clock_.seconds(); }
  /// Phases that have ended in this process.
  measure::PhaseTotals phases() const { return phases_.snapshot(); }
  /// Writes total time and phases into `record`, and the trace where one was asked for. The process that has done the
  /// work calls this at its end: where ranks are processes, that is not the one that reads the record.
  void take_times(record::Record& record) const;

  /// Writes `record` as that of a run under way, so that it can be followed, and is there if the run is killed: with
  /// the total time and the phases so far, and with the earlier sessions. Left out where it would take more than half a
  /// percent of the time. A disk that is full is noted once, and doesn't end the run. Where ranks are processes, the
  /// leading one calls this.
  void save_so_far(record::Record record);
  /// The same however long it takes, for what must not be missing after a kill.
  void save_now(record::Record record);
  /// The ranks were lost and start again: a session ends here, and another one begins.
  void start_again();

  /// Does `work` while phases are listened to and samples are taken, for which the calling thread must not be pinned
  /// yet. It returns the record of what was done, to which the figures of the
  /// sampler and the validity are added before it is written, and those of the
  /// earlier sessions. A task that gives `missing` a reason for "validity.valid" is not judged. If `work` returns
  /// without begin(), or after withdraw(), nothing is written. If it throws before begin(), a new folder goes again. If
  /// it throws Interrupted after begin(), the record of what is known is written first; after another error it is where
  /// save_so_far() had written one.
  record::Record measure(const std::function<record::Record()>& work, SampledFrom from = SampledFrom::kStart);

  /// These child processes count as part of the run, and one of them has ended; see ProcessSampler.
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
  std::optional<measure::ProcessSampler> sampler_;  // asks for the phases until its end
  record::Record record_;
  std::optional<record::Record> earlier_;
  Stopwatch since_saved_;
  double last_save_s_ = 0;
  bool begun_ = false, save_failed_ = false;
  measure::IdlePower idle_;
  double sampler_began_s_ = 0;
  double samples_at_s_ = 0;     // of the session's start in samples.csv
  bool has_processes_ = false;  // the replicas are others than this one
};

}  // namespace evener::run
