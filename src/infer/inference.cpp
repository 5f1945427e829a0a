#include "infer/inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/statistics.h"
#include "base/stop.h"
#include "base/tensor.h"
#include "base/version.h"
#include "data/open/pictures.h"
#include "data/picture_listing.h"
#include "data/sort_folder.h"
#include "data/video/video_files.h"
#include "infer/model/cache_folder.h"
#include "infer/scenarios/record.h"
#include "infer/session/images.h"
#include "infer/session/options.h"
#include "infer/session/session.h"
#include "infer/sinks.h"
#include "measure/run/metered_run.h"
#include "measure/run/progress.h"
#include "options/run_flags.h"
#include "record/metric.h"
#include "record/statistics.h"

namespace evener::inference {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kClassesOfAnAnswer = 5;

class InferSystem : public System {
 public:
  InferSystem(InferJob& job, const data::Samples& samples, std::string main_output)
      : job_(job), samples_(samples), main_output_(std::move(main_output)) {}

  void load(std::span<const std::int64_t> wanted) override {
    values_.clear();
    for (const std::int64_t sample : wanted) {
      const auto index = static_cast<std::size_t>(sample);
      try {
        values_.emplace(sample, read_values(samples_, index));
      } catch (const Error& error) {
        throw Error(fmt::format("'{}' can't be read ({}): a scenario needs images that can be", samples_.name(index),
                                error.what()));
      }
    }
    job_.watch_stages();
  }

  LatencyParts answer(int lane, const Query& query) override {
    std::vector<const SampleValues*> values;
    for (const std::int64_t sample : query.samples) values.push_back(&values_.at(sample));
    CallTimes times;
    const TensorMap outputs = job_.call(static_cast<std::size_t>(lane), values, &times);
    LatencyParts parts;
    parts.preprocess_s = times.gather_s;
    parts.compute_s = times.compute_s;
    const Stopwatch sorting;
    const HostTensor& scores = outputs.at(main_output_);
    const auto each = static_cast<std::size_t>(element_count(scores.shape) / scores.shape.front());
    for (std::size_t i = 0; i < query.samples.size(); ++i) {
      top_classes({scores.floats() + i * each, each}, kClassesOfAnAnswer, OutputType::kAuto);
    }
    parts.postprocess_s = sorting.seconds();
    return parts;
  }

 private:
  InferJob& job_;
  const data::Samples& samples_;
  const std::string main_output_;
  std::map<std::int64_t, SampleValues> values_;
};

class ScenarioOnLine : public ScenarioObserver {
 public:
  ScenarioOnLine(measure::Observer& line, measure::MeteredRun& metered) : line_(line), metered_(metered) {}

  void on_part(const std::string& what) override {
    metered_.look();  // the run that is reported begins or ends here
    part_ = what;
    if (line_.redraws()) line_.show(part_);
  }
  void on_progress(double seconds, std::int64_t queries) override {
    if (!pace_.is_due(line_)) return;
    line_.show(fmt::format("{}: {} queries in {}", part_, queries, duration_text(seconds)));
  }

