#include "job/infer/inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/statistics.h"
#include "base/tensor.h"
#include "base/version.h"
#include "bench/scenario_record.h"
#include "job/cache_folder.h"
#include "job/infer/infer_sinks.h"
#include "job/infer/record.h"
#include "job/infer/scenario.h"
#include "job/inference/images.h"
#include "job/inference/model_sidecar.h"
#include "job/inference/session_record.h"
#include "job/options/run_flags.h"
#include "job/sort_folder.h"
#include "report/format.h"
#include "run/metered_run.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

/// Whoever sees a class for each picture takes it for a prediction; of random images nobody expects one.
void require_meaning(const InferCommandFlags& flags, const task::InferenceModel& network, bool are_random) {
  const bool means_something = !network.weights().empty() || are_random || flags.scenario.wanted();
  if (means_something || *flags.images.random_weights || *flags.predictions.format == "none") return;
  throw UsageError(
      "'" + network.name() +
      "' has no weights here, so that its predictions would mean nothing: name trained ones with --weights "
      "FILE, or give --random to see what random weights say");
}

/// Measuring needs no classes; nor does whoever wants what the network gives.
bool tells_predictions(const InferCommandFlags& flags) {
  return *flags.predictions.outputs != "raw" && !flags.scenario.wanted() && *flags.predictions.format != "none";
}

/// Of random images nobody expects a prediction: then a note says why there is none.
void require_classes(const InferCommandFlags& flags, const task::InferenceModel& network, InferImages& images) {
  const std::string why = network.no_classes();
  if (why.empty() || !tells_predictions(flags)) return;
  if (!images.are_random) throw UsageError(why);
  images.notes.push_back(why);
}

void require_classifier(const InferCommandFlags& flags, const task::InferenceModel& network) {
  if (*flags.predictions.outputs == "raw") return;
  if (network.network() != nullptr && !network.network()->anchors().empty()) {
    throw UsageError("'" + network.name() + "' finds boxes, not one class for each image; use evener detect");
  }
}

/// "2 threads", those of a CPU replica: how many there are is not always what the machine promises.
std::string threads_text(const placement::Plan& plan) {
  int threads = 0;
  for (const auto& replica : plan.replicas) {
    for (const auto& stage : replica.stages) {
      if (stage.device.kind == DeviceKind::kCpu) threads += stage.threads;
    }
  }
  if (threads == 0) return "";
  const double quota = cpu_topology().quota_cpus;
  const std::string limit = quota > 0 ? fmt::format(" (a quota allows {:.3g} CPUs)", quota) : "";
  return ", " + counted(static_cast<std::size_t>(threads), "thread") + limit;
}

std::string setup_line(const InferenceSession& session, const InferImages& images, const task::InferSetup& setup) {
  const task::InferenceModel& network = session.network();
  const std::string from = network.weights().empty() ? "random weights" : network.weights().string();
  return fmt::format(
      "{} ({}), input {}; {}; {} on {}{}, {}, {}, batch {}", network.name(), from, shape_text(images.samples->shape()),
      count_text(*images.samples), engine_text(setup), session.plan().text, threads_text(session.plan()),
      counted(static_cast<std::size_t>(setup.streams), "stream"), precision_name(session.precision()), setup.batch);
}

/// Frames are no files that could be sorted, and those of a camera can't be shown again and again.
void require_files_for(const InferCommandFlags& flags, const data::Samples& samples) {
  const data::Pictures* const pictures = samples.pictures();
  if (pictures == nullptr) return;
  if (pictures->live() != nullptr && flags.scenario.wanted()) {
    throw UsageError("--scenario shows images again and again, and those of a camera or a pipe come once");
  }
  if ((pictures->live() != nullptr || !pictures->videos().empty()) && !flags.predictions.sort->empty()) {
    throw UsageError("--sort puts photos into folders, and frames of a video are no files: leave the videos out");
  }
}

