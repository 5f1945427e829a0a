#include "measure/run/metered_run.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "measure/energy_meter.h"
#include "measure/machine.h"
#include "record/metric.h"
#include "record/record_kind.h"
#include "record/sessions.h"
#include "record/validity.h"

namespace evener::measure {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTraceMarks = 1'000'000;
/// The share of a run's time that saving its record meanwhile may take.
constexpr double kSavingShare = 0.005;

/// The time of the last line of samples.csv, from which a resumed run continues; 0 without the file.
double last_sample_s(const fs::path& path) {
  std::ifstream file(path);
  double last = 0;
  for (std::string line; std::getline(file, line);) last = std::max(last, std::strtod(line.c_str(), nullptr));
  return last;
}

/// `folder`: where the samples are written; empty: nowhere. `goes_on`: append to those that are there.
measure::SamplerOptions sampling_options(const RunOptions& options, const fs::path& folder, bool goes_on) {
  measure::SamplerOptions sampling;
  sampling.interval_ms = options.sample_interval_ms;
  if (folder.empty()) return sampling;
  sampling.csv = folder / (goes_on ? kSamples : kNewSamples);
  sampling.append = goes_on;
  if (goes_on) sampling.csv_start_s = last_sample_s(sampling.csv);
  return sampling;
}

void require_writable_outputs(const RunOptions& options) {
  for (const fs::path& output : {options.trace, options.json}) {
    if (!output.empty() && output != "-") require_writable_file(output);
  }
}

/// For a training that ended before its first step was reported: its training time is unknown, so a first session's is
/// absent, and a later session adds nothing to the earlier ones'.
void leave_steps_out(record::Record& record, bool sessions_before) {
  const std::pair<const char*, std::optional<double>*> parts[] = {{"times_s.train", &record.times.train},
                                                                  {"times_s.validate", &record.times.validate},
                                                                  {"times_s.test", &record.times.test}};
  for (const auto& [path, seconds] : parts) {
    *seconds = sessions_before ? std::optional(0.0) : std::nullopt;
    if (!sessions_before) record.missing[path] = "the session ended before its first step";
  }
}

}  // namespace

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (!words.empty()) words.front() = "evener";
  words.erase(std::ranges::find(words, kHostsStarted), words.end());  // not given by the user
  return words;
}

MeteredRun::MeteredRun(RunOptions options, RunObserver& observer)
    : options_(std::move(options)), observer_(observer), phases_(options_.trace.empty() ? 0 : kTraceMarks) {
  if (!options_.out.empty() || !options_.default_name.empty()) {
    out_.emplace(OutFolderOptions{.path = options_.out,
                                  .name = options_.default_name,
                                  .resume = options_.resume,
                                  .overwrite = options_.overwrite,
                                  .can_resume = options_.can_resume,
                                  .reads = options_.reads});
    if (options_.resume) earlier_ = record::earlier_sessions(out_->path());
  }
  require_writable_outputs(options_);
  measure_idle_power();
  record_.kind = options_.kind;
  record_.machine = measure::read_machine();
  record_.versions = measure::program_versions(options_.version);
  begin_session();
  record_.started = record_.sessions.back().started;
  record_.command = options_.command;
}

void MeteredRun::note(const std::string& text) {
  record_.notes.push_back(text);
  observer_.on_note(text);
}

void MeteredRun::measure_idle_power() {
  if (options_.energy.idle_s <= 0) return;
  constexpr double kLookEvery_s = 0.5;
  observer_.on_note("measuring the idle power for " + duration_text(options_.energy.idle_s));
  measure::EnergyMeter meter(measure::open_sensors(options_.energy, "/", boot_now_s));
  idle_ = measure::measure_idle(
      meter, options_.energy.idle_s, std::min(kLookEvery_s, options_.energy.idle_s),
      [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); });
}

void MeteredRun::start_sampling() {
  others_.emplace();
  measure::SamplerOptions sampling = sampling_options(options_, folder(), earlier_.has_value());
  sampling.energy = options_.energy;
  sampling.idle = idle_;
  sampling.phases = [this] { return phases_.snapshot(); };
  samples_at_s_ = sampling.csv_start_s;
  sampler_.emplace(std::move(sampling));
}

/// Stops the sampler and adds its figures to `record`, corrected by what only the run knows.
void MeteredRun::take_samples(record::Record& record) {
  if (!sampler_) return;
  const bool others_told = !record.host_energies.empty();
  const measure::SamplerSummary summary = sampler_->stop();
  measure::take_samples(record, summary);
  if (options_.hosts > 1 && !others_told && record.energy.joules) {
    record.energy.joules.reset();
    record.energy.used_joules.reset();
    record.energy.kind = record::EnergyClass::kAbsent;
    record::set_products(record.energy);
    record.energy.reason = "the run ended before its other hosts told their energy; devices[] has the first one's";
  }
  if (has_processes_ && record.energy.joules) {
    record.energy.phases.clear();
    record.energy.phases_reason = "the replicas are processes of their own, whose phases the sampler does not see";
  }
  const fs::path samples = folder() / (earlier_ ? kSamples : kNewSamples);
  std::error_code error;
  const fs::path written = fs::exists(samples, error) ? samples : folder() / kSamples;
  // Epochs' times are by the session's clock; convert them to the samples' clock, which may have started at another
  // time.
  const double session_began_s = now_s() - clock_.seconds();
  const double begin_s = samples_at_s_ + session_began_s - summary.begin_s;
  measure::fill_epoch_energy(record, written, begin_s);
  measure::fill_work_energy(record, written, begin_s, work_, summary.shortest_window_s);
}