 private:
  measure::Observer& line_;
  measure::MeteredRun& metered_;
  std::string part_;
  measure::RedrawPace pace_;
};

/// The photos in `locations`; of videos, those that are new among `videos` are told.
std::vector<std::string> photos_in(const std::vector<std::string>& locations, std::set<std::string>& videos,
                                   const std::function<void(const std::string& video)>& tell) {
  std::vector<std::string> files;
  for (const std::string& location : locations) {  // one of them may not be there yet
    try {
      const data::PictureListing listing = data::list_pictures({location}, data::ListVideos::kAll);
      for (const std::string& file : listing.files) {
        if (!listing.videos.contains(file)) {
          files.push_back(file);
        } else if (videos.insert(file).second && tell) {
          tell(file);
        }
      }
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {  // there are none at this moment
    }
  }
  return files;
}

/// False: a stop was asked for meanwhile.
bool wait_a_second() {
  for (int i = 0; i < 10; ++i) {
    if (stop_requested()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return !stop_requested();
}

/// Absent: the file has vanished.
std::optional<std::pair<std::uintmax_t, fs::file_time_type>> state_of(const std::string& file) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(file, error);
  if (error) return std::nullopt;
  const fs::file_time_type time = fs::last_write_time(file, error);
  return error ? std::nullopt : std::optional(std::pair(bytes, time));
}

/// Whoever sees a class for each picture takes it for a prediction; of random images nobody expects one.
void require_known_meaning(const InferCommandFlags& flags, const InferenceModel& network, bool are_random) {
  const bool means_something = !network.weights().empty() || are_random || flags.scenario.wanted();
  if (means_something || *flags.images.random_weights || *flags.predictions.format == "none") return;
  throw UsageError("'" + network.name() +
                   "' has no weights here, so that its predictions would mean nothing: name trained ones with "
                   "--weights FILE, or give --random to see what random weights say");
}

/// Measuring needs no classes; nor does whoever wants what the network gives.
bool tells_predictions(const InferCommandFlags& flags) {
  return *flags.predictions.outputs != "raw" && !flags.scenario.wanted() && *flags.predictions.format != "none";
}

/// Of random images nobody expects a prediction: then a note says why there is none.
void require_classes(const InferCommandFlags& flags, const InferenceModel& network, InferImages& images) {
  const std::string why = network.no_classes();
  if (why.empty() || !tells_predictions(flags)) return;
  if (!images.are_random) throw UsageError(why);
  images.notes.push_back(why);
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

std::string setup_line(const InferenceSession& session, const InferImages& images, const InferSetup& setup) {
  const InferenceModel& network = session.network();
  const std::string from = network.weights().empty() ? "random weights" : network.weights().string();
  return fmt::format(
      "{} ({}), input {}; {}; {} on {}{}, {}, {}, batch {}", network.name(), from, shape_text(images.samples->shape()),
      count_text(*images.samples), engine_text(setup), session.plan().text, threads_text(session.plan()),
      counted(static_cast<std::size_t>(setup.streams), "stream"), precision_name(session.precision()), setup.batch);
}

/// Frames are no files that could be sorted.
[[noreturn]] void refuse_sorted_frames() {
  throw UsageError("--sort puts photos into folders, and frames of a video are no files: leave the videos out");
}

/// Looked at before the network is opened, which may take long, and before a camera is. Frames of a camera can't be
/// shown again and again.
const InferCommandFlags& with_possible_outputs(const InferCommandFlags& flags) {
  const bool is_live = std::ranges::any_of(*flags.images.images, data::is_live_source);
  if (is_live && flags.scenario.wanted()) {
    throw UsageError("--scenario shows images again and again, and those of a camera or a pipe come once");
  }
  if (flags.predictions.sort->empty()) return flags;
  if (is_live) refuse_sorted_frames();
  data::require_writable_place(flags.predictions.sort.name(), *flags.predictions.sort);
  return flags;
}

record::Metric accuracy(const char* name, const char* title, const char* label, std::int64_t correct,
                        std::int64_t images) {
  const double share = static_cast<double>(correct) / static_cast<double>(images);
  record::Metric metric = record::quality_share(name, title, label, share, images);
  metric.interval = record::share_interval(share, images);
  return metric;
}

/// Adapts `options` to the scenario in `flags`: batches as large as a query, and all threads on one call where latency
/// counts. Options that the user gave stay.
void suit_scenario(const ScenarioFlags& flags, InferOptions& options) {
  options.repeated = true;
  switch (parse_scenario(*flags.scenario)) {
    case Scenario::kSingleStream:
      options.batch = options.batch.value_or(1);
      options.streams = options.streams.value_or(1);
      break;
    case Scenario::kMultiStream:
      options.batch = options.batch.value_or(*flags.samples_per_query);
      options.streams = options.streams.value_or(1);
      break;
    case Scenario::kServer:
      options.batch = options.batch.value_or(1);
      options.suits_few = true;
      break;
    case Scenario::kOffline:
      break;
  }
}

/// Measures the network. Images are read and preprocessed before the clock starts. Throws Error for an image that can't
/// be read, and what run_scenario throws.
ScenarioResult measure_scenario(const ScenarioFlags& flags, InferJob& job, const data::Samples& samples,
                                const std::string& main_output, measure::Observer& line, measure::MeteredRun& metered) {
  ScenarioOptions options = flags.scenario_options(static_cast<std::int64_t>(samples.size()));
  options.lanes = static_cast<int>(job.lanes());
  options.largest_batch = job.setup().batch;
  InferSystem system(job, samples, main_output);
  ScenarioOnLine shown(line, metered);
  ScenarioResult result = run_scenario(options, system, &shown);
  const double from_s = metered.session_s() - (now_s() - result.log.begin_s);
  metered.worked(from_s, result.log.samples, from_s + result.log.seconds);
  line.finish();
  return result;
}

}  // namespace

std::string scenario_text(const record::Record& record) {
  std::size_t width = 0;
  for (const auto& [name, metric] : record.metrics) width = std::max(width, metric.label.size() + 2);
  std::string text;
  for (const auto& [name, metric] : record.metrics) {
    if (!metric.value) continue;
    const std::string value = metric.unit == "s"
                                  ? duration_text(*metric.value)
                                  : si_text(*metric.value) + (metric.unit.empty() ? "" : " " + metric.unit);
    text += fmt::format("{:<{}}{}\n", metric.label, width, value);
  }
  if (record.validity.valid) text += *record.validity.valid ? "VALID\n" : "INVALID\n";
  for (const auto& reason : record.validity.reasons) text += fmt::format("  {}; {}\n", reason.what, reason.advice);
  return text;
}

PhotoWatch::PhotoWatch(std::vector<std::string> locations) : locations_(std::move(locations)) {
  for (const std::string& file : photos_in(locations_, videos_, {})) {
    if (const auto state = state_of(file)) known_.emplace(file, *state);
  }
  at_first_ = known_.size();
  if (at_first_ == 0) videos_.clear();  // else they are told of where the photos are
}

std::vector<std::string> PhotoWatch::wait(const std::function<void(const std::string& video)>& tell_video) {
  std::vector<std::string> complete;
  while (complete.empty() && wait_a_second()) {
    for (const std::string& file : photos_in(locations_, videos_, tell_video)) {
      const std::optional<State> state = state_of(file);
      const auto known = known_.find(file);
      if (!state || (known != known_.end() && known->second == *state)) continue;
      const auto before = growing_.find(file);
      if (before == growing_.end() || before->second != *state) {
        growing_[file] = *state;
        continue;
      }
      growing_.erase(before);
      known_[file] = *state;
      complete.push_back(file);
    }
  }
  return complete;
}

Inference::Inference(const InferCommandFlags& flags)
    : flags_(with_possible_outputs(flags)), session_(flags.placement, inference_request(flags)) {}

void Inference::require_meaning() const {
  require_known_meaning(flags_, session_.network(), false);
}

InferenceRun Inference::run(measure::Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  const InferenceModel& network = session_.network();
  InferImages images = open_images(flags_, network, session_.threads());
  require_classes(flags_, network, images);
  const data::Pictures* const pictures = images.samples->pictures();
  if (pictures != nullptr && !pictures->videos().empty() && !flags_.predictions.sort->empty()) refuse_sorted_frames();
  require_known_meaning(flags_, network, images.are_random);
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
       .setup_line = [&](const InferSetup& setup) { return setup_line(session_, images, setup); },
       .work =
           [&](InferJob& job, measure::MeteredRun& metered) {
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

void Inference::predict(InferJob& job, const InferImages& images, measure::MeteredRun& metered, measure::Observer& line,
                        InferenceRun& run) const {
  const InferenceModel& network = session_.network();
  InferSinks sinks(flags_.predictions, network, *images.samples, images.labelled, metered.folder(),
                   *flags_.images.images,
                   *flags_.predictions.outputs == "raw" ? output_shapes(job, *images.samples) : OutputShapes(), line);
  const double from_s = metered.look();
  InferResult result = predict_all(job, *images.samples, sinks, line);
  metered.worked(from_s, static_cast<std::int64_t>(result.answered));
  const double seconds = flags_.measuring.seconds->value_or(std::clamp(result.seconds / 10, 0.2, 2.0));
  const auto rates = seconds > 0 ? job.network_rates(*images.samples, seconds) : std::vector<double>();
  metered.take_times(metered.record());
  fill_stage_uses(metered.record(), result.stages);
  fill_inference_results(metered.record(), images.part.empty() ? "all" : images.part, result, sinks, rates);
  run.scores = sinks.scores();
  run.unknown = sinks.unknown();
  run.scores_are_logits = flags_.predictions.type() == OutputType::kLogits;
  if (const PhotoSorter* sorter = sinks.sorter()) run.sorted = *sorter;
  run.answered = result.answered;
  run.seconds = result.seconds;
  run.was_stopped = result.was_stopped;
  if (images.samples->live() != nullptr) metered.record().data.images = static_cast<std::int64_t>(result.answered);
  if (const std::string note = dropped_note(*images.samples, result.answered); !note.empty()) metered.note(note);
  run.unread = std::move(result.skipped);
}

bool Inference::measure(InferJob& job, const InferImages& images, measure::MeteredRun& metered,
                        measure::Observer& line) const {
  const ScenarioResult result =
      measure_scenario(flags_.scenario, job, *images.samples, session_.network().main_output(), line, metered);
  metered.take_times(metered.record());
  fill_stage_uses(metered.record(), job.stage_uses());
  fill_record(result, metered.record());
  if (!metered.folder().empty()) write_latencies(metered.folder() / kLatencies, result);
  return result.log.stopped;
}

void Inference::tell_end(const InferenceRun& run, measure::Observer& line) const {
  if (!run.folder.empty() && !run.scores.confusion.empty() && run.scores.images > 0) {
    write_confusion(run.folder / "confusion.csv", run.scores.confusion, session_.network().classes(), "images");
  }
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
  return options;
}

InferenceRequest inference_request(const InferCommandFlags& flags) {
  InferenceRequest request = flags.model.request(!flags.predictions.features->empty(),
                                                 static_cast<std::uint64_t>(flags.images.seed->value_or(1)));
  request.output_type = flags.predictions.type();
  request.calibrated = request.calibrated && *flags.predictions.outputs != "raw";
  return request;
}

InferOptions infer_options(const InferCommandFlags& flags, const placement::Plan& plan, Precision precision,
                           int threads) {
  InferOptions options = flags.placement.infer_options(plan, precision);
  options.reading_threads = threads;
  options.cache = compile_cache();
  options.strict = *flags.images.strict;
  if (flags.scenario.wanted()) suit_scenario(flags.scenario, options);
  options.repeated =
      options.repeated || *flags.predictions.watch;  // how few the first photos are says nothing of those to come
  options.suits_few = options.suits_few || *flags.predictions.watch;
  return options;
}

measure::RunOptions run_options(const InferCommandFlags& flags, const placement::Plan& plan, const fs::path& weights) {
  return {.kind = "infer",
          .version = program_version(),
          .out = *flags.predictions.out,
          .overwrite = *flags.predictions.overwrite,
          .reads = {weights},
          .sample_interval_ms = *flags.measuring.sample_interval_ms,
          .energy = flags.energy.options(plan),
          .trace = *flags.measuring.trace,
          .json = *flags.predictions.json};
}

void complete(InferCommandFlags& flags, measure::Observer* observer) {
  complete(flags.model, observer);
}

InferenceRun infer(const InferCommandFlags& flags, measure::Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  return Inference(flags).run(observer, stop);
}

void add_accuracies(record::Record& record, const Scores& scores) {
  record::add_metric(record, accuracy("accuracy", "accuracy", "accuracy", scores.correct, scores.images));
  record::Metric of_five =
      accuracy("top5_accuracy", "top 5", "accuracy among five", scores.correct_in_five, scores.images);
  if (scores.classes <= 5) {  // all of them are among the five
    of_five.value.reset();
    of_five.interval.reset();
    of_five.reason = fmt::format("there are {} classes, so that the true one is always among five", scores.classes);
  }
  record::add_metric(record, std::move(of_five));
}

void fill_inference_results(record::Record& record, const std::string& part, const InferResult& result,
                            const InferSinks& sinks, const std::vector<double>& network_rates) {
  fill_inference_speeds(record, result, sinks.times_s(), network_rates);
  if (const UnknownCount unknown = sinks.unknown(); unknown.images > 0) {
    const double share = static_cast<double>(unknown.unknown) / static_cast<double>(unknown.images);
    record::add_metric(record, {.name = "called_unknown",
                                .unit = "share",
                                .title = "",
                                .label = "images called unknown",
                                .better = record::Better::kLower,
                                .value = share,
                                .interval = record::share_interval(share, unknown.images),
                                .of_images = unknown.images});
  }
  const Scores& scores = sinks.scores();
  if (scores.images == 0) return;
  record.confusion = {part, scores.confusion};
  add_accuracies(record, scores);
}

MeasuredCommand measured_infer() {
  MeasuredCommand command = measured_with(std::make_shared<InferCommandFlags>(), "infer");
  command.length = {.key = "min-duration", .usual = ScenarioOptions{}.min_duration_s, .needed = "scenario"};
  return command;
}

}  // namespace evener::inference
