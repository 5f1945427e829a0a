// evener detect: finds objects on photos, and tells how well where they are known.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/precision.h"
#include "base/tensor.h"
#include "cli/command.h"
#include "cli/compile_cache.h"
#include "cli/detect_images.h"
#include "cli/detect_pictures.h"
#include "cli/detect_record.h"
#include "cli/detect_writer.h"
#include "cli/infer_record.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "cli/train_hosts.h"
#include "measure/record_json.h"
#include "run/metered_run.h"

namespace evener::cli {
namespace {

constexpr const char* kDetectExamples = R"(Examples:
  evener detect runs/cells photos/ new.jpg                what is on photos, with boxes likelier than 0.25
  evener detect runs/cells photos/ --out runs/found --save --crops runs/found/crops
  evener detect runs/cells photos/ --out runs/labels --format yolo --confidence 0.5
  evener detect runs/cells                                how well: the test part of the data it was trained on
  evener detect runs/cells --data VOC2007 --part test --out runs/voc
  evener detect runs/cells photos/ --format jsonl --classes RBC,WBC --on cpu/t1
  evener detect ssdlite320_mobilenet_v3_large --weights ssdlite320.pth --labels coco.txt street.jpg)";

/// Shows how far the photos are, beside writing what is found.
class ShownDetections : public task::InferObserver {
 public:
  ShownDetections(DetectionWriter& writer, ProgressLine& line, std::size_t images)
      : writer_(writer), line_(line), images_(images), shown_(!writer.tells_each_photo()) {}

  void on_answer(const task::Answer& answer) override {
    writer_.on_answer(answer);
    if (!shown_ || !line_.on_terminal() || now_s() - last_shown_s_ < 0.2) return;
    last_shown_s_ = now_s();
    line_.show(fmt::format("{} of {}, {} found", writer_.photos().size(), counted(images_, "image"),
                           writer_.boxes() == 1 ? "1 box" : fmt::format("{} boxes", writer_.boxes())));
  }

 private:
  DetectionWriter& writer_;
  ProgressLine& line_;
  const std::size_t images_;
  const bool shown_;
  double last_shown_s_ = 0;
};

void tell_skipped(const std::vector<data::Skipped>& skipped, ProgressLine& line) {
  if (skipped.empty()) return;
  line.note(fmt::format("{} could not be used:{}", counted(skipped.size(), "input"), data::first_skipped(skipped)));
}

task::InferOptions infer_options(const DetectFlags& flags, const placement::Plan& plan, Precision precision,
                                 int threads) {
  return {.plan = plan,
          .engine = *flags.placement.engine,
          .precision = precision,
          .batch = *flags.placement.batch,
          .streams = *flags.placement.streams,
          .reading_threads = threads,
          .cache = compile_cache(),
          .strict = *flags.images.strict};
}

/// One run of the command, from its options to what it prints.
class Detection {
 public:
  explicit Detection(const DetectFlags& flags)
      : flags_(flags),
        line_(*flags.output.quiet),
        plan_(flags.placement.plan()),
        precision_(flags.placement.precision_on(plan_)),
        threads_(flags.placement.reading_threads->value_or(usable_cpus())),
        network_(flags.model.request()),
        classes_(task::detector_classes(network_)),
        images_(open_photos(flags, network_, classes_, threads_)),
        detector_(network_, flags.boxes.options(images_.shown.labelled, classes_)),
        run_({.kind = "detect",
              .version = EVENER_VERSION,
              .command = command_line(),
              .out = *flags.output.out,
              .overwrite = *flags.output.overwrite,
              .reads = {network_.weights()},
              .json = *flags.output.json},
             line_) {}

  int run() {
    const measure::Record record = run_.measure([&] {
      task::InferJob job(network_, *images_.photos, infer_options(flags_, plan_, precision_, threads_));
      begin(job);
      look(job);
      return run_.record();
    });
    return tell(record);
  }

 private:
  bool is_labelled() const { return images_.shown.labelled; }

