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
#include "job/infer/answers.h"
#include "job/infer/compile_cache.h"
#include "job/infer/images.h"
#include "job/infer/model_sidecar.h"
#include "job/infer/record.h"
#include "job/infer/scenario.h"
#include "job/layer_table.h"
#include "job/options/energy_flags.h"
#include "job/options/measuring_flags.h"
#include "job/sort_folder.h"
#include "report/format.h"
#include "run/metered_run.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

/// Whoever sees a class for each picture takes it for an answer; of random images nobody expects one.
void require_meaning(const InferCommandFlags& flags, const task::InferenceModel& network, const InferImages& images) {
  const bool means_something = !network.weights().empty() || images.are_random || flags.scenario.wanted();
  if (means_something || *flags.images.random_weights || *flags.answers.format == "none") return;
  throw UsageError("'" + network.name() +
                   "' has no weights here, so that its answers would mean nothing: name trained ones with --weights "
                   "FILE, or give --random to see what random weights say");
}

/// Measuring needs no classes; nor does whoever wants what the network gives.
bool tells_answers(const InferCommandFlags& flags) {
  return *flags.answers.outputs != "raw" && !flags.scenario.wanted() && *flags.answers.format != "none";
}

/// Of random images nobody expects an answer: then a note says why there is none.
void require_classes(const InferCommandFlags& flags, const task::InferenceModel& network, InferImages& images) {
  const std::string why = network.no_classes();
  if (why.empty() || !tells_answers(flags)) return;
  if (!images.are_random) throw UsageError(why);
  images.notes.push_back(why);
}