/// Warns about other programs' load. Called when the ranks have ended, since only then their CPU time is known to be
/// ours. Not for the record, which has the sampler's figure.
void MeteredRun::tell_of_others() {
  constexpr double kWorthTelling_s = 0.5;  // the kernel counts CPU time in 10 ms, too coarse for shorter runs
  if (!others_ || clock_.seconds() < kWorthTelling_s) return;
  const std::string text = measure::others_text(others_->share().value_or(0));
  if (!text.empty()) observer_.on_note(text);
}

void MeteredRun::begin() {
  begun_ = true;
  if (!others_) start_sampling();
  if (out_) out_->begin();
}

double MeteredRun::look() {
  if (sampler_) sampler_->look();
  return session_s();
}

void MeteredRun::worked(double from_s, std::int64_t images, std::optional<double> to_s) {
  work_ = {from_s, to_s.value_or(session_s())};
  record_.sessions.back().images = images;
  look();
}

void MeteredRun::withdraw() {
  begun_ = false;
  if (out_) out_->withdraw();
}

void MeteredRun::begin_session() {
  clock_ = Stopwatch();
  record::SessionRecord session;
  session.started = utc_now_text();
  session.command = options_.command;
  session.cpu = record_.machine.cpu;
  record_.sessions = {std::move(session)};
  work_ = {};
}

void MeteredRun::take_figures(record::Record& record) const {
  const measure::PhaseTotals totals = phases_.snapshot();
  record.times.total = clock_.seconds();
  record.phases_s = totals.critical_s();
  record.hidden_s = totals.hidden_s();
  record::SessionRecord& session = record.sessions.back();
  session.status = record.status;
  session.seconds = record.times.total;
  session.placement = record.placement.text;
  session.replicas = static_cast<std::int64_t>(record.placement.replicas.size());
  session.engine = record.engine;
}

void MeteredRun::take_times(record::Record& record) const {
  take_figures(record);
  if (!options_.trace.empty()) phases_.write_trace(options_.trace);
}

void MeteredRun::save_so_far(record::Record record) {
  if (last_save_s_ <= kSavingShare * since_saved_.seconds()) save_now(std::move(record));
}

void MeteredRun::save_now(record::Record record) {
  if (!out_ || !begun_ || save_failed_) return;
  const Stopwatch saving;
  record.status = record::Status::kRunning;
  take_figures(record);
  measure::leave_samples_out(record);
  if (earlier_) record::add_earlier_work(record, *earlier_);
  try {
    judge_and_write(record);
  } catch (const Error& error) {
    save_failed_ = true;
    note(std::string("the record can't be followed while the run goes on: ") + error.what());
  }
  last_save_s_ = saving.seconds();
  since_saved_ = Stopwatch();
}

/// The record that save_so_far() has written in this session, perhaps in another process; absent if none.
std::optional<record::Record> MeteredRun::saved_so_far() const {
  record::Record saved = record::earlier_sessions(out_->path());
  const std::size_t sessions = (earlier_ ? earlier_->sessions.size() : 0) + 1;
  const bool of_this =
      saved.sessions.size() == sessions && saved.sessions.back().started == record_.sessions.back().started;
  return of_this ? std::optional(std::move(saved)) : std::nullopt;
}

/// The record of all sessions when this one ends without a result, with `status`.
record::Record MeteredRun::end_session(record::Status status) {
  std::optional<record::Record> ended = saved_so_far();
  if (ended) {
    const double seconds = clock_.seconds();  // add the time since it was saved
    std::optional<double>& saved_s = ended->sessions.back().seconds;
    if (ended->times.total) *ended->times.total += seconds - saved_s.value_or(0);
    saved_s = seconds;
  } else {
    ended = record_;
    if (ended->kind == record::kTrainingKind.name && ended->sessions.back().images == 0) {
      leave_steps_out(*ended, earlier_.has_value());
    }
    take_figures(*ended);
    if (earlier_) record::add_earlier_work(*ended, *earlier_);
  }
  ended->status = ended->sessions.back().status = status;
  take_samples(*ended);
  if (earlier_) record::add_earlier_samples(*ended, *earlier_);
  return *std::move(ended);
}

void MeteredRun::start_again() {
  if (!out_) return;
  earlier_ = end_session(record::Status::kKilled);
  begin_session();
  start_sampling();
}

