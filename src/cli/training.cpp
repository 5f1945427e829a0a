#include "cli/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "base/precision.h"
#include "cli/batch_option.h"
#include "cli/choices.h"
#include "cli/data_options.h"
#include "cli/image_size.h"
#include "cli/out_folder.h"
#include "cli/planning.h"
#include "cli/progress.h"
#include "cli/train_hosts.h"
#include "cli/train_record.h"
#include "placement/machine.h"
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
        progress_(flags.epochs, flags.quiet) {}

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
    record_.epochs.push_back(epoch_record(epoch, train_images_, now.since(epoch_begin_).critical_s()));
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

/// Rank 0's outcome crosses from its process to this one as text.
std::string to_message(const TrainingOutcome& outcome) {
  return nlohmann::json{{"record", measure::to_json(outcome.record)},
                        {"status", static_cast<int>(outcome.status)},
                        {"reason", outcome.status_reason}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

TrainingOutcome from_message(const std::string& message) {
  const nlohmann::json json = nlohmann::json::parse(message);
  return {measure::from_json(json.at("record"), "the record of rank 0"),
          static_cast<task::TrainStatus>(json.at("status").get<int>()),
          json.at("reason"),
          {}};
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
  for (int left = flags.restarts;; --left) {
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
        if (!flags.elastic) throw Error(loss + (flags.restarts > 0 ? "" : "; --restarts 1 starts it again by itself"));
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
  sampling.interval_ms = flags.sample_interval_ms;
  sampling.csv = out / (flags.resume ? kSamples : kNewSamples);
  sampling.append = flags.resume;
  if (flags.resume) sampling.csv_start_s = last_sample_s(sampling.csv);
  return sampling;
}

void require_positive(const char* option, double value, bool zero_allowed = false) {
  if (value > 0 || (zero_allowed && value == 0)) return;
  throw UsageError(fmt::format("{} is {}; it has to be {}", option, value, zero_allowed ? "0 or more" : "more than 0"));
}

void require_share(const char* option, double value) {
  if (value >= 0 && value < 1) return;
  throw UsageError(fmt::format("{} is {}; it has to be a share, such as 0.9", option, value));
}

void check_numbers(const TrainFlags& flags) {
  require_positive("--epochs", flags.epochs, true);
  if (flags.learning_rate) require_positive("--lr", *flags.learning_rate);
  require_positive("--momentum", flags.momentum, true);
  if (flags.weight_decay) require_positive("--weight-decay", *flags.weight_decay, true);
  require_positive("--clip-norm", flags.clip_norm, true);
  require_positive("--accumulate", flags.accumulate);
  require_positive("--patience", flags.patience, true);
  require_share("--ema", flags.average_decay);
  require_share("--label-smoothing", flags.label_smoothing);
  if (flags.until_accuracy != 1) require_share("--until-accuracy", flags.until_accuracy);
  require_positive("--warmup", flags.warmup_epochs, true);
  require_positive("--restarts", flags.restarts, true);
  require_positive("--plan-seconds", flags.plan_seconds);
  require_positive("--validate-every", flags.validate_every);
  if (flags.loader_threads) require_positive("--loader-threads", *flags.loader_threads, true);
  if (flags.momentum >= 1) throw UsageError(fmt::format("--momentum is {}; it has to be less than 1", flags.momentum));
  if (flags.loader_threads.value_or(1) > 1024)
    throw UsageError("--loader-threads is " + std::to_string(*flags.loader_threads) + "; the most is 1024");
}

/// What one engine, or one loss, would not heed.
void require_heeded(const TrainFlags& flags) {
  if (flags.engine == "torch" && flags.kernels == "naive") {
    throw UsageError("--kernels naive are plain loops of the native engine; leave it out, or use --engine native");
  }
  if (flags.loss == "mse" && flags.label_smoothing > 0) {
    throw UsageError("--label-smoothing changes the targets of cross-entropy alone; leave it out with --loss mse");
  }
}

/// A run that replaces another removes its weights; they can't be what it starts from.
void require_weights_stay(const TrainFlags& flags) {
  if (flags.weights.empty() || !flags.overwrite || flags.out.empty()) return;
  std::error_code ignored;
  const fs::path folder = fs::absolute(flags.weights).parent_path();
  if (!fs::equivalent(folder, flags.out, ignored)) return;
  throw UsageError("--overwrite would remove '" + flags.weights + "', which --weights starts from; give another --out");
}

/// Checks what goes together, and fills in the usual values.
engine::OptimizerOptions optimizer_options(const TrainFlags& flags) {
  engine::OptimizerOptions optimizer;
  const bool adam = chosen("optimizer", flags.optimizer, {"sgd", "adamw"}) == "adamw";
  if (adam && (flags.momentum != 0 || flags.nesterov)) {
    throw UsageError("--momentum and --nesterov are sgd's; adamw keeps averages of its own. Leave them out");
  }
  if (flags.nesterov && flags.momentum == 0) throw UsageError("--nesterov needs --momentum, such as 0.9");
  optimizer.kind = adam ? engine::OptimizerKind::kAdamW : engine::OptimizerKind::kSgd;
  optimizer.momentum = flags.momentum;
  optimizer.nesterov = flags.nesterov;
  optimizer.weight_decay = flags.weight_decay.value_or(adam ? 0.01 : 0);
  optimizer.clip_norm = flags.clip_norm;
  optimizer.average_decay = flags.average_decay;
  return optimizer;
}

}  // namespace

placement::PlanOptions plan_options(const TrainFlags& flags) {
  placement::PlanOptions options;
  options.precision = precision_name(parse_precision(flags.precision));
  options.replicas = placement::parse_replicas_as(flags.replicas);
  if (!flags.shares.empty()) options.shares = placement::parse_share_rule(flags.shares);
  // Another host may have more CPUs than this one.
  options.oversubscribe = flags.oversubscribe || flags.hosts_started > 0 || !hosts_to_start(flags).empty();
  return options;
}

placement::Plan plan_of(const TrainFlags& flags) {
  const placement::Placement asked = placement::parse(flags.on);
  const placement::Placement placement = asked.automatic ? placement::parse("cpu") : asked;
  return placement::make_plan(placement, placement::machine_for(placement), plan_options(flags));
}

task::TrainOptions train_options(const TrainFlags& flags, const placement::Plan& plan) {
  check_numbers(flags);
  require_heeded(flags);
  task::TrainOptions options;
  options.model = flags.model;
  options.engine = chosen("engine", flags.engine, {"auto", "torch", "native"});
  options.data.location = flags.data;
  if (!flags.size.empty()) {
    const ImageSize size = parse_image_size(flags.size);
    options.data.width = size.width;
    options.data.height = size.height;
  }
  options.data.channels = flags.channels;
  if (!flags.split.empty()) options.data.split = parse_split(flags.split);
  options.data.seed = flags.seed;
  options.data.strict = flags.strict;
  options.data.classes = parse_classes(flags.classes);
  options.data.decode = data::parse_decode_mode(flags.decode);
  options.augment = data::parse_augment(flags.augment);
  options.batch = parse_batch(flags);
  options.data_on_device = chosen("data-on", flags.data_on, {"host", "device"}) == "device";
  options.epochs = flags.epochs;
  options.learning_rate = flags.learning_rate.value_or(flags.optimizer == "adamw" ? 0.001 : 0.05);
  options.accumulate = flags.accumulate;
  options.patience = flags.patience;
  options.until_accuracy = flags.until_accuracy;
  options.schedule = task::parse_schedule(flags.schedule);
  options.schedule.warmup_epochs = flags.warmup_epochs;
  options.validate_every = flags.validate_every;
  options.loader_threads = flags.loader_threads;
  options.plan = plan;
  options.local_batch_norm = chosen("batch-norm", flags.batch_norm, {"synchronised", "local"}) == "local";
  options.always_exchange = chosen("exchange", flags.exchange, {"auto", "always"}) == "always";
  options.wire = chosen("exchange-precision", flags.exchange_precision, {"fp32", "bf16"}) == "bf16"
                     ? comm::Wire::kBFloat16
                     : comm::Wire::kFloat32;
  options.resume = flags.resume;
  options.weights = flags.weights;
  options.freeze = flags.freeze;
  options.normalization = task::parse_normalization(flags.normalize);
  if (flags.epochs == 0 && (flags.weights.empty() || flags.resume)) {
    throw UsageError(
        "--epochs 0 trains nothing, it evaluates the weights of a file: it goes with --weights FILE, and "
        "not with --resume");
  }
  if (flags.resume && flags.out.empty())
    throw UsageError("--resume needs --out DIR, the folder of the run to go on with");
  auto& trainer = options.trainer;
  trainer.device = plan.replicas.front().stages.front().device;
  trainer.precision = parse_precision(flags.precision);
  trainer.loss = parse_loss(flags.loss);
  trainer.layout = parse_layout(flags.layout);
  trainer.kernels = parse_kernels(flags.kernels);
  trainer.optimizer = optimizer_options(flags);
  trainer.label_smoothing = flags.label_smoothing;
  trainer.seed = flags.seed;
  trainer.step_graph = chosen("step-graph", flags.step_graph, {"auto", "off"}) == "auto";
  options.data.threads = 0;
  for (const auto& process : plan.processes) {  // those of this host
    for (const int rank : process.ranks) {
      options.data.threads += std::max(1, plan.replicas.at(static_cast<std::size_t>(rank)).stages.front().threads);
    }
  }
  return options;
}

TrainingOutcome run_training(const TrainFlags& flags) {
  const Stopwatch clock;
  const comm::HostPosition position = position_of(flags);
  placement::Plan plan = placement::on_hosts(plan_of(flags), position.hosts);
  const bool automatic = is_automatic(flags);
  if (automatic && flags.epochs == 0) {
    throw UsageError("--on auto compares placements by training, and --epochs 0 trains nothing: name one, such as cpu");
  }
  if (const std::string why = placement::why_not_runnable(plan); !why.empty()) throw UsageError(why);
  task::TrainOptions options = train_options(flags, plan);
  require_weights_stay(flags);
  if (position.host > 0) {
    options.out = flags.out;
    follow(options, position);
    return {};
  }
  OutFolder out(flags.out.empty() ? default_out(flags.model) : fs::path(flags.out), flags.resume, flags.overwrite);
  options.out = out.path();

  if (plan.processes.front().ranks.size() > 1) engine::share_one_heap();
  const measure::SamplerOptions sampling = sampling_options(flags, out.path());
  std::optional<measure::ProcessSampler> sampler;
  if (!automatic) sampler.emplace(sampling);  // before anything is pinned
  measure::PhaseRecorder phases(flags.trace.empty() ? 0 : 1'000'000);
  Observer observer(flags, plan, options, out, phases);
  if (automatic) {
    const std::vector<plan::Candidate> candidates = candidates_of(flags);
    options.candidates = plans_of(candidates);
    options.choose_plan = [&, candidates](const task::Trials& trials) {
      Choice choice = choose_placement(candidates, trials, flags.plan_seconds, observer.progress().line());
      observer.chosen(choice.reason);
      options.trainer.device = choice.plan.replicas.front().stages.front().device;
      plan = options.plan = std::move(choice.plan);
      sampler.emplace(sampling);  // the trials are not the run
    };
  }
  if (flags.batch == "max") {
    options.choose_batch = [&](const task::Trials& trials) {
      options.batch = trials.largest_batch(plan);
      if (options.batch == 0)
        throw Error(flags.model + " does not fit into the memory of '" + plan.text +
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
        if (!flags.trace.empty()) phases.write_trace(flags.trace);
        return to_message({std::move(observer.record()), result.status, result.status_reason, out.path()});
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
