#include "train/training.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/message.h"
#include "base/plural.h"
#include "base/version.h"
#include "infer/calibrate/calibration_job.h"
#include "infer/run/layer_table.h"
#include "measure/process_sampler.h"
#include "measure/run/metered_run.h"
#include "measure/run/out_folder.h"
#include "parallel/hosts.h"
#include "parallel/launcher.h"
#include "placement/plan.h"
#include "record/energy.h"
#include "record/record_json.h"
#include "record/sessions.h"
#include "train/copies_table.h"
#include "train/steps/checkpoint.h"
#include "train/steps/trial.h"

namespace evener::training {
namespace {

namespace fs = std::filesystem;

std::string without_advice(std::string text) {
  for (const std::string advice : {parallel::kResumeAdvice, parallel::kNothingSaved}) {
    if (const std::size_t at = text.find(advice); at != std::string::npos) text.erase(at, advice.size());
  }
  return text;
}

/// The lines of --dry-run: which replicas are on which host.
std::string hosts_text(const std::vector<std::string>& hosts, std::size_t replicas_per_host) {
  std::string text = "hosts      " + std::to_string(hosts.size()) +
                     ", each with the placement above: " + std::to_string(hosts.size() * replicas_per_host) +
                     " replicas, which share each batch\n";
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    const std::size_t first = host * replicas_per_host, last = first + replicas_per_host - 1;
    text += "host " + std::to_string(host) + "  " + hosts[host] + ", replica" +
            (first == last ? " " + std::to_string(first) : "s " + std::to_string(first) + "-" + std::to_string(last)) +
            "\n";
  }
  return text;
}

/// Starts this command on every host, and waits for its end.
void train_on_hosts(const TrainFlags& flags, const std::vector<std::string>& hosts, measure::Observer& observer) {
  parallel::HostLaunch launch;
  launch.hosts = hosts;
  launch.slurm = flags.placement.hosts->empty();
  launch.program = fs::read_symlink("/proc/self/exe").string();
  launch.words = measure::command_line();
  launch.words.erase(launch.words.begin());
  launch.words.insert(launch.words.end(), {measure::kHostsStarted, std::to_string(hosts.size())});
  const fs::path out = *flags.output.out;
  const bool made_here = !out.empty() && !fs::exists(out);
  const auto saved_before = checkpoint_time(out);  // of a run that --overwrite replaces
  // The first host's process may have been ended before it could take its folder away.
  const auto tidy = [&] {
    if (!made_here || measure::has_checkpoint(out) || fs::exists(out / "record.json")) return;
    // A run that came to nothing has written no more than this.
    std::error_code ignored;
    for (const char* name : {measure::kSamples, measure::kNewSamples}) fs::remove(out / name, ignored);
    fs::remove(out, ignored);  // only if empty
  };
  const std::size_t given_words = launch.words.size();
  for (int left = *flags.placement.restarts;; --left) {
    try {
      return parallel::run_on_hosts(launch);
    } catch (const parallel::HostLost& lost) {
      tidy();
      if (left <= 0) throw;
      const auto saved = checkpoint_time(out);
      const bool begun = flags.output.resumes() || (saved && saved != saved_before);
      observer.note(fmt::format("evener: {}; starting again from {}", without_advice(lost.what()),
                                begun ? "the last checkpoint" : "the beginning"));
      launch.words.resize(given_words);
      if (flags.output.resumes()) continue;
      // The folder holds what the lost hosts left there: a checkpoint, or a record that nothing goes on from.
      const std::vector<std::string> more =
          begun ? std::vector<std::string>{"--overwrite=false", "--resume"} : std::vector<std::string>{"--overwrite"};
      launch.words.insert(launch.words.end(), more.begin(), more.end());
    } catch (...) {
      tidy();
      throw;
    }
  }
}

/// The host of the run that this process leads; host 0 of 1 unless it was started for a host.
comm::HostPosition position_of(const TrainFlags& flags) {
  if (*flags.placement.hosts_started == 0) return {};
  const comm::HostPosition position = comm::host_position();
  if (position.hosts == *flags.placement.hosts_started) return position;
  throw Error("this run was to have " + std::to_string(*flags.placement.hosts_started) + " hosts, but " +
              std::to_string(position.hosts) + " were started");
}

/// What hosts exchange at the start, to check that they agree.
parallel::HostsOptions hosts_options(const comm::HostPosition& position, const TrainJob& job) {
  parallel::HostsOptions options{position.host, position.hosts, {}};
  if (position.hosts == 1) return options;
  options.facts = job.facts();
  options.facts.insert(options.facts.begin(),
                       {"version of evener", program_version(), "install the same version on all hosts"});
  return options;
}

/// Whether a run that is to be resumed has already ended. `record`: of its sessions so far.
bool has_ended(const TrainJob& job, const record::Record& record) {
  return job.is_complete() && record.status == record::Status::kDone;
}

/// Trains on a host other than the first: writes nothing, measures its own energy, and sends it to the first host.
void follow(const TrainFlags& flags, const TrainOptions& options, const comm::HostPosition& position) {
  TrainObserver silent;
  TrainOptions own = options;
  if (!own.resume) own.out.clear();  // the first host writes
  TrainJob job(PreparedTraining(own, silent));
  if (own.resume && has_ended(job, record::earlier_sessions(own.out))) return;  // the first host says so
  parallel::LaunchOptions launch;
  launch.hosts = hosts_options(position, job);
  measure::EnergyOptions energy = flags.energy.options(own.plan);
  energy.meters.clear();  // the first host runs their commands
  parallel::run_ranks(
      own.plan,
      [&](const parallel::RankContext& context) {
        if (!context.leads_host()) {
          job.run(context);
          return std::string();
        }
        // Its sensors see the whole host, however many of its ranks there are.
        measure::ProcessSampler sampler({.interval_ms = *flags.measuring.sample_interval_ms, .energy = energy});
        job.run(context);
        record::Energy used = sampler.stop().energy;
        used.process_joules.reset();  // of this rank alone
        context.link->gather(record::energy_message(used));
        return std::string();
      },
      launch);
}

/// Does `work`; errors get the name of this host.
TrainingOutcome naming_host(const std::function<TrainingOutcome()>& work) {
  const auto named = [](const std::exception& error) { return "on host " + host_name() + ": " + error.what(); };
  try {
    return work();
  } catch (const Interrupted&) {
    throw;
  } catch (const UsageError& error) {
    throw UsageError(named(error));
  } catch (const std::exception& error) {
    throw Error(named(error));
  }
}

/// Writes into the record which host each replica was on.
void fill_hosts(record::Record& record, const std::vector<std::string>& names) {
  auto& replicas = record.placement.replicas;
  const std::size_t per_host = replicas.size() / names.size();
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    replicas[r].host = names.at(r / per_host);
    if (r < per_host) continue;
    for (auto& stage : replicas[r].stages) stage.cpus.clear();  // another machine's are not known here
  }
}