/// Looked at before the network is opened, which may take long.
const InferCommandFlags& with_writable_places(const InferCommandFlags& flags) {
  if (const std::string& sorted = *flags.predictions.sort; !sorted.empty()) require_writable_place(sorted);
  return flags;
}

/// The pairs of classes that were taken for each other most often, as confusion.csv.
void write_confusion(const fs::path& path, const Scores& scores, const std::vector<std::string>& classes) {
  if (scores.confusion.empty() || scores.images == 0) return;
  std::string text = "true_class,found_class,images\n";
  for (std::size_t row = 0; row < classes.size(); ++row) {
    for (std::size_t column = 0; column < classes.size(); ++column) {
      const std::int64_t count = scores.confusion[row][column];
      if (count > 0)
        text += fmt::format("{},{},{}\n", report::csv_cell(classes[row]), report::csv_cell(classes[column]), count);
    }
  }
  write_file_atomically(path, text);
}

}  // namespace

Inference::Inference(const InferCommandFlags& flags)
    : flags_(with_writable_places(flags)), session_(flags.placement, inference_request(flags)) {
  require_classifier(flags, session_.network());
}

void Inference::require_meaning() const {
  job::require_meaning(flags_, session_.network(), false);
}

InferenceRun Inference::run(Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  const task::InferenceModel& network = session_.network();
  InferImages images = open_images(flags_, network, session_.threads());
  require_classes(flags_, network, images);
  require_files_for(flags_, *images.samples);
  job::require_meaning(flags_, network, images.are_random);
  if (!images.part_note.empty()) images.notes.push_back(images.part_note);
  if (const fs::path& sidecar = flags_.model.sidecar; !sidecar.empty()) {
    images.notes.push_back(fmt::format("'{}' beside the network says how it is shown images", sidecar.string()));
  }
  InferenceRun run{.seen = images.seen};
  Shown shown = session_.show(
      {.images = images,
       .infer = options_for(*images.samples,
                            infer_options(flags_, session_.plan(), session_.precision(), session_.threads())),
       .run = run_options(flags_, session_.plan(), network.weights()),
       .groups = flags_.groups(),
       .classes = network.classes(),
       .times_layers = !flags_.measuring.profile->empty(),
       .setup_line = [&](const task::InferSetup& setup) { return setup_line(session_, images, setup); },
       .work =
           [&](task::InferJob& job, run::MeteredRun& metered) {
             tell_skipped(images.skipped, "image", "read", observer);
             if (flags_.scenario.wanted()) {
               run.was_stopped = measure(job, images, metered, observer);
             } else {
               predict(job, images, metered, observer, run);
             }
           }},
      observer);
  run.folder = shown.folder;
  run.record = std::move(shown.record);
  if (!flags_.scenario.wanted()) tell_end(run, observer);
  require_no_failure(*images.samples);
  return run;
}

void Inference::predict(task::InferJob& job, const InferImages& images, run::MeteredRun& metered, Observer& line,
                        InferenceRun& run) const {
  const task::InferenceModel& network = session_.network();
  InferSinks sinks(flags_.predictions, network, *images.samples, images.labelled, metered.folder(),
                   *flags_.images.images,
                   *flags_.predictions.outputs == "raw" ? output_shapes(job, *images.samples) : OutputShapes(), line);
  task::InferResult result = predict_all(job, *images.samples, sinks, line);
  const double seconds = flags_.measuring.seconds->value_or(std::clamp(result.seconds / 10, 0.2, 2.0));
  const auto rates = seconds > 0 ? job.network_rates(*images.samples, seconds) : std::vector<double>();
  metered.take_times(metered.record());
  fill_stage_uses(metered.record(), result.stages);
  fill_inference_results(metered.record(), images.part.empty() ? "all" : images.part, result, sinks, rates);
  run.scores = sinks.scores();
  run.unknown = sinks.unknown();
  run.scores_are_logits = flags_.predictions.type() == task::OutputType::kLogits;
  if (const PhotoSorter* sorter = sinks.sorter()) run.sorted = *sorter;
  run.answered = result.answered;
  run.seconds = result.seconds;
  run.was_stopped = result.was_stopped;
  if (images.samples->live() != nullptr) metered.record().data.images = static_cast<std::int64_t>(result.answered);
  if (const std::string note = dropped_note(*images.samples, result.answered); !note.empty()) metered.note(note);
  run.unread = std::move(result.skipped);
}

