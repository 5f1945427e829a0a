// evener infer: shows images to a trained network and tells what it says, and how fast.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/statistics.h"
#include "base/tensor.h"
#include "bench/scenario_record.h"
#include "cli/command.h"
#include "cli/compile_cache.h"
#include "cli/infer_answers.h"
#include "cli/infer_images.h"
#include "cli/infer_record.h"
#include "cli/infer_scenario.h"
#include "cli/json_output.h"
#include "cli/model_sidecar.h"
#include "cli/options/measuring_flags.h"
#include "cli/progress.h"
#include "cli/train_hosts.h"
#include "measure/record_json.h"
#include "report/format.h"
#include "run/metered_run.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInferExamples = R"(Examples:
  evener infer runs/a                       the test part of the data that runs/a was trained on
  evener infer runs/a photos/ new.jpg --topk 3
  evener infer runs/a fish/ --part test --out runs/a-fish
  evener infer resnet18 --weights resnet18.pth photos/ --format jsonl
  evener infer model.onnx photos/ --labels names.txt --precision bf16
  find photos -name '*.jpg' | evener infer runs/a -
  evener infer mobilenet_v2 random:1000 --on cpu/t2 --precision bf16
  evener infer resnet18 random:100 --scenario server --latency-limit 50 --out runs/served)";

const task::InferenceModel& classifier(const task::InferenceModel& network) {
  if (network.network() != nullptr && !network.network()->anchors().empty()) {
    throw UsageError("'" + network.name() + "' finds boxes, not one class for each image; use evener detect");
  }
  return network;
}