/// The record with the speed of its epochs so far; blocks of steps are known at the end.
record::Record with_speed(record::Record record) {
  std::vector<double> rates;
  for (const auto& epoch : record.training.epochs) {
    if (epoch.images_per_s) rates.push_back(*epoch.images_per_s);
  }
  if (rates.size() > 1) rates.erase(rates.begin());  // it warms up
  record.images_per_s = record::throughput_of(std::move(rates), "epochs so far");
  if (!record.images_per_s.median) record.images_per_s.reason = "no epoch has ended";
  return record;
}

/// A note on how the learning rate changes where a resumed run gets another number of epochs; "" = not at all.
std::string schedule_change(const record::Record& earlier, const TrainOptions& options, const TrainSetup& setup) {
  const auto epochs = earlier.config.find("epochs");
  if (epochs == earlier.config.end()) return "";
  const std::int64_t before = std::strtoll(epochs->second.c_str(), nullptr, 10);
  const int head = setup.begins_with_head ? 1 : 0;  // an epoch without steps
  const std::int64_t step = (setup.resumed_epoch - head) * setup.steps_per_epoch + setup.resumed_step;
  return new_end_text(options.schedule, options.learning_rate, step, setup.steps_per_epoch, before - head,
                      options.epochs - head);
}

/// Passes events of the training on to the watcher and to the record.
class TrainingObserver : public TrainObserver {
 public:
  TrainingObserver(const TrainFlags& flags, measure::MeteredRun& run, TrainWatcher& watcher)
      : flags_(flags), run_(run), watcher_(watcher) {}

