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
#include "base/statistics.h"
#include "base/tensor.h"
#include "cli/command.h"
#include "cli/compile_cache.h"
#include "cli/infer_answers.h"
#include "cli/infer_images.h"
#include "cli/infer_record.h"
#include "cli/options/measuring_flags.h"
#include "cli/progress.h"
#include "cli/train_hosts.h"
#include "measure/record_json.h"
#include "run/metered_run.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples = R"(Examples:
  evener infer runs/a                       the test part of the data that runs/a was trained on
  evener infer runs/a photos/ new.jpg --topk 3
  evener infer runs/a fish/ --part test --out runs/a-fish
  evener infer resnet18 --weights resnet18.pth photos/ --format jsonl
  evener infer model.onnx photos/ --labels names.txt --precision bf16
  find photos -name '*.jpg' | evener infer runs/a -
  evener infer mobilenet_v2 random:1000 --on cpu/t2 --precision bf16)";

std::string setup_line(const task::InferenceModel& network, const InferImages& images, const placement::Plan& plan,
                       Precision precision, const task::InferSetup& setup) {
  const std::string from = network.weights().empty() ? "random weights" : network.weights().string();
  const std::string why = setup.reasons.front().empty() ? "" : " (" + setup.reasons.front() + ")";
  return fmt::format("{} ({}), input {}; {} images; {}{} on {}, {}, batch {}, {}", network.name(), from,
                     shape_text(images.samples->shape()), images.samples->size(), setup.engines.front(), why, plan.text,
                     precision_name(precision), setup.batch,
                     setup.streams == 1 ? "1 stream" : fmt::format("{} streams", setup.streams));
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

void tell_skipped(const std::vector<data::Skipped>& skipped, ProgressLine& line) {
  if (skipped.empty()) return;
  line.note(fmt::format("{} could not be read:{}",
                        skipped.size() == 1 ? "one image" : fmt::format("{} images", skipped.size()),
                        data::first_skipped(skipped)));
}

void print_summary(const measure::Record& record, const Scores& scores, const fs::path& folder) {
  if (scores.images > 0) {
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
      if (count > 0) text += fmt::format("\"{}\",\"{}\",{}\n", classes[row], classes[column], count);
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

  OptionSet options() {
    OptionSet options = InferFlags::options();
    options.add(measuring);
    return options;
  }
};

int infer(const InferCommandFlags& flags) {
  ProgressLine line(*flags.answers.quiet);
  const placement::Plan plan = flags.placement.plan();
  const Precision precision = flags.placement.precision_on(plan);
  const int threads = flags.placement.reading_threads->value_or(usable_cpus());
  const auto seed = static_cast<std::uint64_t>(flags.images.seed->value_or(1));
  const task::InferenceModel network(flags.model.request(!flags.answers.features->empty(), seed));
  InferImages images = open_images(flags, network, threads);
  run::MeteredRun run({.kind = "infer",
                       .version = EVENER_VERSION,
                       .command = command_line(),
                       .out = *flags.answers.out,
                       .overwrite = *flags.answers.overwrite,
                       .sample_interval_ms = *flags.measuring.sample_interval_ms,
                       .trace = *flags.measuring.trace},
                      line);
  task::InferResult result;
  std::optional<AnswerWriter> answers;
  const measure::Record record = run.measure([&] {
    task::InferJob job(network, *images.samples,
                       {.plan = plan,
                        .engine = *flags.placement.engine,
                        .precision = precision,
                        .batch = *flags.placement.batch,
                        .streams = *flags.placement.streams,
                        .reading_threads = threads,
                        .cache = compile_cache(),
                        .strict = *flags.images.strict});
    fill_inference_setup(run.record(), flags, network, images, plan, precision, job.setup());
    run.begin();
    line.note(setup_line(network, images, plan, precision, job.setup()));
    for (const std::vector<std::string>* notes : {&network.notes(), &std::as_const(images.notes), &plan.notes}) {
      for (const std::string& text : *notes) line.note("note: " + text);
    }
    for (const std::string& text : placement::all_warnings(plan)) line.note("warning: " + text);
    tell_skipped(images.skipped, line);
    answers.emplace(flags.answers, network, *images.samples, images.labelled, run.folder());
    ShownAnswers shown(*answers, line, images.samples->size(), *flags.answers.format == "none" || images.labelled);
    result = job.run(*images.samples, shown);
    line.finish();
    answers->finish();
    const double seconds = flags.measuring.seconds->value_or(std::clamp(result.seconds / 10, 0.2, 2.0));
    const auto rates = seconds > 0 ? job.network_rates(*images.samples, seconds) : std::vector<double>();
    run.take_times(run.record());
    fill_inference_results(run.record(), result, *answers, rates);
    return run.record();
  });
  if (!run.folder().empty()) {
    write_confusion(run.folder() / "confusion.csv", answers->scores(), network.classes());
  }
  tell_skipped(result.skipped, line);
  const auto rate = [](const std::optional<double>& value) { return value ? si_text(*value) : "unknown"; };
  line.note(fmt::format("{} images in {}: {} images/s from files to answers, {} images/s the network alone",
                        result.answered, duration_text(result.seconds),
                        rate(static_cast<double>(result.answered) / result.seconds),
                        rate(measure::find_metric(measure::metrics_of(record), "network_images_per_s")->value)));
  const std::string& json = *flags.answers.json;
  if (json == "-") {
    fmt::print("{}\n", measure::to_json(record).dump(2));
  } else {
    if (!json.empty()) write_file_atomically(json, measure::to_json(record).dump(2) + "\n");
    // Lines that another program reads stay alone.
    const bool for_people = *flags.answers.format != "csv" && *flags.answers.format != "jsonl";
    if (for_people) print_summary(record, answers->scores(), run.folder());
  }
  if (result.answered == 0) throw Error("none of the images could be read");
  return 0;
}

}  // namespace

Command infer_command() {
  const auto flags = std::make_shared<InferCommandFlags>();
  return {.name = "infer",
          .summary = "Show images to a trained network, and tell what it says",
          .options = flags->options(),
          .footer = kExamples,
          .run = [flags] { return infer(*flags); }};
}

}  // namespace evener::cli