record::Record MeteredRun::measure(const std::function<record::Record()>& work, SampledFrom from) {
  if (from == SampledFrom::kStart) {
    start_sampling();
    clock_ = Stopwatch();  // opening the sensors doesn't count
  }
  record::Record record;
  try {
    const measure::PhaseListening listening(phases_);
    record = work();
  } catch (const Interrupted&) {
    observer_.on_failure();
    if (out_ && begun_) {
      record = end_session(record::Status::kInterrupted);
      judge_and_write(record);
    }
    throw;
  } catch (const std::exception& error) {
    observer_.on_failure();
    if (out_ && begun_ && saved_so_far()) {
      record = end_session(record::Status::kFailed);
      record.notes.emplace_back(error.what());
      judge_and_write(record);
    }
    throw;
  }
  if (!begun_) return record;
  tell_of_others();
  // If ranks are processes, only this process knows how long starting them took.
  const auto own_phases_s = phases_.snapshot().critical_s();
  if (const auto spawn = own_phases_s.find("spawn"); spawn != own_phases_s.end()) {
    record.phases_s["spawn"] = spawn->second;
  }
  write(record);
  return record;
}

void MeteredRun::watch(const std::vector<int>& children) {
  has_processes_ = has_processes_ || !children.empty();
  if (sampler_) sampler_->watch(children);
}

void MeteredRun::ended(int child, std::uint64_t peak_rss_bytes) {
  if (sampler_) sampler_->ended(child, peak_rss_bytes);
}

void MeteredRun::write(record::Record& record) {
  take_samples(record);
  record.sessions.back().status = record.status;
  if (earlier_) {
    record::add_earlier_work(record, *earlier_);
    record::add_earlier_samples(record, *earlier_);
  }
  judge_and_write(record);
  const std::string energy = record::energy_text(record);
  // A training tells it among its results.
  if (!energy.empty() && record.kind != record::kTrainingKind.name) observer_.on_note("energy: " + energy);
}

void MeteredRun::judge_and_write(record::Record& record) const {
  if (!record.missing.contains("validity.valid")) record.validity = record::judge(record);
  if (out_) record::write_record(out_->path(), record);
}

std::vector<std::string> run_on_all_ranks(MeteredRun& run, const RankedJob& job, const RankOptions& options,
                                          const parallel::RankBody& body) {
  parallel::LaunchOptions launch = options.launch;
  launch.on_started = [&run](const std::vector<pid_t>& pids) { run.watch({pids.begin(), pids.end()}); };
  launch.on_ended = [&run](pid_t pid, std::uint64_t peak_bytes) { run.ended(pid, peak_bytes); };
  for (int left = options.restarts;; --left) {
    try {
      launch.shared_bytes = job.shared_bytes();
      return parallel::run_ranks(job.plan(), body, launch);
    } catch (const parallel::RankLost& lost) {
      const bool saved = has_checkpoint(run.folder());
      const std::string loss = std::string(lost.what()) + (saved ? parallel::kResumeAdvice : parallel::kNothingSaved);
      if (launch.hosts.hosts > 1) throw Error(loss);
      std::string note =
          std::string(lost.what()) + "; starting again from " + (saved ? "the last checkpoint" : "the beginning");
      if (left <= 0) {
        if (!options.elastic)
          throw Error(loss + (options.restarts > 0 ? "" : "; --restarts 1 starts it again by itself"));
        job.leave_out(lost.rank());
        run.record().placement = placement_record(job.plan());
        note += " without it";
      }
      run.note(note);
      run.start_again();
      job.rewind();
    }
  }
}

record::PlacementRecord placement_record(const placement::Plan& plan) {
  record::PlacementRecord record{plan.text, {}};
  for (const auto& replica : plan.replicas) {
    record::ReplicaRecord entry;
    for (const auto& stage : replica.stages) {
      record::StageRecord stage_record;
      stage_record.device = device_text(stage.device);
      stage_record.uuid = stage.uuid;
      if (stage.device.kind == DeviceKind::kCpu) stage_record.threads = stage.threads;
      stage_record.cpus = stage.cpus;
      if (stage.factor < 1) stage_record.emulated_speed = stage.factor;
      entry.stages.push_back(std::move(stage_record));
    }
    entry.share = replica.share;
    record.replicas.push_back(std::move(entry));
  }
  return record;
}

void limit_threads(record::PlacementRecord& placement, int most) {
  for (record::ReplicaRecord& replica : placement.replicas) {
    for (record::StageRecord& stage : replica.stages) {
      if (stage.threads) stage.threads = std::min(*stage.threads, most);
    }
  }
}

void add_precision_fallbacks(record::Record& record, const placement::Plan& plan, Precision precision) {
  for (const auto& replica : plan.replicas) {
    for (const auto& stage : replica.stages) {
      std::string fallback = precision_fallback(precision, stage.device.kind);
      if (fallback.empty() || std::ranges::find(record.fallbacks, fallback) != record.fallbacks.end()) continue;
      record.fallbacks.push_back(std::move(fallback));
    }
  }
}

}  // namespace evener::measure