/// "2 threads", those of a CPU replica: how many there are is not always what the machine promises.
std::string threads_text(const placement::Plan& plan) {
  int threads = 0;
  for (const auto& replica : plan.replicas) {
    const auto& stage = replica.stages.front();
    if (stage.device.kind == DeviceKind::kCpu) threads += stage.threads;
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
  ShownAnswers(AnswerWriter& writer, ProgressLine& line, std::size_t images, bool shown)
      : writer_(writer), line_(line), images_(images), shown_(shown) {}

  void on_answer(const task::Answer& answer) override {
    writer_.on_answer(answer);
    ++answered_;
    if (!shown_ || !line_.on_terminal() || now_s() - last_shown_s_ < 0.2) return;
    last_shown_s_ = now_s();
    line_.show(fmt::format("{} of {} images", answered_, images_));
  }

 private:
  AnswerWriter& writer_;
  ProgressLine& line_;
  const std::size_t images_;
  const bool shown_;
  std::size_t answered_ = 0;
  double last_shown_s_ = 0;
};

void tell_unread(const std::vector<data::Skipped>& skipped, ProgressLine& line) {
  if (skipped.empty()) return;
  line.note(fmt::format("{} could not be read:{}", counted(skipped.size(), "image"), data::first_skipped(skipped)));
}

void print_summary(const measure::Record& record, const InferImages& images, const Scores& scores,
                   const fs::path& folder) {
  if (scores.images > 0) {
    if (!images.seen.empty()) fmt::print("seen                      {}\n", images.seen);
    fmt::print("accuracy                  {:.2f} % ({} of {} images)\n",
               100 * static_cast<double>(scores.correct) / static_cast<double>(scores.images), scores.correct,
               scores.images);
    if (record.data.classes.size() > 5) {
      fmt::print("among the first five      {:.2f} %\n",
                 100 * static_cast<double>(scores.correct_in_five) / static_cast<double>(scores.images));
    }
  }
  if (!folder.empty()) fmt::print("results                   {}\n", folder.string());
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

struct InferCommandFlags : InferFlags {
  struct Measuring : OptionGroup {
    Measuring() : OptionGroup("Measuring") {}

    Option<std::optional<double>> seconds{
        *this,
        {"--seconds", "SECONDS",
         "How long the network alone is measured, 0 = not (default: a tenth of the run, at most 2)"},
        {},
        {.range = zero_or_more(), .recorded = false}};
    Option<std::string> trace{
        *this, {"--trace", "FILE", "Write the phases as a Chrome trace"}, "", {.recorded = false}};
    Option<int> sample_interval_ms{
        *this, {"--sample-interval", "MILLISECONDS", "Between samples of CPU and memory"}, 500, {.recorded = false}};
  };
  Measuring measuring;
  ScenarioFlags scenario;

  OptionSet options() {
    OptionSet options = InferFlags::options();
    options.add(scenario);
    options.add(measuring);
    return options;
  }
};

task::InferOptions infer_options(const InferCommandFlags& flags, const placement::Plan& plan, Precision precision,
                                 int threads) {
  task::InferOptions options{.plan = plan,
                             .engine = *flags.placement.engine,
                             .precision = precision,
                             .batch = *flags.placement.batch,
                             .streams = *flags.placement.streams,
                             .reading_threads = threads,
                             .cache = compile_cache(),
                             .strict = *flags.images.strict};
  if (flags.scenario.wanted()) suit_scenario(flags.scenario, options);
  return options;
}

/// One run of the command, from its options to what it prints.
class Inference {
 public:
  explicit Inference(const InferCommandFlags& flags)
      : flags_(flags),
        line_(*flags.answers.quiet),
        plan_(flags.placement.plan()),
        precision_(flags.placement.precision_on(plan_)),
        threads_(flags.placement.reading_threads->value_or(usable_cpus())),
        network_(flags.model.request(!flags.answers.features->empty(),
                                     static_cast<std::uint64_t>(flags.images.seed->value_or(1)))),
        images_(open_images(flags, classifier(network_), threads_)),
        run_({.kind = "infer",
              .version = EVENER_VERSION,
              .command = command_line(),
              .out = *flags.answers.out,
              .overwrite = *flags.answers.overwrite,
              .reads = {network_.weights()},
              .sample_interval_ms = *flags.measuring.sample_interval_ms,
              .trace = *flags.measuring.trace,
              .json = *flags.answers.json},
             line_) {
    if (!images_.part_note.empty()) images_.notes.push_back(images_.part_note);
    if (const fs::path& sidecar = flags.model.sidecar; !sidecar.empty()) {
      images_.notes.push_back(fmt::format("'{}' beside the network says how it is shown images", sidecar.string()));
    }
  }

  int run() {
    const measure::Record record = run_.measure([&] {
      task::InferJob job(network_, *images_.samples, infer_options(flags_, plan_, precision_, threads_));
      begin(job);
      flags_.scenario.wanted() ? measure_in_scenario(job) : answer(job);
      return run_.record();
    });
    return flags_.scenario.wanted() ? tell_scenario(record) : tell_answers(record);
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
    for (const std::string& text : placement::all_warnings(plan_)) line_.note("warning: " + text);
    tell_unread(images_.skipped, line_);
  }

  void answer(task::InferJob& job) {
    answers_.emplace(flags_.answers, network_, *images_.samples, images_.labelled, run_.folder());
    ShownAnswers shown(*answers_, line_, images_.samples->size(), *flags_.answers.format == "none" || images_.labelled);
    result_ = job.run(*images_.samples, shown);
    line_.finish();
    answers_->finish();
    const double seconds = flags_.measuring.seconds->value_or(std::clamp(result_.seconds / 10, 0.2, 2.0));
    const auto rates = seconds > 0 ? job.network_rates(*images_.samples, seconds) : std::vector<double>();
    run_.take_times(run_.record());
    fill_inference_results(run_.record(), result_, *answers_, rates);
  }

  void measure_in_scenario(task::InferJob& job) {
    scenario_ = measure_scenario(flags_.scenario, job, *images_.samples, network_.main_output(), line_);
    run_.take_times(run_.record());
    bench::fill_record(*scenario_, run_.record());
    if (!run_.folder().empty()) bench::write_latencies(run_.folder() / bench::kLatencies, *scenario_);
  }

  int tell_scenario(const measure::Record& record) const {
    if (!write_json(*flags_.answers.json, measure::to_json(record))) {
      std::fputs(scenario_text(record).c_str(), stdout);
      if (!run_.folder().empty()) fmt::print("results                         {}\n", run_.folder().string());
    }
    if (scenario_->log.stopped) throw Interrupted("interrupted; the record says what is known until then");
    return record.validity.valid == false ? 3 : 0;
  }

  int tell_answers(const measure::Record& record) {
    if (!run_.folder().empty()) {
      write_confusion(run_.folder() / "confusion.csv", answers_->scores(), network_.classes());
    }
    tell_unread(result_.skipped, line_);
    const std::vector<measure::Metric> metrics = measure::metrics_of(record);
    const auto& network_rate = measure::find_metric(metrics, "network_images_per_s")->value;
    line_.note(fmt::format("{} in {}: {} images/s from files to answers{}", counted(result_.answered, "image"),
                           duration_text(result_.seconds),
                           si_text(static_cast<double>(result_.answered) / result_.seconds),
                           network_rate ? fmt::format(", {} images/s the network alone", si_text(*network_rate)) : ""));
    // Lines that another program reads stay alone.
    const bool for_people = *flags_.answers.format != "csv" && *flags_.answers.format != "jsonl";
    const bool wrote_record = write_json(*flags_.answers.json, measure::to_json(record));
    if (!wrote_record && for_people) print_summary(record, images_, answers_->scores(), run_.folder());
    if (result_.answered == 0) throw Error("none of the images could be read");
    return 0;
  }

  const InferCommandFlags& flags_;
  ProgressLine line_;
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

Command infer_command() {
  const auto flags = std::make_shared<InferCommandFlags>();
  return {.name = "infer",
          .summary = "Show images to a trained network, and tell what it says",
          .options = flags->options(),
          .footer = kInferExamples,
          .complete = [flags] { take_sidecar(flags->model); },
          .run = [flags] { return Inference(*flags).run(); }};
}

}  // namespace evener::cli