  void begin(const task::InferJob& job) {
    const task::InferSetup& setup = job.setup();
    fill_inference_setup(run_.record(), flags_.groups(), network_, images_.shown, plan_, precision_, setup);
    run_.record().data.classes = classes_;
    if (!flags_.output.crops->empty()) require_writable_directory(*flags_.output.crops);
    run_.begin();
    const std::string from = network_.weights().empty() ? "random weights" : network_.weights().string();
    line_.note(fmt::format("{} ({}), {}, input {}; {}; {} on {}, {}, batch {}, boxes likelier than {}", network_.name(),
                           from, classes_.size() == 1 ? "1 class" : fmt::format("{} classes", classes_.size()),
                           shape_text(images_.photos->shape()), counted(images_.photos->size(), "image"),
                           setup.engines.front(), plan_.text, precision_name(precision_), setup.batch,
                           detector_.options().confidence));
    for (const std::vector<std::string>* notes :
         {&network_.notes(), &std::as_const(images_.shown.notes), &plan_.notes}) {
      for (const std::string& text : *notes) line_.note("note: " + text);
    }
    for (const std::string& text : placement::all_warnings(plan_)) line_.note("warning: " + text);
    tell_skipped(images_.shown.skipped, line_);
  }

  void look(task::InferJob& job) {
    const task::Photos& photos = *images_.photos;
    writer_.emplace(flags_.output, detector_, photos, is_labelled(), run_.folder());
    ShownDetections shown(*writer_, line_, photos.size());
    result_ = job.run(photos, shown);
    line_.finish();
    writer_->finish();
    if (is_labelled()) quality_ = task::quality_of(writer_->tally());
    run_.take_times(run_.record());
    fill_inference_speeds(run_.record(), result_, writer_->times_s(), {});
    fill_detection(run_.record(), *writer_, quality_ ? &*quality_ : nullptr);
    const auto lost = write_photo_files(flags_.output, run_.folder(), *writer_, flags_.boxes.least_to_label(), photos,
                                        classes_, usable_cpus());
    result_.skipped.insert(result_.skipped.end(), lost.begin(), lost.end());
    if (quality_ && !run_.folder().empty()) write_quality(photos);
  }

  void write_quality(const task::Photos& photos) {
    const std::filesystem::path folder = run_.folder();
    write_metrics(folder / "metrics.csv", *quality_, classes_);
    write_box_confusion(folder / "confusion.csv", writer_->confusion(), classes_);
    report::DetectionFigures figures = detection_figures(*writer_, *quality_, classes_);
    figures.misses = worst_misses(*writer_, photos, classes_, usable_cpus());
    report::write_detection(folder / report::kDetection, figures);
  }

  int tell(const measure::Record& record) {
    tell_skipped(result_.skipped, line_);
    if (result_.answered > 0 && result_.seconds > 0) {
      const std::size_t with_boxes = result_.answered - writer_->without_boxes();
      line_.note(fmt::format("{} in {}: {} images/s from files to boxes; {}, {} with one likelier than {}",
                             counted(result_.answered, "image"), duration_text(result_.seconds),
                             si_text(static_cast<double>(result_.answered) / result_.seconds),
                             writer_->boxes() == 1 ? "1 box" : fmt::format("{} boxes", writer_->boxes()),
                             counted(with_boxes, "image"), writer_->shown_confidence()));
    }
    const bool wrote_record = write_json(*flags_.output.json, measure::to_json(record));
    // Lines that another program reads stay alone.
    const std::string& format = *flags_.output.format;
    const bool for_people = !wrote_record && format != "csv" && format != "jsonl" && format != "coco";
    if (for_people && quality_) std::fputs(quality_text(*quality_, classes_).c_str(), stdout);
    if (for_people && !run_.folder().empty()) fmt::print("results                   {}\n", run_.folder().string());
    if (result_.answered == 0) throw Error("none of the images could be read");
    return 0;
  }

  const DetectFlags& flags_;
  ProgressLine line_;
  const placement::Plan plan_;
  const Precision precision_;
  const int threads_;
  const task::InferenceModel network_;
  const std::vector<std::string> classes_;
  const DetectImages images_;
  const task::Detector detector_;
  run::MeteredRun run_;
  std::optional<DetectionWriter> writer_;
  std::optional<task::DetectionQuality> quality_;
  task::InferResult result_;
};

}  // namespace

Command detect_command() {
  const auto flags = std::make_shared<DetectFlags>();
  return {.name = "detect",
          .summary = "Find objects on photos with a trained detector, and tell how well",
          .options = flags->options(),
          .footer = kDetectExamples,
          .run = [flags] { return Detection(*flags).run(); }};
}

}  // namespace evener::cli
