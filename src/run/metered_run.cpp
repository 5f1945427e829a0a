#include "run/metered_run.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "measure/machine.h"
#include "measure/validity.h"

namespace evener::run {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTraceMarks = 1'000'000;

/// The time of the last line of an earlier run's samples.csv, where a resumed run goes on; 0 without one.
double last_sample_s(const fs::path& path) {
  std::ifstream file(path);
  double last = 0;
  for (std::string line; std::getline(file, line);) last = std::max(last, std::strtod(line.c_str(), nullptr));
  return last;
}

measure::SamplerOptions sampling_options(const RunOptions& options, const fs::path& folder) {
  measure::SamplerOptions sampling;
  sampling.interval_ms = options.sample_interval_ms;
  sampling.csv = folder / (options.resume ? kSamples : kNewSamples);
  sampling.append = options.resume;
  if (options.resume) sampling.csv_start_s = last_sample_s(sampling.csv);
  return sampling;
}

}  // namespace

MeteredRun::MeteredRun(RunOptions options, RunObserver& observer)
    : options_(std::move(options)), observer_(observer), phases_(options_.trace.empty() ? 0 : kTraceMarks) {
  if (!options_.out.empty()) {
    out_.emplace(options_.out, options_.resume, options_.overwrite);
    if (!options_.tries_first) start_sampling();
  }
  record_.kind = options_.kind;
  record_.started = utc_now_text();
  record_.command = options_.command;
  record_.machine = measure::read_machine();
  record_.versions = measure::program_versions(options_.version);
}

MeteredRun::~MeteredRun() = default;

void MeteredRun::note(const std::string& text) {
  record_.notes.push_back(text);
  observer_.on_note(text);
}

void MeteredRun::start_sampling() {
  if (out_) sampler_.emplace(sampling_options(options_, out_->path()));
}

void MeteredRun::begin() {
  begun_ = true;
  if (out_) out_->begin();
}

void MeteredRun::withdraw() {
  begun_ = false;
  if (out_) out_->withdraw();
}

void MeteredRun::take_times(measure::Record& record) const {
  const measure::PhaseTotals totals = phases_.snapshot();
  record.times.total = clock_.seconds();
  record.phases_s = totals.critical_s();
  record.hidden_s = totals.hidden_s();
  if (!options_.trace.empty()) phases_.write_trace(options_.trace);
}

measure::Record MeteredRun::measure(const std::function<measure::Record()>& work) {
  measure::Record record;
  try {
    const measure::PhaseListening listening(phases_);
    record = work();
  } catch (const Interrupted&) {
    observer_.on_failure();
    if (begun_ && !options_.resume) {
      record_.status = measure::Status::kInterrupted;
      take_times(record_);
      write(record_);
    }
    throw;
  } catch (...) {
    observer_.on_failure();
    throw;
  }
  // Ranks that are processes were started by this one; how long that took they don't know.
  const auto own_phases_s = phases_.snapshot().critical_s();
  if (const auto spawn = own_phases_s.find("spawn"); spawn != own_phases_s.end()) {
    record.phases_s["spawn"] = spawn->second;
  }
  write(record);
  return record;
}

void MeteredRun::watch(const std::vector<int>& children) {
  if (sampler_) sampler_->watch(children);
}

void MeteredRun::ended(int child, std::uint64_t peak_rss_bytes) {
  if (sampler_) sampler_->ended(child, peak_rss_bytes);
}

void MeteredRun::write(measure::Record& record) {
  if (!out_) return;
  if (sampler_) measure::take_samples(record, sampler_->stop());
  if (!record.missing.contains("validity.valid")) record.validity = measure::judge(record);
  measure::write_record(out_->path(), record);
}

}  // namespace evener::run
