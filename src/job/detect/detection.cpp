#include "job/detect/detection.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/precision.h"
#include "base/tensor.h"
#include "base/version.h"
#include "job/cache_folder.h"
#include "job/detect/box_sink.h"
#include "job/detect/images.h"
#include "job/detect/marked_video.h"
#include "job/detect/pictures.h"
#include "job/detect/record.h"
#include "job/inference/session.h"
#include "job/inference/session_record.h"
#include "run/metered_run.h"

namespace evener::job {
namespace {

/// One run of the job.
class Detection {
 public:
  Detection(const DetectFlags& flags, Observer& observer)
      : flags_(flags),
        line_(observer),
        session_(flags.placement, flags.model.request()),
        classes_(task::detector_classes(session_.network())),
        images_(open_photos(flags, session_.network(), classes_, session_.threads())),
        detector_(session_.network(),
                  flags.boxes.options(images_.shown.labelled, classes_, task::usual_decoding(session_.network()))) {
    if (images_.photos->live() == nullptr || (!*flags.output.save && flags.output.crops->empty())) return;
    throw UsageError(
        "the frames of a camera or a pipe are gone once they were looked at: --save and --crops need files; record a "
        "video first");
  }

  DetectionRun run() {
    const placement::Plan& plan = session_.plan();
    Shown shown = session_.show(
        {.images = images_.shown,
         .infer = options_for(*images_.photos, infer_options(flags_, plan, session_.precision(), session_.threads())),
         .run = run_options(flags_, plan, session_.network().weights()),
         .groups = flags_.groups(),
         .classes = classes_,
         .times_layers = !flags_.profiling.profile->empty(),
         .setup_line = [this](const task::InferSetup& setup) { return setup_line(setup); },
         .work = [this](task::InferJob& job, run::MeteredRun& metered) { look(job, metered); }},
        line_);
    tell_speed();
    require_no_failure(*images_.photos);
    return {std::move(shown.record), std::move(quality_), classes_,          std::move(shown.folder),
            result_.answered,        result_.was_stopped, std::move(videos_)};
  }

 private:
  bool is_labelled() const { return images_.shown.labelled; }

  std::string setup_line(const task::InferSetup& setup) const {
    if (!flags_.output.crops->empty()) require_writable_directory(*flags_.output.crops);
    const task::InferenceModel& network = session_.network();
    const std::string from = network.weights().empty() ? "random weights" : network.weights().string();
    return fmt::format("{} ({}), {}, input {}; {}; {} on {}, {}, batch {}, boxes likelier than {}", network.name(),
                       from, classes_.size() == 1 ? "1 class" : fmt::format("{} classes", classes_.size()),
                       shape_text(images_.photos->shape()), count_text(*images_.photos), engine_text(setup),
                       session_.plan().text, precision_name(session_.precision()), setup.batch,
                       flags_.boxes.least_to_tell());
  }

  void look(task::InferJob& job, run::MeteredRun& metered) {
    const std::string understood =
        task::understood_text(session_.network(), flags_.model.preprocessing(session_.network()));
    if (!understood.empty()) line_.note("understood as " + understood);
    tell_skipped(images_.shown.skipped, "input", "used", line_);
    const task::Photos& photos = *images_.photos;
    PredictionSinks& sinks = sinks_.emplace();
    boxes_ = &sinks.add<BoxSink>(flags_, detector_, photos, is_labelled(), metered.folder(), line_);
    result_ = predict_all(job, photos, sinks, line_);
    if (is_labelled()) quality_ = task::quality_of(boxes_->tally());
    metered.take_times(metered.record());
    fill_inference_speeds(metered.record(), result_, sinks.times_s(), {});
    fill_detection(metered.record(), *boxes_, quality_ ? &*quality_ : nullptr);
    if (photos.live() != nullptr) metered.record().data.images = static_cast<std::int64_t>(result_.answered);
    if (const std::string note = dropped_note(photos, result_.answered); !note.empty()) metered.note(note);
    write_pictures(photos, metered);
  }

  void write_pictures(const task::Photos& photos, run::MeteredRun& metered) {
    const task::Lettering lettering(needs_letters(metered) ? task::font_folders()
                                                           : std::vector<std::filesystem::path>());
    if (needs_letters(metered) && !lettering.has_fonts()) {
      metered.note(
          "boxes are drawn without labels: there is no TrueType font in the usual folders. Install one, such as "
          "the package fonts-dejavu-core, or name its folder in EVENER_FONTS");
    }
    const auto lost =
        write_photo_files(flags_.output, metered.folder(), *boxes_, photos, classes_, lettering, usable_cpus());
    result_.skipped.insert(result_.skipped.end(), lost.begin(), lost.end());
    if (*flags_.output.save && photos.pictures() != nullptr && !photos.pictures()->videos().empty()) {
      videos_ = write_marked_videos(metered.folder(), *boxes_, photos, classes_, lettering, line_, result_.skipped);
      line_.note("note: videos with boxes have no sound");
    }
    if (quality_ && !metered.folder().empty()) write_quality(photos, lettering, metered.folder());
  }

  /// Looking for fonts takes a moment.
  bool needs_letters(const run::MeteredRun& metered) const {
    return *flags_.output.save || (quality_ && !metered.folder().empty());
  }

  void write_quality(const task::Photos& photos, const task::Lettering& lettering,
                     const std::filesystem::path& folder) {
    write_metrics(folder / "metrics.csv", *quality_, classes_);
    write_box_confusion(folder / "confusion.csv", boxes_->confusion(), classes_);
    record::DetectionFigures figures = detection_figures(*boxes_, *quality_, classes_);
    figures.misses = worst_misses(*boxes_, photos, classes_, lettering, usable_cpus());
    record::write_detection(folder / record::kDetection, figures);
  }

  /// Used where --confidence wasn't given.
  void tell_left_out() {
    if (flags_.boxes.confidence.given()) return;
    line_.note(fmt::format(
        "{} likely than {} are left out of tables, labels and pictures; --confidence 0.01 keeps more{}",
        boxes_->boxes_left_out() > 0 ? fmt::format("{} boxes less", boxes_->boxes_left_out()) : "boxes less",
        boxes_->shown_confidence(), is_labelled() ? ". mAP counts all" : ""));
  }

  void tell_speed() {
    tell_skipped(result_.skipped, "input", "used", line_);
    if (result_.answered > 0 && result_.seconds > 0) {
      const std::size_t with_boxes = result_.answered - boxes_->without_boxes();
      line_.note(fmt::format("{} in {}: {} images/s from files to boxes; {}, {} with one likelier than {}",
                             counted(result_.answered, "image"), duration_text(result_.seconds),
                             si_text(static_cast<double>(result_.answered) / result_.seconds),
                             boxes_->boxes() == 1 ? "1 box" : fmt::format("{} boxes", boxes_->boxes()),
                             counted(with_boxes, "image"), boxes_->shown_confidence()));
      tell_left_out();
    }
  }

  const DetectFlags& flags_;
  Observer& line_;
  InferenceSession session_;
  const std::vector<std::string> classes_;
  const DetectImages images_;
  const task::Detector detector_;
  std::optional<PredictionSinks> sinks_;
  const BoxSink* boxes_ = nullptr;  // one of those, once they look
  std::optional<task::DetectionQuality> quality_;
  task::InferResult result_;
  std::vector<std::filesystem::path> videos_;
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
