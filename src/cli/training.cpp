#include "cli/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/clock.h"
#include "base/error.h"
#include "base/message.h"
#include "cli/out_folder.h"
#include "cli/planning.h"
#include "cli/progress.h"
#include "cli/train_hosts.h"
#include "cli/train_record.h"
#include "measure/record_json.h"
#include "task/checkpoint.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

/// The time of the last line of an earlier run's samples.csv, where a resumed run goes on; 0 without one.
double last_sample_s(const fs::path& path) {
  std::ifstream file(path);
  double last = 0;
  for (std::string line; std::getline(file, line);) last = std::max(last, std::strtod(line.c_str(), nullptr));
  return last;
}

/// Passes what happens on to the progress line and the record.
class Observer : public task::TrainObserver {
 public:
  Observer(const TrainFlags& flags, const placement::Plan& plan, const task::TrainOptions& options, OutFolder& out,
           const measure::PhaseRecorder& phases)
      : flags_(flags),
        plan_(plan),
        options_(options),
        out_(out),
        phases_(phases),
        progress_(*flags.optimisation.epochs, *flags.output.quiet) {}

  void on_loading(task::LoadingStep step, std::size_t done, std::size_t images) override {
    progress_.loading(step, done, images);
  }
  void on_setup(const task::TrainSetup& setup) override {
    out_.begin();
    train_images_ = setup.train_images;
    record_ = record_of_setup(flags_, plan_, options_, setup);
    record_.command = command_line();
    if (!choice_.empty()) {
      record_.notes.push_back("--on auto: " + choice_);
      progress_.note("note: " + record_.notes.back());
    }
    if (!batch_note_.empty()) {
      record_.notes.push_back(batch_note_);
      progress_.note("note: " + batch_note_);
    }
    for (const auto& warning : placement::all_warnings(plan_)) progress_.note("warning: " + warning);
    for (const auto& text : plan_.notes) progress_.note("note: " + text);
    progress_.setup(setup);
    epoch_begin_ = phases_.snapshot();
  }
  void on_step(const task::StepProgress& progress) override { progress_.step(progress); }
  void on_epoch(const task::EpochResult& epoch) override {
    const auto now = phases_.snapshot();
    record_.training.epochs.push_back(epoch_record(epoch, train_images_, now.since(epoch_begin_).critical_s()));
    epoch_begin_ = now;
    progress_.epoch(epoch, train_images_);
  }
  void on_note(const std::string& text) override { progress_.note(text); }

  /// Why the plan is what it is.
  void chosen(const std::string& reason) { choice_ = reason; }

  void batch_found(std::int64_t batch) {
    batch_note_ = fmt::format("--batch max: {} images are the most that were found to fit", batch);
  }

  measure::Record& record() { return record_; }
  TrainProgress& progress() { return progress_; }

 private:
  const TrainFlags& flags_;
  const placement::Plan& plan_;
  const task::TrainOptions& options_;
  OutFolder& out_;
  const measure::PhaseRecorder& phases_;
  TrainProgress progress_;
  measure::Record record_;
  std::string choice_;      // of --on auto; empty = the user's own
  std::string batch_note_;  // of --batch max
  std::size_t train_images_ = 0;
  measure::PhaseTotals epoch_begin_;
};

/// What rank 0's process tells this one: the text of its record.json, how the training ended, and why.
using OutcomeMessage = std::tuple<std::string, task::TrainStatus, std::string>;

std::string to_message(const measure::Record& record, const task::TrainResult& result) {
  const std::string text = measure::to_json(record).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return pack_message(OutcomeMessage(text, result.status, result.status_reason));
}

TrainingOutcome from_message(const std::string& message) {
  const auto [record, status, reason] = unpack_message<OutcomeMessage>(message, "the result of rank 0");
  return {measure::from_json(nlohmann::json::parse(record), "the record of rank 0"), status, reason, {}};
}

/// A lost rank starts all of them again from the last checkpoint, as often as --restarts allows, and then, with
/// --elastic, those that are left.
std::vector<std::string> run_on_all_ranks(task::TrainJob& job, task::TrainOptions& options, const TrainFlags& flags,
                                          measure::ProcessSampler& sampler, Observer& observer,
                                          const parallel::RankBody& body, const comm::HostPosition& position) {
  parallel::LaunchOptions launch;
  launch.hosts = hosts_options(position, job);
  launch.always_group = options.always_exchange;
  launch.on_started = [&sampler](const std::vector<pid_t>& pids) { sampler.watch({pids.begin(), pids.end()}); };
  launch.on_ended = [&sampler](pid_t pid, std::uint64_t peak_bytes) { sampler.ended(pid, peak_bytes); };
  for (int left = *flags.placement.restarts;; --left) {
    try {
      launch.shared_bytes = job.shared_bytes();
      return parallel::run_ranks(options.plan, body, launch);
    } catch (const parallel::RankLost& lost) {
      const bool saved = task::has_checkpoint(options.out);
      const std::string loss = std::string(lost.what()) + (saved ? parallel::kResumeAdvice : parallel::kNothingSaved);
      if (position.hosts > 1) throw Error(loss);
      std::string note =
          std::string(lost.what()) + "; starting again from " + (saved ? "the last checkpoint" : "the beginning");
      if (left <= 0) {
        if (!*flags.placement.elastic)
          throw Error(loss + (*flags.placement.restarts > 0 ? "" : "; --restarts 1 starts it again by itself"));
        options.plan = placement::without_replica(std::move(options.plan), lost.rank());
        observer.record().placement = placement_record(options.plan);
        note += " without it";
      }
      observer.progress().finish();
      observer.on_note(note);
      observer.record().notes.push_back(note);
      job.rewind();
    }
  }
}

