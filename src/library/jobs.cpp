#include "evener/jobs.h"

#include <algorithm>
#include <functional>
#include <type_traits>

#include "base/clock.h"
#include "base/forked.h"
#include "base/names.h"
#include "base/this_work.h"
#include "base/version.h"
#include "detect/box_sink.h"
#include "detect/detect.h"
#include "evener/evener.h"
#include "faces/faces_job.h"
#include "infer/inference.h"
#include "library/event_post.h"
#include "library/given.h"
#include "matmul/matmul_job.h"
#include "measure/run/progress.h"
#include "quantize/quantization.h"
#include "record/record_json.h"
#include "sweep/sweep_job.h"
#include "train/automatic.h"
#include "train/plan_job.h"
#include "train/training.h"

namespace evener {
namespace {

using library::EventPost;

/// What sweeps can run.
const MeasuredCommands& measured_jobs() {
  static const MeasuredCommands jobs = {{"train", training::measured_train},
                                        {"infer", inference::measured_infer},
                                        {"faces", faces::measured_faces},
                                        {"detect", detection::measured_detect},
                                        {"quantize", quantization::measured_quantize},
                                        {"matmul", matmul::measured_matmul}};
  return jobs;
}

constexpr double kBetweenSteps_s = 0.1;

/// Forwards a job's events to the library's observer.
class Sender : public training::TrainWatcher {
 public:
  explicit Sender(EventPost& post) : post_(post) {}

  void note(const std::string& text) override {
    post_.send([text](evener::Observer& observer) { observer.note(text); });
  }
  void show(const std::string& text) override {
    post_.send([text](evener::Observer& observer) { observer.progress(text); });
  }
  void tell(const std::string& lines) override {
    post_.send([lines](evener::Observer& observer) { observer.answers(lines); });
  }
  bool redraws() const override { return true; }

  void loading(training::LoadingStep step, std::size_t done, std::size_t images) override {
    loading_.update(step == training::LoadingStep::kDecode ? "reading images" : "measuring pixel values", done, images);
  }
  void setup(const training::TrainSetup& setup) override { note(training::setup_text(setup)); }
  void step(const training::StepProgress& progress) override {
    const bool is_last = progress.step == progress.steps_per_epoch;
    if (!is_last && now_s() - last_step_s_ < kBetweenSteps_s) return;
    last_step_s_ = now_s();
    const double rate = progress.epoch_seconds > 0 ? static_cast<double>(progress.images) / progress.epoch_seconds : 0;
    const StepEvent event{progress.epoch, progress.step, progress.steps_per_epoch, rate, progress.loss};
    post_.send([event](evener::Observer& observer) { observer.step(event); });
  }
  void epoch(const record::EpochRecord& epoch) override {
    const EpochEvent event{epoch.epoch,
                           epoch.seconds.value_or(0),
                           epoch.lr.value_or(0),
                           epoch.train_loss.value_or(0),
                           epoch.train_accuracy,
                           epoch.val_loss,
                           epoch.val_accuracy,
                           epoch.figures,
                           epoch.best};
    post_.send([event](evener::Observer& observer) { observer.epoch(event); });
  }