  void on_loading(LoadingStep step, std::size_t done, std::size_t images) override {
    watcher_.loading(step, done, images);
  }
  void on_setup(const TrainSetup& setup, const TrainOptions& options) override {
    setup_ = &setup;
    if (!flags_.measuring.profile->empty()) profiled_.emplace(setup, options);
    fill_setup(run_.record(), flags_, options, setup);
    run_.begin();
    if (run_.earlier() != nullptr) {
      if (std::string text = schedule_change(*run_.earlier(), options, setup); !text.empty()) decided(std::move(text));
    }
    for (const std::string& text : flags_.decisions) run_.record().notes.push_back(text);  // were told already
    for (const std::string& text : decisions_) {
      run_.record().notes.push_back(text);
      watcher_.note("note: " + text);
    }
    for (const auto& warning : placement::all_warnings(options.plan)) watcher_.note("warning: " + warning);
    for (const auto& text : options.plan.notes) watcher_.note("note: " + text);
    watcher_.setup(setup);
    for (const std::string& text : ignored_options(flags_, options, setup)) {
      run_.record().notes.push_back(text);
      watcher_.note("note: " + text);
    }
    epoch_begin_ = run_.phases();
    epoch_begin_s_ = run_.session_s();
  }
  void on_step(const StepProgress& progress) override {
    const std::int64_t of_epoch = progress.epoch == epoch_ ? images_ : 0;
    record::Record& record = run_.record();
    *record.times.train += progress.step_seconds;
    record.sessions.back().images += progress.images - of_epoch;
    const bool first = epoch_ == 0;
    if (first) {
      record.times.first_step = run_.session_s();
      record.times.load = setup_->load_s;
      record.times.init = *record.times.first_step - setup_->load_s - *record.times.train - *record.times.validate;
    }
    epoch_ = progress.epoch;
    images_ = progress.images;
    watcher_.step(progress);
    if (first) run_.save_so_far(record);
  }
  void on_epoch(const record::EpochRecord& epoch) override {
    const auto now = run_.phases();
    *run_.record().times.validate += epoch.validate_seconds.value_or(0);
    ++run_.record().sessions.back().epochs;
    if (epoch.head_only) {  // it was fitted before the setup was told
      *run_.record().times.train += *epoch.seconds;
      epoch_begin_s_ = run_.session_s() - (now_s() - setup_->linear_probe->begin_s);
    }
    record::EpochRecord told = epoch;
    told.phases_s = now.since(epoch_begin_).critical_s();
    told.from_s = epoch_begin_s_;
    told.to_s = epoch_begin_s_ = run_.session_s();
    run_.record().training.epochs.push_back(std::move(told));
    epoch_begin_ = now;
    watcher_.epoch(epoch);
    run_.save_so_far(with_speed(run_.record()));
  }
  /// The record tells of no less than the checkpoint: after a kill, resuming does only what neither has, and the
  /// sessions add up to at least the whole run.
  void on_checkpoint() override { run_.save_now(with_speed(run_.record())); }
  void on_note(const std::string& text) override { watcher_.note(text); }

  /// The job's; null before on_setup().
  const TrainSetup* setup() const { return setup_; }

  /// The trained setup, where its layers are to be timed; otherwise absent.
  const std::optional<std::pair<TrainSetup, TrainOptions>>& profiled() const { return profiled_; }

  /// What was decided before the setup, for the record: why the plan is what it is, or the batch.
  void decided(std::string text) { decisions_.push_back(std::move(text)); }

 private:
  const TrainFlags& flags_;
  measure::MeteredRun& run_;
  TrainWatcher& watcher_;
  std::vector<std::string> decisions_;
  measure::PhaseTotals epoch_begin_;
  double epoch_begin_s_ = 0;           // of the session
  const TrainSetup* setup_ = nullptr;  // the job's own
  std::optional<std::pair<TrainSetup, TrainOptions>> profiled_;
  int epoch_ = 0;            // of the last step
  std::int64_t images_ = 0;  // and those of that epoch so far
};

/// Received from the process of rank 0: the text of its record.json, how the training ended, and why.
using OutcomeMessage = std::tuple<std::string, record::Status, std::string>;

std::string to_message(const record::Record& record, const TrainResult& result) {
  const std::string text = record::to_json(record).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return pack_message(OutcomeMessage(text, result.status, result.status_reason));
}