bool Inference::measure(task::InferJob& job, const InferImages& images, run::MeteredRun& metered,
                        Observer& line) const {
  const bench::ScenarioResult result =
      measure_scenario(flags_.scenario, job, *images.samples, session_.network().main_output(), line);
  metered.take_times(metered.record());
  fill_stage_uses(metered.record(), job.stage_uses());
  bench::fill_record(result, metered.record());
  if (!metered.folder().empty()) bench::write_latencies(metered.folder() / bench::kLatencies, result);
  return result.log.stopped;
}

void Inference::tell_end(const InferenceRun& run, Observer& line) const {
  if (!run.folder.empty()) write_confusion(run.folder / "confusion.csv", run.scores, session_.network().classes());
  tell_skipped(run.unread, "image", "read", line);
  const std::vector<record::Metric> metrics = record::metrics_of(run.record);
  const auto& network_rate = record::find_metric(metrics, "network_images_per_s")->value;
  line.note(fmt::format("{} in {}: {} images/s from files to predictions{}", counted(run.answered, "image"),
                        duration_text(run.seconds), si_text(static_cast<double>(run.answered) / run.seconds),
                        network_rate ? fmt::format(", {} images/s the network alone", si_text(*network_rate)) : ""));
}

OptionSet InferCommandFlags::options() {
  OptionSet options = InferFlags::options();
  options.add(scenario);
  options.add(measuring);
  options.add(energy);
  options.add(limits);
  return options;
}

std::vector<const OptionGroup*> InferCommandFlags::groups() const {
  std::vector<const OptionGroup*> groups = InferFlags::groups();
  groups.push_back(&limits);
  return groups;
}

task::InferenceRequest inference_request(const InferCommandFlags& flags) {
  task::InferenceRequest request = flags.model.request(!flags.predictions.features->empty(),
                                                       static_cast<std::uint64_t>(flags.images.seed->value_or(1)));
  request.output_type = flags.predictions.type();
  request.calibrated = request.calibrated && *flags.predictions.outputs != "raw";
  return request;
}

task::InferOptions infer_options(const InferCommandFlags& flags, const placement::Plan& plan, Precision precision,
                                 int threads) {
  task::InferOptions options = flags.placement.infer_options(plan, precision);
  options.reading_threads = threads;
  options.cache = compile_cache();
  options.strict = *flags.images.strict;
  if (flags.scenario.wanted()) suit_scenario(flags.scenario, options);
  options.repeated =
      options.repeated || *flags.predictions.watch;  // how few the first photos are says nothing of those to come
  options.suits_few = options.suits_few || *flags.predictions.watch;
  return options;
}

run::RunOptions run_options(const InferCommandFlags& flags, const placement::Plan& plan, const fs::path& weights) {
  return {.kind = "infer",
          .version = program_version(),
          .out = *flags.predictions.out,
          .overwrite = *flags.predictions.overwrite,
          .reads = {weights},
          .sample_interval_ms = *flags.measuring.sample_interval_ms,
          .energy = flags.energy.options(plan),
          .limits = flags.limits.options(plan),
          .trace = *flags.measuring.trace,
          .json = *flags.predictions.json};
}

void complete(InferCommandFlags& flags) {
  take_sidecar(flags.model);
}

InferenceRun infer(const InferCommandFlags& flags, Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  return Inference(flags).run(observer, stop);
}

}  // namespace evener::job