 private:
  EventPost& post_;
  measure::LoadingProgress loading_{*this};
  double last_step_s_ = -1e9;
};

/// Does `work` on a thread of its own, which the job may pin, while this thread delivers events to the observer.
Result run_job(Observer* observer, const StopFlag* stop, const std::function<Result(Sender&, const StopFlag&)>& work) {
  forbid_forks();  // the calling program's threads aren't ours
  EventPost post(observer, stop);
  post.deliver();  // notices a stop request from before the start
  Result result;
  library::WorkThread thread;
  library::work_observed(thread, post, [&] {
    Sender sender(post);
    result = work(sender, post.stop());
  });
  return result;
}

std::string record_text(const record::Record& record) {
  return record::to_json(record).dump(2);
}

void require_predictions(std::size_t answered) {
  if (answered == 0) throw Error("none of the images could be read");
}

/// Sets, completes and checks the options of a job, as most jobs do.
void take(const OptionSet& all, const Options& given) {
  const OptionSet options = library::givable(all);
  library::give(options, given);
  library::check(options);
}

/// Predictions are returned only if the caller asks for a format.
void tell_nothing_by_default(inference::InferCommandFlags& flags) {
  flags.predictions.format.preset("none");
}
void tell_nothing_by_default(detection::DetectFlags& flags) {
  flags.output.format.preset("none");
}

/// The options of a command that has several groups of options, or only one.
template <class Flags>
OptionSet options_in(Flags& flags) {
  if constexpr (std::is_base_of_v<OptionGroup, Flags>) {
    return {&flags};
  } else {
    return flags.options();
  }
}

/// The result of a training that ended well; failures were thrown.
Result::Status status_of(record::Status status) {
  if (status == record::Status::kInterrupted) return Result::Status::kInterrupted;
  if (status == record::Status::kDiverged) return Result::Status::kDiverged;
  return Result::Status::kDone;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

const char* version() {
  return program_version();
}

const char* status_name(Result::Status status) {
  static constexpr const char* kNames[] = {"done", "interrupted", "diverged"};
  return name_in(kNames, status);
}

std::vector<OptionDescription> options_of(const std::string& job) {
  const auto told = [](auto flags) {
    if constexpr (requires { tell_nothing_by_default(flags); }) tell_nothing_by_default(flags);
    return library::described(library::givable(options_in(flags)));
  };
  if (job == "train") return told(training::TrainFlags());
  if (job == "infer") return told(inference::InferCommandFlags());
  if (job == "faces") return told(faces::FacesCommandFlags());
  if (job == "detect") return told(detection::DetectFlags());
  if (job == "quantize") return told(quantization::QuantizeFlags());
  if (job == "sweep") return told(sweeps::SweepFlags());
  if (job == "load") return told(library::LoadFlags());
  throw UsageError(
      unknown_name_message("job", job, {"train", "infer", "faces", "detect", "quantize", "sweep", "load"}));
}

Result train(const Options& options, Observer* observer, const StopFlag* stop) {
  training::TrainFlags flags;
  library::give(library::givable(flags.options()), options);
  if (*flags.placement.replicas == "processes") {
    throw UsageError("replicas=processes is for the command: here replicas are threads of the calling process");
  }
  return run_job(observer, stop, [&flags](Sender& sender, const StopFlag& own) {
    const WorkScope scope(this_work_until(&own));
    training::choose_by_weights(flags);
    complete(flags, &sender);
    // Replicas are threads: the calling program may have threads of its own, so forked children could inherit locks
    // that are held for ever.
    auto& replicas = flags.placement.replicas;
    replicas.given() ? replicas.read({"threads"}) : replicas.preset("threads");
    library::check(library::givable(flags.options()));
    training::check_placement(flags);
    training::choose_by_trying(flags, sender, &own);
    const training::TrainingOutcome outcome = training::run_training(flags, sender);
    return Result{status_of(outcome.status), outcome.status_reason, outcome.out, record_text(outcome.record),
                  lines_of(training::training_text(outcome.record))};
  });
}

Result infer(const Options& options, Observer* observer, const StopFlag* stop) {
  inference::InferCommandFlags flags;
  tell_nothing_by_default(flags);
  take(flags.options(), options);
  if (*flags.predictions.watch)
    throw UsageError("--watch is for the command: here a program calls again with what came");
  return run_job(observer, stop, [&flags](Sender& sender, const StopFlag& own) {
    complete(flags, &sender);
    const inference::InferenceRun run = inference::infer(flags, sender, &own);
    if (run.was_stopped) throw Interrupted("interrupted; the record says what is known until then");
    if (!flags.scenario.wanted()) require_predictions(run.answered);
    const std::string text =
        flags.scenario.wanted() ? inference::scenario_text(run.record) : inference::inference_text(run);
    return Result{Result::Status::kDone, "", run.folder, record_text(run.record), lines_of(text)};
  });
}

Result find_faces(const Options& options, Observer* observer, const StopFlag* stop) {
  faces::FacesCommandFlags flags;
  take(flags.options(), options);
  return run_job(observer, stop, [&flags](Sender& sender, const StopFlag& own) {
    complete(flags, &sender);
    const faces::FacesRun run = faces::find_faces(flags, sender, &own);
    const auto folder = std::filesystem::is_directory(run.results) ? run.results : run.results.parent_path();
    return Result{Result::Status::kDone, "", folder, record_text(run.record), run.summary};
  });
}

Result detect(const Options& options, Observer* observer, const StopFlag* stop) {
  detection::DetectFlags flags;
  tell_nothing_by_default(flags);
  take(flags.options(), options);
  return run_job(observer, stop, [&flags](Sender& sender, const StopFlag& own) {
    complete(flags, &sender);
    const detection::DetectionRun run = detection::detect(flags, sender, &own);
    require_predictions(run.answered);
    const std::string quality = run.quality ? detection::quality_text(*run.quality, run.classes) : "";
    return Result{Result::Status::kDone, "", run.folder, record_text(run.record), lines_of(quality)};
  });
}

Result quantize(const Options& options, Observer* observer, const StopFlag* stop) {
  quantization::QuantizeFlags flags;
  take(flags.options(), options);
  return run_job(observer, stop, [&flags](Sender& sender, const StopFlag& own) {
    complete(flags, &sender);
    const quantization::QuantizedRun run = quantization::quantize(flags, sender, &own);
    return Result{Result::Status::kDone, "", run.folder, record_text(run.record),
                  lines_of(comparison_text(run.comparison))};
  });
}

Result sweep(const Options& options, Observer* observer, const StopFlag* stop) {
  sweeps::SweepFlags flags;
  const OptionSet givable = library::givable(options_in(flags));
  library::give(givable, options);
  complete(flags, measured_jobs());  // words of WHAT may be options of the sweep, too
  library::check(givable);
  if (*flags.dry_run) throw UsageError("--dry-run is for the command: it lists the runs, and makes none");
  return run_job(observer, stop, [&flags](Sender& sender, const StopFlag& own) {
    const sweeps::SweepOutcome outcome = sweeps::sweep(flags, sender, &own);
    return Result{outcome.stopped.empty() ? Result::Status::kDone : Result::Status::kInterrupted, outcome.stopped,
                  outcome.sweep.folder, sweeps::sweep_json(outcome.sweep), sweeps::sweep_conclusion(outcome.sweep)};
  });
}

}  // namespace evener