/// Trains on all ranks of this host; the outcome is that of rank 0. The training, with its data, is left in `made`,
/// unless there was nothing to do.
TrainingOutcome train_in(measure::MeteredRun& run, const TrainFlags& flags, TrainOptions options,
                         TrainingObserver& observer, measure::Observer& progress, const comm::HostPosition& position,
                         std::optional<TrainJob>& made) {
  std::vector<Candidate> candidates;
  if (flags.placement.is_automatic()) candidates = candidates_of(flags);
  options.candidates = plans_of(candidates);
  PreparedTraining training(options, observer);
  for (std::string& text : decide(flags, candidates, training, progress)) observer.decided(std::move(text));
  TrainJob& job = made.emplace(std::move(training));
  if (const auto end_s = flags.end_by_s()) job.end_by(*end_s);
  if (run.earlier() != nullptr && has_ended(job, *run.earlier())) {
    run.withdraw();
    made.reset();
    const std::size_t epochs = run.earlier()->training.epochs.size();
    const bool ended_early = epochs < static_cast<std::size_t>(options.epochs);
    progress.note(fmt::format("nothing to do: the run ended after {}. Its record stays as it was; {}",
                              counted(epochs, "epoch"),
                              ended_early ? "--patience or --until-accuracy ended it, 0 never does"
                                          : "--epochs with more than that goes on"));
    return {*run.earlier(), record::Status::kDone, "", {}};
  }
  const auto body = [&](const parallel::RankContext& context) {
    const TrainResult result = job.run(context);
    if (context.rank != 0) return std::string();
    progress.finish();
    record::Record& record = run.record();
    run.take_times(record);
    fill_results(record, result);
    if (result.pipeline)
      write_stage_trace(run.folder() / "stages.trace.json", result.stages, context.stages, context.hosts);
    if (!result.copies.pairs.empty()) write_copies(run.folder() / kCopiesFile, result.copies);
    if (const TrainSetup* setup = observer.setup()) record.warnings = training_warnings(*setup, result);
    if (std::string loss = quantization_loss(flags, record); !loss.empty()) record.warnings.push_back(std::move(loss));
    if (context.link != nullptr) {
      fill_hosts(record, context.link->names());
      for (const std::string& told : context.link->gather(record::energy_message({}))) {
        record.host_energies.push_back(record::energy_of_message(told));
      }
    }
    return to_message(record, result);
  };
  measure::RankOptions ranks = rank_options(flags);
  ranks.launch.hosts = hosts_options(position, job);
  ranks.launch.always_group = options.always_exchange;
  const auto [record, status, reason] =
      unpack_message<OutcomeMessage>(measure::run_on_all_ranks(run, job, ranks, body).front(), "the result of rank 0");
  return {record::from_json(nlohmann::json::parse(record), "the record of rank 0"), status, reason, {}};
}

/// Writes down what a job says of itself.
class Listener : public TrainObserver {
 public:
  explicit Listener(const TrainFlags& flags) : flags_(flags) {}

  void on_setup(const TrainSetup& setup, const TrainOptions& options) override {
    text += "run        " + setup_text(setup) + "\n";
    for (const std::string& note : setup.notes) on_note(note);
    for (const std::string& note : ignored_options(flags_, options, setup)) on_note(note);
  }
  void on_note(const std::string& note) override { text += "note       " + note + "\n"; }

  std::string text;

 private:
  const TrainFlags& flags_;
};

}  // namespace

std::vector<std::string> hosts_to_start(const TrainFlags& flags) {
  if (*flags.placement.hosts_started > 0) return {};
  auto hosts = flags.placement.hosts->empty() ? parallel::slurm_hosts() : parallel::parse_hosts(*flags.placement.hosts);
  if (!hosts.empty() && *flags.placement.elastic) {
    throw UsageError(
        "--elastic goes on with fewer replicas on one host only; on several, --restarts 1 starts all of them again");
  }
  if (!hosts.empty() && *flags.placement.restarts > 0 && flags.output.out->empty()) {
    throw UsageError("--restarts on several hosts needs to know where the checkpoints are; give --out FOLDER");
  }
  return hosts;
}

measure::RunOptions run_options(const TrainFlags& flags, const std::string& model, const placement::Plan& plan) {
  return {.kind = "train",
          .version = program_version(),
          .out = *flags.output.out,
          .default_name = model,
          .resume = flags.output.resumes(),
          .overwrite = *flags.output.overwrite,
          .can_resume = true,
          .reads = {*flags.model.weights},
          .sample_interval_ms = *flags.measuring.sample_interval_ms,
          .energy = flags.energy.options(plan),
          .hosts = *flags.placement.hosts_started,
          .trace = *flags.measuring.trace,
          .json = *flags.output.json};
}

