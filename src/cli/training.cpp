#include "cli/training.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.h"
#include "base/message.h"
#include "base/plural.h"
#include "cli/ignored_options.h"
#include "cli/planning.h"
#include "cli/progress.h"
#include "cli/train_hosts.h"
#include "cli/train_record.h"
#include "measure/record_json.h"
#include "run/metered_run.h"
#include "run/out_folder.h"
#include "run/ranks.h"
#include "task/checkpoint.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

/// The record with the speed of its epochs so far; blocks of steps are known at the end.
measure::Record with_speed(measure::Record record) {
  std::vector<double> rates;
  for (const auto& epoch : record.training.epochs) {
    if (epoch.images_per_s) rates.push_back(*epoch.images_per_s);
  }
  if (rates.size() > 1) rates.erase(rates.begin());  // it warms up
  record.images_per_s = measure::throughput_of(std::move(rates), "epochs so far");
  if (!record.images_per_s.median) record.images_per_s.reason = "no epoch has ended";
  return record;
}

/// What a schedule that ends with the run becomes where the run is given another end than it had; "" = nothing.
std::string schedule_change(const measure::Record& earlier, const task::TrainOptions& options,
                            const task::TrainSetup& setup) {
  const auto epochs = earlier.config.find("epochs");
  if (epochs == earlier.config.end()) return "";
  const std::int64_t before = std::strtoll(epochs->second.c_str(), nullptr, 10);
  const std::int64_t step = setup.resumed_epoch * setup.steps_per_epoch + setup.resumed_step;
  return task::new_end_text(options.schedule, options.learning_rate, step, setup.steps_per_epoch, before,
                            options.epochs);
}

/// Passes what happens on to the progress line and the record.
class TrainingObserver : public task::TrainObserver {
 public:
  TrainingObserver(const TrainFlags& flags, run::MeteredRun& run, TrainProgress& progress)
      : flags_(flags), run_(run), progress_(progress) {}

  void on_loading(task::LoadingStep step, std::size_t done, std::size_t images) override {
    progress_.loading(step, done, images);
  }
  void on_setup(const task::TrainSetup& setup, const task::TrainOptions& options) override {
    train_images_ = setup.train_images;
    setup_ = &setup;
    fill_setup(run_.record(), flags_, options, setup);
    run_.begin();
    if (run_.earlier() != nullptr) {
      if (std::string text = schedule_change(*run_.earlier(), options, setup); !text.empty()) decided(std::move(text));
    }
    for (const std::string& text : decisions_) {
      run_.record().notes.push_back(text);
      progress_.note("note: " + text);
    }
    for (const auto& warning : placement::all_warnings(options.plan)) progress_.note("warning: " + warning);
    for (const auto& text : options.plan.notes) progress_.note("note: " + text);
    progress_.setup(setup);
    for (const std::string& text : ignored_options(flags_, options, setup)) {
      run_.record().notes.push_back(text);
      progress_.note("note: " + text);
    }
    epoch_begin_ = run_.phases();
  }
  void on_step(const task::StepProgress& progress) override {
    const std::int64_t of_epoch = progress.epoch == epoch_ ? images_ : 0;
    measure::Record& record = run_.record();
    *record.times.train += progress.step_seconds;
    record.sessions.back().images += progress.images - of_epoch;
    const bool first = epoch_ == 0;
    if (first) {
      record.times.first_step = run_.session_s();
      record.times.load = setup_->load_s;
      record.times.init = *record.times.first_step - setup_->load_s - progress.step_seconds;
    }
    epoch_ = progress.epoch;
    images_ = progress.images;
    progress_.step(progress);
    if (first) run_.save_so_far(record);
  }
  void on_epoch(const task::EpochResult& epoch) override {
    const auto now = run_.phases();
    *run_.record().times.validate += epoch.validate_seconds;
    ++run_.record().sessions.back().epochs;
    run_.record().training.epochs.push_back(epoch_record(epoch, train_images_, now.since(epoch_begin_).critical_s()));
    epoch_begin_ = now;
    progress_.epoch(epoch, train_images_);
    run_.save_so_far(with_speed(run_.record()));
  }
  void on_note(const std::string& text) override { progress_.note(text); }

  /// What was decided before the setup, for the record: why the plan is what it is, or the batch.
  void decided(std::string text) { decisions_.push_back(std::move(text)); }