measure::SamplerOptions sampling_options(const TrainFlags& flags, const fs::path& out) {
  measure::SamplerOptions sampling;
  sampling.interval_ms = *flags.measuring.sample_interval_ms;
  sampling.csv = out / (*flags.output.resume ? kSamples : kNewSamples);
  sampling.append = *flags.output.resume;
  if (sampling.append) sampling.csv_start_s = last_sample_s(sampling.csv);
  return sampling;
}

/// A run that replaces another removes its weights; they can't be what it starts from.
void require_weights_stay(const TrainFlags& flags) {
  const std::string &weights = *flags.model.weights, &out = *flags.output.out;
  if (weights.empty() || !*flags.output.overwrite || out.empty()) return;
  std::error_code ignored;
  if (!fs::equivalent(fs::absolute(weights).parent_path(), out, ignored)) return;
  throw UsageError("--overwrite would remove '" + weights + "', which --weights starts from; give another --out");
}

}  // namespace

TrainingOutcome run_training(const TrainFlags& flags) {
  const Stopwatch clock;
  const comm::HostPosition position = position_of(flags);
  placement::Plan plan = placement::on_hosts(plan_of(flags), position.hosts);
  const bool automatic = flags.placement.is_automatic();
  if (automatic && *flags.optimisation.epochs == 0) {
    throw UsageError("--on auto compares placements by training, and --epochs 0 trains nothing: name one, such as cpu");
  }
  if (const std::string why = placement::why_not_runnable(plan); !why.empty()) throw UsageError(why);
  task::TrainOptions options = train_options(flags, plan);
  require_weights_stay(flags);
  if (position.host > 0) {
    options.out = *flags.output.out;
    follow(options, position);
    return {};
  }
  OutFolder out(flags.output.out->empty() ? default_out(options.model) : fs::path(*flags.output.out),
                *flags.output.resume, *flags.output.overwrite);
  options.out = out.path();

  if (plan.processes.front().ranks.size() > 1) engine::share_one_heap();
  const measure::SamplerOptions sampling = sampling_options(flags, out.path());
  std::optional<measure::ProcessSampler> sampler;
  if (!automatic) sampler.emplace(sampling);  // before anything is pinned
  measure::PhaseRecorder phases(flags.measuring.trace->empty() ? 0 : 1'000'000);
  Observer observer(flags, plan, options, out, phases);
  if (automatic) {
    const std::vector<plan::Candidate> candidates = candidates_of(flags);
    options.candidates = plans_of(candidates);
    options.choose_plan = [&, candidates](const task::Trials& trials) {
      Choice choice = choose_placement(candidates, trials, *flags.measuring.plan_seconds, observer.progress().line());
      observer.chosen(choice.reason);
      options.trainer.device = choice.plan.replicas.front().stages.front().device;
      plan = options.plan = std::move(choice.plan);
      sampler.emplace(sampling);  // the trials are not the run
    };
  }
  if (!flags.optimisation.batch_size()) {
    options.choose_batch = [&](const task::Trials& trials) {
      options.batch = trials.largest_batch(plan);
      if (options.batch == 0)
        throw Error(options.model + " does not fit into the memory of '" + plan.text +
                    "' even with a batch of one image; use a smaller --size or a smaller model");
      observer.batch_found(options.batch);
    };
  }
  std::vector<std::string> outcomes;
  {
    const measure::PhaseListening listening(phases);
    try {
      task::TrainJob job(options, observer);
      const auto body = [&](const parallel::Seat& seat) {
        const task::TrainResult result = job.run(seat);
        if (seat.rank != 0) return std::string();
        observer.progress().finish();
        complete_record(observer.record(), result, clock.seconds(), phases.snapshot());
        if (seat.link != nullptr) fill_hosts(observer.record(), seat.link->names());
        if (!flags.measuring.trace->empty()) phases.write_trace(*flags.measuring.trace);
        return to_message(observer.record(), result);
      };
      outcomes = run_on_all_ranks(job, options, flags, *sampler, observer, body, position);
    } catch (...) {
      observer.progress().finish();
      // That hosts differ is found out after the setup.
      if (position.hosts > 1 && !fs::exists(out.path() / "last.safetensors")) out.withdraw();
      throw;
    }
  }
  TrainingOutcome outcome = from_message(outcomes.front());
  outcome.out = out.path();
  // Replicas as processes were started by this one, whose phases they don't know.
  const auto own_phases_s = phases.snapshot().critical_s();
  if (const auto spawn = own_phases_s.find("spawn"); spawn != own_phases_s.end()) {
    outcome.record.phases_s["spawn"] = spawn->second;
  }
  finish_record(outcome.record, sampler->stop());
  measure::write_record(out.path(), outcome.record);
  return outcome;
}

}  // namespace evener::cli