const task::InferenceModel& classifier(const InferCommandFlags& flags, const task::InferenceModel& network) {
  if (*flags.answers.outputs == "raw") return network;
  if (network.network() != nullptr && !network.network()->anchors().empty()) {
    throw UsageError("'" + network.name() + "' finds boxes, not one class for each image; use evener detect");
  }
  return network;
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

std::string setup_line(const task::InferenceModel& network, const InferImages& images, const placement::Plan& plan,
                       Precision precision, const task::InferSetup& setup) {
  const std::string from = network.weights().empty() ? "random weights" : network.weights().string();
  const std::string why = setup.reasons.front().empty() ? "" : " (" + setup.reasons.front() + ")";
  return fmt::format("{} ({}), input {}; {}; {}{} on {}{}, {}, {}, batch {}", network.name(), from,
                     shape_text(images.samples->shape()), counted(images.samples->size(), "image"),
                     setup.engines.front(), why, plan.text, threads_text(plan),
                     counted(static_cast<std::size_t>(setup.streams), "stream"), precision_name(precision),
                     setup.batch);
}

/// Shows how far the answers are, beside writing them.
class ShownAnswers : public task::InferObserver {
 public:
  ShownAnswers(AnswerWriter& writer, Observer& line, std::size_t images, bool shown)
      : writer_(writer), line_(line), images_(images), shown_(shown) {}

  void on_answer(const task::Answer& answer) override {
    writer_.on_answer(answer);
    ++answered_;
    if (!shown_ || !line_.redraws() || now_s() - last_shown_s_ < 0.2) return;
    last_shown_s_ = now_s();
    line_.show(fmt::format("{} of {} images", answered_, images_));
  }

 private:
  AnswerWriter& writer_;
  Observer& line_;
  const std::size_t images_;
  const bool shown_;
  std::size_t answered_ = 0;
  double last_shown_s_ = 0;
};

void tell_unread(const std::vector<data::Skipped>& skipped, Observer& line) {
  if (skipped.empty()) return;
  line.note(fmt::format("{} could not be read:{}", counted(skipped.size(), "image"), data::first_skipped(skipped)));
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

/// One run of the job.
class Inference {
 public:
  Inference(const InferCommandFlags& flags, Observer& observer)
      : flags_(flags),
        line_(observer),
        plan_(flags.placement.plan()),
        precision_(flags.placement.precision_on(plan_)),
        threads_(flags.placement.reading_threads->value_or(usable_cpus())),
        network_(inference_request(flags)),
        images_(open_images(flags, classifier(flags, network_), threads_)),
        run_(run_options(flags, plan_, network_.weights()), line_) {
    require_classes(flags, network_, images_);
    require_meaning(flags, network_, images_);
    if (!images_.part_note.empty()) images_.notes.push_back(images_.part_note);
    if (const fs::path& sidecar = flags.model.sidecar; !sidecar.empty()) {
      images_.notes.push_back(fmt::format("'{}' beside the network says how it is shown images", sidecar.string()));
    }
  }

  InferenceRun run() {
    task::InferSetup setup;
    record::Record record = run_.measure([&] {
      task::InferJob job(network_, *images_.samples, infer_options(flags_, plan_, precision_, threads_));
      begin(job);
      flags_.scenario.wanted() ? measure_in_scenario(job) : answer(job);
      setup = job.setup();
      return run_.record();
    });
    if (!flags_.measuring.profile->empty()) {
      const auto options = infer_options(flags_, plan_, precision_, threads_);
      add_layers(run_.folder(), record, line_,
                 [&] { return task::profile_inference(network_, setup, *images_.samples, options); });
    }
    InferenceRun run{.seen = images_.seen, .folder = run_.folder(), .answered = result_.answered};
    if (flags_.scenario.wanted()) {
      run.was_stopped = scenario_->log.stopped;
    } else {
      end(record);
      run.unread = result_.skipped;
      run.scores = answers_->scores();
      if (const PhotoSorter* sorter = answers_->sorter()) run.sorted = *sorter;
      run.scores_are_logits = flags_.answers.type() == task::OutputType::kLogits;
    }
    run.record = std::move(record);
    return run;
  }

 private:
  void begin(const task::InferJob& job) {
    fill_inference_setup(run_.record(), flags_.groups(), network_, images_, plan_, precision_, job.setup());
    run_.begin();
    line_.note(setup_line(network_, images_, plan_, precision_, job.setup()));
    if (!images_.seen.empty()) line_.note("seen are " + images_.seen);
    for (const std::vector<std::string>* notes : {&network_.notes(), &std::as_const(images_.notes), &plan_.notes}) {
      for (const std::string& text : *notes) line_.note("note: " + text);
    }
    for (const std::string& text : stage_notes(job.setup())) line_.note(text);
    for (const std::string& text : job.setup().fallbacks) line_.note("warning: " + text);
    for (const std::string& text : placement::all_warnings(plan_)) line_.note("warning: " + text);
    tell_unread(images_.skipped, line_);
  }

  /// A call on zeros tells them.
  OutputShapes output_shapes(task::InferJob& job) const {
    const auto values = static_cast<std::size_t>(element_count(images_.samples->shape()));
    task::SampleValues zeros;
    images_.samples->is_bytes() ? zeros.bytes.resize(values) : zeros.floats.resize(values);
    OutputShapes shapes;
    for (const auto& [name, tensor] : job.call(0, {&zeros})) {
      shapes[name].assign(tensor.shape.begin() + 1, tensor.shape.end());
    }
    return shapes;
  }

  void answer(task::InferJob& job) {
    answers_.emplace(flags_.answers, network_, *images_.samples, images_.labelled, run_.folder(), *flags_.images.images,
                     *flags_.answers.outputs == "raw" ? output_shapes(job) : OutputShapes(), line_);
    ShownAnswers shown(*answers_, line_, images_.samples->size(), *flags_.answers.format == "none" || images_.labelled);
    result_ = job.run(*images_.samples, shown);
    line_.finish();
    answers_->finish();
    const double seconds = flags_.measuring.seconds->value_or(std::clamp(result_.seconds / 10, 0.2, 2.0));
    const auto rates = seconds > 0 ? job.network_rates(*images_.samples, seconds) : std::vector<double>();
    run_.take_times(run_.record());
    fill_stage_uses(run_.record(), result_.stages);
    fill_inference_results(run_.record(), images_.part.empty() ? "all" : images_.part, result_, *answers_, rates);
  }

  void measure_in_scenario(task::InferJob& job) {
    scenario_ = measure_scenario(flags_.scenario, job, *images_.samples, network_.main_output(), line_);
    run_.take_times(run_.record());
    fill_stage_uses(run_.record(), job.stage_uses());
    bench::fill_record(*scenario_, run_.record());
    if (!run_.folder().empty()) bench::write_latencies(run_.folder() / bench::kLatencies, *scenario_);
  }

  void end(const record::Record& record) {
    if (!run_.folder().empty()) {
      write_confusion(run_.folder() / "confusion.csv", answers_->scores(), network_.classes());
    }
    tell_unread(result_.skipped, line_);
    const std::vector<record::Metric> metrics = record::metrics_of(record);
    const auto& network_rate = record::find_metric(metrics, "network_images_per_s")->value;
    line_.note(fmt::format("{} in {}: {} images/s from files to answers{}", counted(result_.answered, "image"),
                           duration_text(result_.seconds),
                           si_text(static_cast<double>(result_.answered) / result_.seconds),
                           network_rate ? fmt::format(", {} images/s the network alone", si_text(*network_rate)) : ""));
  }

  const InferCommandFlags& flags_;
  Observer& line_;
  const placement::Plan plan_;
  const Precision precision_;
  const int threads_;
  const task::InferenceModel network_;
  InferImages images_;
  run::MeteredRun run_;
  std::optional<AnswerWriter> answers_;
  task::InferResult result_;
  std::optional<bench::ScenarioResult> scenario_;
};

}  // namespace

OptionSet InferCommandFlags::options() {
  OptionSet options = InferFlags::options();
  options.add(scenario);
  options.add(measuring);
  options.add(energy);
  return options;
}

task::InferenceRequest inference_request(const InferCommandFlags& flags) {
  task::InferenceRequest request =
      flags.model.request(!flags.answers.features->empty(), static_cast<std::uint64_t>(flags.images.seed->value_or(1)));
  request.output_type = flags.answers.type();
  return request;
}

task::InferOptions infer_options(const InferCommandFlags& flags, const placement::Plan& plan, Precision precision,
                                 int threads) {
  task::InferOptions options = flags.placement.infer_options(plan, precision);
  options.reading_threads = threads;
  options.cache = compile_cache();
  options.strict = *flags.images.strict;
  if (flags.scenario.wanted()) suit_scenario(flags.scenario, options);
  return options;
}

run::RunOptions run_options(const InferCommandFlags& flags, const placement::Plan& plan, const fs::path& weights) {
  return {.kind = "infer",
          .version = program_version(),
          .out = *flags.answers.out,
          .overwrite = *flags.answers.overwrite,
          .reads = {weights},
          .sample_interval_ms = *flags.measuring.sample_interval_ms,
          .energy = flags.energy.options(plan),
          .trace = *flags.measuring.trace,
          .json = *flags.answers.json};
}

void complete(InferCommandFlags& flags) {
  take_sidecar(flags.model);
}

void check_network(const InferCommandFlags& flags) {
  const task::InferenceModel network(flags.model.request(false, 1));
  require_meaning(flags, classifier(flags, network), {});
}

InferenceRun infer(const InferCommandFlags& flags, Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  if (const std::string& sorted = *flags.answers.sort; !sorted.empty()) require_writable_place(sorted);
  return Inference(flags, observer).run();
}

}  // namespace evener::job
