#include "job/detect/detection.h"

#include <fmt/format.h>

#include <algorithm>
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
#include "base/version.h"
#include "job/detect/images.h"
#include "job/detect/pictures.h"
#include "job/detect/record.h"
#include "job/detect/writer.h"
#include "job/infer/compile_cache.h"
#include "job/infer/record.h"
#include "job/layer_table.h"
#include "run/metered_run.h"

namespace evener::job {
namespace {

/// Shows how far the photos are, beside writing what is found.
class ShownDetections : public task::InferObserver {
 public:
  ShownDetections(DetectionWriter& writer, Observer& line, std::size_t images)
      : writer_(writer), line_(line), images_(images), shown_(!writer.tells_each_photo()) {}

  void on_answer(const task::Answer& answer) override {
    writer_.on_answer(answer);
    if (!shown_ || !line_.redraws() || now_s() - last_shown_s_ < 0.2) return;
    last_shown_s_ = now_s();
    line_.show(fmt::format("{} of {}, {} found", writer_.photos().size(), counted(images_, "image"),
                           writer_.boxes() == 1 ? "1 box" : fmt::format("{} boxes", writer_.boxes())));
  }

 private:
  DetectionWriter& writer_;
  Observer& line_;
  const std::size_t images_;
  const bool shown_;
  double last_shown_s_ = 0;
};

void tell_skipped(const std::vector<data::Skipped>& skipped, Observer& line) {
  if (skipped.empty()) return;
  line.note(fmt::format("{} could not be used:{}", counted(skipped.size(), "input"), data::first_skipped(skipped)));
}

/// One run of the job.
class Detection {
 public:
  Detection(const DetectFlags& flags, Observer& observer)
      : flags_(flags),
        line_(observer),
        plan_(flags.placement.plan()),
        precision_(flags.placement.precision_on(plan_)),
        threads_(flags.placement.reading_threads->value_or(usable_cpus())),
        network_(flags.model.request()),
        classes_(task::detector_classes(network_)),
        images_(open_photos(flags, network_, classes_, threads_)),
        detector_(network_, flags.boxes.options(images_.shown.labelled, classes_)),
        run_(run_options(flags, plan_, network_.weights()), line_) {}

  DetectionRun run() {
    task::InferSetup setup;
    record::Record record = run_.measure([&] {
      task::InferJob job(network_, *images_.photos, infer_options(flags_, plan_, precision_, threads_));
      begin(job);
      look(job);
      setup = job.setup();
      return run_.record();
    });
    if (!flags_.profiling.profile->empty()) {
      const auto options = infer_options(flags_, plan_, precision_, threads_);
      add_layers(run_.folder(), record, line_,
                 [&] { return task::profile_inference(network_, setup, *images_.photos, options); });
    }
    tell_speed();
    return {std::move(record), std::move(quality_), classes_, run_.folder(), result_.answered};
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
                           flags_.boxes.least_to_tell()));
    for (const std::vector<std::string>* notes :
         {&network_.notes(), &std::as_const(images_.shown.notes), &plan_.notes}) {
      for (const std::string& text : *notes) line_.note("note: " + text);
    }
    for (const std::string& text : setup.fallbacks) line_.note("warning: " + text);
    for (const std::string& text : placement::all_warnings(plan_)) line_.note("warning: " + text);
    tell_skipped(images_.shown.skipped, line_);
  }

  void look(task::InferJob& job) {
    const task::Photos& photos = *images_.photos;
    writer_.emplace(flags_, detector_, photos, is_labelled(), run_.folder(), line_);
    ShownDetections shown(*writer_, line_, photos.size());
    result_ = job.run(photos, shown);
    line_.finish();
    writer_->finish();
    if (is_labelled()) quality_ = task::quality_of(writer_->tally());
    run_.take_times(run_.record());
    fill_inference_speeds(run_.record(), result_, writer_->times_s(), {});
    fill_detection(run_.record(), *writer_, quality_ ? &*quality_ : nullptr);
    write_pictures(photos);
  }

  void write_pictures(const task::Photos& photos) {
    const task::Lettering lettering(needs_letters() ? task::font_folders() : std::vector<std::filesystem::path>());
    if (needs_letters() && !lettering.has_fonts()) {
      run_.note(
          "boxes are drawn without labels: there is no TrueType font in the usual folders. Install one, such as "
          "the package fonts-dejavu-core, or name its folder in EVENER_FONTS");
    }
    const auto lost =
        write_photo_files(flags_.output, run_.folder(), *writer_, photos, classes_, lettering, usable_cpus());
    result_.skipped.insert(result_.skipped.end(), lost.begin(), lost.end());
    if (quality_ && !run_.folder().empty()) write_quality(photos, lettering);
  }

  /// Looking for fonts takes a moment.
  bool needs_letters() const { return *flags_.output.save || (quality_ && !run_.folder().empty()); }

  void write_quality(const task::Photos& photos, const task::Lettering& lettering) {
    const std::filesystem::path folder = run_.folder();
    write_metrics(folder / "metrics.csv", *quality_, classes_);
    write_box_confusion(folder / "confusion.csv", writer_->confusion(), classes_);
    report::DetectionFigures figures = detection_figures(*writer_, *quality_, classes_);
    figures.misses = worst_misses(*writer_, photos, classes_, lettering, usable_cpus());
    report::write_detection(folder / report::kDetection, figures);
  }

  /// Where nobody has said how likely boxes have to be.
  void tell_left_out() {
    if (flags_.boxes.confidence.given()) return;
    line_.note(fmt::format(
        "{} likely than {} are left out of tables, labels and pictures; --confidence 0.01 keeps more{}",
        writer_->boxes_left_out() > 0 ? fmt::format("{} boxes less", writer_->boxes_left_out()) : "boxes less",
        writer_->shown_confidence(), is_labelled() ? ". mAP counts all" : ""));
  }

  void tell_speed() {
    tell_skipped(result_.skipped, line_);
    if (result_.answered > 0 && result_.seconds > 0) {
      const std::size_t with_boxes = result_.answered - writer_->without_boxes();
      line_.note(fmt::format("{} in {}: {} images/s from files to boxes; {}, {} with one likelier than {}",
                             counted(result_.answered, "image"), duration_text(result_.seconds),
                             si_text(static_cast<double>(result_.answered) / result_.seconds),
                             writer_->boxes() == 1 ? "1 box" : fmt::format("{} boxes", writer_->boxes()),
                             counted(with_boxes, "image"), writer_->shown_confidence()));
      tell_left_out();
    }
  }

  const DetectFlags& flags_;
  Observer& line_;
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

task::InferOptions infer_options(const DetectFlags& flags, const placement::Plan& plan, Precision precision,
                                 int threads) {
  task::InferOptions options = flags.placement.infer_options(plan, precision);
  options.reading_threads = threads;
  options.cache = compile_cache();
  options.strict = *flags.images.strict;
  return options;
}

run::RunOptions run_options(const DetectFlags& flags, const placement::Plan& plan,
                            const std::filesystem::path& weights) {
  return {.kind = "detect",
          .version = program_version(),
          .out = *flags.output.out,
          .overwrite = *flags.output.overwrite,
          .reads = {weights},
          .energy = flags.energy.options(plan),
          .json = *flags.output.json};
}

DetectionRun detect(const DetectFlags& flags, Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  return Detection(flags, observer).run();
}

}  // namespace evener::job