measure::RankOptions rank_options(const TrainFlags& flags) {
  return {.restarts = *flags.placement.restarts, .elastic = *flags.placement.elastic};
}

std::string setup_text(const TrainSetup& setup) {
  const auto& image = setup.image;
  const std::string reason = setup.engine_reason.empty() ? "" : " (" + setup.engine_reason + ")";
  const std::string loaders =
      setup.loader_threads > 1 ? "; batches by " + std::to_string(setup.loader_threads) + " threads" : "";
  return fmt::format("{}, {} classes, {}x{}x{}: {} images to train on, {} to validate, {} to test; engine {}{}{}",
                     setup.network.model(), setup.classes.size(), image.channels, image.height, image.width,
                     setup.train_images, setup.val_images, setup.test_images, setup.engine, reason, loaders);
}

TrainingOutcome run_training(const TrainFlags& flags, TrainWatcher& watcher) {
  const comm::HostPosition position = position_of(flags);
  placement::Plan plan = placement::on_hosts(plan_of(flags), position.hosts);
  if (flags.placement.is_automatic() && *flags.optimisation.epochs == 0) {
    throw UsageError("--on auto compares placements by training, and --epochs 0 trains nothing: name one, such as cpu");
  }
  if (const std::string why = placement::why_not_runnable(plan); !why.empty()) throw UsageError(why);
  TrainOptions options = train_options(flags, plan);
  if (position.host > 0) {
    options.out = *flags.output.out;
    follow(flags, options, position);
    return {};
  }
  if (plan.processes.front().ranks.size() > 1) engine::share_one_heap();
  measure::MeteredRun run(run_options(flags, options.model, options.plan), watcher);
  options.out = run.folder();
  TrainingObserver observer(flags, run, watcher);
  const bool tries = flags.placement.is_automatic() || times_epochs(flags, plan);
  TrainingOutcome outcome;
  std::optional<TrainJob> job;
  try {
    outcome.record = run.measure(
        [&] {
          outcome = train_in(run, flags, options, observer, watcher, position, job);
          return std::move(outcome.record);
        },
        tries ? measure::SampledFrom::kBegin : measure::SampledFrom::kStart);
  } catch (...) {
    // That hosts differ is found out after the setup.
    if (position.hosts > 1 && !measure::has_checkpoint(run.folder())) run.withdraw();
    throw;
  }
  outcome.out = run.folder();
  const bool is_done = job.has_value() && *flags.optimisation.epochs > 0 && outcome.status == record::Status::kDone;
  if (is_done && !*flags.calibration.no_calibration &&
      job->data().dataset->target_kind() == data::TargetKind::kClasses) {
    inference::calibrate_training(run.folder(), job->data(), options.data.seed, *flags.calibration.unknown,
                                  outcome.record, watcher);
  }
  job.reset();
  if (const auto& profiled = observer.profiled(); profiled && outcome.status == record::Status::kDone) {
    inference::add_layers(run.folder(), outcome.record, watcher,
                          [&] { return profile_training(profiled->first, profiled->second); });
  }
  return outcome;
}

std::string dry_run_text(const TrainFlags& flags) {
  const std::vector<std::string> hosts = hosts_to_start(flags);
  if (flags.placement.is_automatic()) throw UsageError(kAutoIsMeasured);
  const placement::Plan plan = plan_of(flags);
  Listener listener(flags);
  look_at(train_options(flags, plan), listener);
  std::string text = placement::plan_text(plan);
  if (!hosts.empty()) text += hosts_text(hosts, plan.replicas.size());
  return text + listener.text;
}

TrainingOutcome train(const TrainFlags& flags, TrainWatcher& watcher, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  const std::vector<std::string> hosts = hosts_to_start(flags);
  if (flags.placement.is_automatic() && !hosts.empty()) throw UsageError(kAutoIsMeasured);
  if (!hosts.empty()) {
    train_options(flags, plan_of(flags));  // what is wrong is said once, here
    train_on_hosts(flags, hosts, watcher);
    return {};
  }
  const bool leads_a_host = *flags.placement.hosts_started > 0;
  return leads_a_host ? naming_host([&] { return run_training(flags, watcher); }) : run_training(flags, watcher);
}

}  // namespace evener::training