 private:
  const TrainFlags& flags_;
  run::MeteredRun& run_;
  TrainProgress& progress_;
  std::vector<std::string> decisions_;
  std::size_t train_images_ = 0;
  measure::PhaseTotals epoch_begin_;
  const task::TrainSetup* setup_ = nullptr;  // the job's own
  int epoch_ = 0;                            // of the last step
  std::int64_t images_ = 0;                  // and those of that epoch so far
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

/// The run around the training.
run::RunOptions run_options(const TrainFlags& flags, const std::string& model) {
  return {.kind = "train",
          .version = EVENER_VERSION,
          .command = command_line(),
          .out = flags.output.out->empty() ? run::default_out(model) : fs::path(*flags.output.out),
          .resume = flags.output.resumes(),
          .overwrite = *flags.output.overwrite,
          .can_resume = true,
          .reads = {*flags.model.weights},
          .sample_interval_ms = *flags.measuring.sample_interval_ms,
          .tries_first = flags.placement.is_automatic(),
          .trace = *flags.measuring.trace,
          .json = *flags.output.json};
}

/// Lets what is not given be chosen once the data is there: the placement by measuring, and the batch by trying.
void choose_later(const TrainFlags& flags, task::TrainOptions& options, run::MeteredRun& run,
                  TrainingObserver& observer, ProgressLine& progress) {
  if (flags.placement.is_automatic()) {
    const std::vector<plan::Candidate> candidates = candidates_of(flags);
    options.candidates = plans_of(candidates);
    options.choose_plan = [&, candidates](const task::Trials& trials) -> std::optional<placement::Plan> {
      Choice choice = choose_placement(candidates, trials, *flags.measuring.plan_seconds, progress);
      observer.decided("--on auto: " + choice.reason);
      run.start_sampling();
      return std::move(choice.plan);
    };
  }
  if (!flags.optimisation.batch_size()) {
    options.choose_batch = [&, model = options.model](const task::Trials& trials, const placement::Plan& plan) {
      const std::int64_t batch = trials.largest_batch(plan);
      if (batch == 0) {
        throw Error(model + " does not fit into the memory of '" + plan.text +
                    "' even with a batch of one image; use a smaller --size or a smaller model");
      }
      observer.decided(fmt::format("--batch max: {} images are the most that were found to fit", batch));
      return batch;
    };
  }
}

/// Trains on all ranks of this host; the outcome is that of rank 0.
TrainingOutcome train_in(run::MeteredRun& run, const TrainFlags& flags, const task::TrainOptions& options,
                         TrainingObserver& observer, ProgressLine& progress, const comm::HostPosition& position) {
  task::TrainJob job(options, observer);
  if (run.earlier() != nullptr && has_ended(job, *run.earlier())) {
    run.withdraw();
    const std::size_t epochs = run.earlier()->training.epochs.size();
    const bool ended_early = epochs < static_cast<std::size_t>(options.epochs);
    progress.note(fmt::format("nothing to do: the run ended after {}. Its record stays as it was; {}",
                              counted(epochs, "epoch"),
                              ended_early ? "--patience or --until-accuracy ended it, 0 never does"
                                          : "--epochs with more than that goes on"));
    return {*run.earlier(), task::TrainStatus::kDone, "", {}};
  }
  const auto body = [&](const parallel::Seat& seat) {
    const task::TrainResult result = job.run(seat);
    if (seat.rank != 0) return std::string();
    progress.finish();
    measure::Record& record = run.record();
    run.take_times(record);
    fill_results(record, result);
    if (seat.link != nullptr) fill_hosts(record, seat.link->names());
    return to_message(record, result);
  };
  run::RankOptions ranks{.restarts = *flags.placement.restarts, .elastic = *flags.placement.elastic};
  ranks.launch.hosts = hosts_options(position, job);
  ranks.launch.always_group = options.always_exchange;
  return from_message(run::run_on_all_ranks(run, job, ranks, body).front());
}

}  // namespace

TrainingOutcome run_training(const TrainFlags& flags) {
  const comm::HostPosition position = position_of(flags);
  placement::Plan plan = placement::on_hosts(plan_of(flags), position.hosts);
  if (flags.placement.is_automatic() && *flags.optimisation.epochs == 0) {
    throw UsageError("--on auto compares placements by training, and --epochs 0 trains nothing: name one, such as cpu");
  }
  if (const std::string why = placement::why_not_runnable(plan); !why.empty()) throw UsageError(why);
  task::TrainOptions options = train_options(flags, plan);
  if (position.host > 0) {
    options.out = *flags.output.out;
    follow(options, position);
    return {};
  }
  if (plan.processes.front().ranks.size() > 1) engine::share_one_heap();
  TrainProgress progress(*flags.optimisation.epochs, *flags.output.quiet);
  run::MeteredRun run(run_options(flags, options.model), progress.line());
  options.out = run.folder();
  TrainingObserver observer(flags, run, progress);
  choose_later(flags, options, run, observer, progress.line());
  TrainingOutcome outcome;
  try {
    outcome.record = run.measure([&] {
      outcome = train_in(run, flags, options, observer, progress.line(), position);
      return std::move(outcome.record);
    });
  } catch (...) {
    // That hosts differ is found out after the setup.
    if (position.hosts > 1 && !task::has_checkpoint(run.folder())) run.withdraw();
    throw;
  }
  outcome.out = run.folder();
  return outcome;
}

}  // namespace evener::cli
