#include "detect/detect.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/precision.h"
#include "base/stop.h"
#include "base/tensor.h"
#include "base/version.h"
#include "data/open/open_data.h"
#include "data/open/pictures.h"
#include "data/resize.h"
#include "data/sort_folder.h"
#include "data/video/video.h"
#include "data/video/video_files.h"
#include "detect/box_sink.h"
#include "detect/decoders/understand.h"
#include "detect/pictures.h"
#include "infer/model/cache_folder.h"
#include "infer/session/images.h"
#include "infer/session/options.h"
#include "infer/session/session.h"
#include "measure/run/metered_run.h"
#include "measure/run/progress.h"

namespace evener::detection {
namespace {

namespace fs = std::filesystem;

DetectImages owned(std::unique_ptr<Photos> photos) {
  DetectImages images;
  images.photos = photos.get();
  images.shown.samples = std::move(photos);
  return images;
}

DetectImages from_pictures(const DetectFlags& flags, const inference::InferenceModel& network) {
  const std::vector<std::string> locations = inference::with_lists(*flags.images.images);
  data::Pictures pictures(locations, flags.videos.choice());
  if (*flags.images.strict) pictures.require_all();
  std::vector<data::Skipped> skipped = pictures.skipped();
  std::vector<std::string> notes = pictures.notes();
  std::ranges::move(data::deep_notes(pictures), std::back_inserter(notes));
  DetectImages images = owned(photos_of(std::move(pictures), flags.model.preprocessing(network)));
  images.shown.location = fmt::format("{}", fmt::join(locations, " "));
  images.shown.skipped = std::move(skipped);
  images.shown.notes = std::move(notes);
  return images;
}

/// The first few, for a message.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 6;
  const std::size_t shown = std::min(kMost, names.size());
  const std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return shown == names.size() ? text : fmt::format("{} and {} others", text, names.size() - shown);
}

/// For each class of the data at `location` the network's number of it; -1 where it has none, which `notes` tell.
/// `known`: names of the network's classes. Throws UsageError where it knows none of them.
std::vector<std::int32_t> label_numbers(const std::vector<std::string>& of_data,
                                        const inference::InferenceModel& network, const std::vector<std::string>& known,
                                        const std::string& location, std::vector<std::string>& notes) {
  std::vector<std::int32_t> numbers;
  if (network.classes().empty() && of_data.size() == known.size()) {  // a file without names
    numbers.resize(of_data.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }
  std::vector<std::string> unknown;
  for (const std::string& name : of_data) {
    auto found = std::ranges::find(known, name);
    // VOC's "aeroplane" is COCO's "airplane".
    if (found == known.end()) found = std::ranges::find(known, synonym_of(name));
    if (found == known.end()) unknown.push_back(name);
    numbers.push_back(found == known.end() ? -1 : static_cast<std::int32_t>(found - known.begin()));
  }
  if (unknown.size() == of_data.size()) {
    throw UsageError(fmt::format("{} knows none of the classes of '{}': they are {}, it knows {}", network.name(),
                                 location, some_of(of_data), some_of(known)));
  }
  if (!unknown.empty()) {
    notes.push_back(fmt::format("{} doesn't know {} of '{}' ({}): boxes of it are left out", network.name(),
                                counted(unknown.size(), "class", "classes"), location, some_of(unknown)));
  }
  return numbers;
}

DetectImages from_data(const std::string& location, const DetectFlags& flags, const inference::InferenceModel& network,
                       const std::vector<std::string>& classes, const inference::RunConfig& run, int threads) {
  const inference::LabelledDataRequest request = inference::labelled_request(flags.images, location, network, threads);
  const data::Preprocessing steps = flags.model.preprocessing(network);
  data::OpenedData opened = inference::open_labelled_data(request, steps, run);
  if (opened.dataset->target_kind() != data::TargetKind::kBoxes) {
    throw UsageError(fmt::format(
        "'{}' has a class for each image, and no boxes; name its images without --data to see what is found on them",
        location));
  }
  inference::ShownPart shown = inference::shown_part(opened, request, run);
  std::vector<std::string> notes = std::move(opened.notes);
  std::vector<std::int32_t> numbers = label_numbers(opened.dataset->classes(), network, classes, location, notes);
  std::string told = inference::part_note(shown, request);
  DetectImages images =
      owned(photos_of(std::move(opened.dataset), std::move(shown.indices), std::move(numbers), steps));
  images.shown.location = location;
  images.shown.part_note = std::move(told);
  images.shown.part = std::move(shown.name);
  images.shown.labelled = true;
  images.shown.skipped = std::move(opened.skipped);
  images.shown.notes = std::move(notes);
  return images;
}

/// One video, whose writer begins with the first frame, as the size is known then.
class MarkedVideo {
 public:
  explicit MarkedVideo(fs::path path) : path_(std::move(path)) {}

  void add(data::Picture picture, double time_s) {
    if (!writer_) {
      width_ = picture.width;
      height_ = picture.height;
      begin_s_ = time_s;
      writer_ = std::make_unique<data::VideoWriter>(path_, width_, height_);
    }
    if (picture.width != width_ || picture.height != height_) {
      picture = data::resize(std::move(picture), height_, width_);
    }
    writer_->add(picture, time_s - begin_s_);
  }

  /// False where there was no frame.
  bool finish() {
    if (writer_) writer_->finish();
    return writer_ != nullptr;
  }

 private:
  const fs::path path_;
  std::unique_ptr<data::VideoWriter> writer_;
  std::int64_t width_ = 0, height_ = 0;
  double begin_s_ = 0;
};

/// Writes a video for each one that was looked at into `folder`/pictures: the frames that were looked at with their
/// boxes, at their own times and size, without sound, as CLIP.mp4. Frames that can't be read any more are added to
/// `lost`. Returns the files. Throws Error where one can't be written, Interrupted after a stop request; then nothing
/// of that video stays.
std::vector<fs::path> write_marked_videos(const fs::path& folder, const BoxSink& writer, const Photos& photos,
                                          const std::vector<std::string>& classes, const Lettering& lettering,
                                          measure::Observer& line, std::vector<data::Skipped>& lost) {
  std::vector<fs::path> written;
  std::set<std::string> taken;
  measure::LoadingProgress progress(line);
  fs::create_directories(folder / "pictures");
  for (const data::Pictures::Video& video : photos.pictures()->videos()) {
    const std::string name = data::free_name(fs::path(video.file).stem().string() + ".mp4",
                                             [&](const std::string& one) { return taken.contains(one); });
    taken.insert(name);
    MarkedVideo marked(folder / "pictures" / name);
    const auto begin = std::ranges::lower_bound(writer.photos(), video.first, {}, &LookedAt::index);
    const auto end =
        std::ranges::lower_bound(writer.photos(), video.first + video.frames->size(), {}, &LookedAt::index);
    const std::span<const LookedAt> frames(begin, end);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (stop_requested()) throw Interrupted("stopped while writing '" + name + "', of which nothing is kept");
      data::Picture picture;
      try {
        picture = photos.picture(frames[i].index);
      } catch (const Interrupted&) {
        throw;
      } catch (const Error& error) {
        lost.push_back({frames[i].found.file, error.what()});
        continue;
      }
      const std::vector<DrawnBox> boxes = boxes_to_draw(frames[i].found, writer.shown_confidence(), classes);
      marked.add(with_boxes(std::move(picture), boxes, lettering), video.frames->time_s(frames[i].index - video.first));
      progress.update("writing the video with boxes", i + 1, frames.size());
    }
    if (marked.finish()) written.push_back(folder / "pictures" / name);
  }
  line.finish();
  return written;
}

/// Looked at before the network is opened, which may take long, and before a camera is.
const DetectFlags& with_files_to_save(const DetectFlags& flags) {
  const bool needs_files = *flags.output.save || !flags.output.crops->empty();
  if (needs_files && std::ranges::any_of(*flags.images.images, data::is_live_source)) {
    throw UsageError(
        "the frames of a camera or a pipe are gone once they were looked at: --save and --crops need files; record a "
        "video first");
  }
  return flags;
}

/// One run of the job.
class DetectionWork {
 public:
  DetectionWork(const DetectFlags& flags, measure::Observer& observer)
      : flags_(with_files_to_save(flags)),
        line_(observer),
        session_(flags.placement, flags.model.request()),
        classes_(detector_classes(session_.network())),
        images_(open_photos(flags, session_.network(), classes_, session_.threads())),
        detector_(session_.network(),
                  flags.boxes.options(images_.shown.labelled, classes_, usual_decoding(session_.network()))) {}

  DetectionRun run() {
    const placement::Plan& plan = session_.plan();
    inference::Shown shown =
        session_.show({.images = images_.shown,
                       .infer = inference::options_for(
                           *images_.photos, infer_options(flags_, plan, session_.precision(), session_.threads())),
                       .run = run_options(flags_, plan, session_.network().weights()),
                       .groups = flags_.groups(),
                       .classes = classes_,
                       .times_layers = !flags_.profiling.profile->empty(),
                       .setup_line = [this](const inference::InferSetup& setup) { return setup_line(setup); },
                       .work = [this](inference::InferJob& job, measure::MeteredRun& metered) { look(job, metered); }},
                      line_);
    tell_speed();
    inference::require_no_failure(*images_.photos);
    return {std::move(shown.record), std::move(quality_), classes_,          std::move(shown.folder),
            result_.answered,        result_.was_stopped, std::move(videos_)};
  }

 private:
  bool is_labelled() const { return images_.shown.labelled; }

  std::string setup_line(const inference::InferSetup& setup) const {
    if (!flags_.output.crops->empty()) require_writable_directory(*flags_.output.crops);
    const inference::InferenceModel& network = session_.network();
    const std::string from = network.weights().empty() ? "random weights" : network.weights().string();
    return fmt::format("{} ({}), {}, input {}; {}; {} on {}, {}, batch {}, boxes likelier than {}", network.name(),
                       from, counted(classes_.size(), "class", "classes"), shape_text(images_.photos->shape()),
                       inference::count_text(*images_.photos), inference::engine_text(setup), session_.plan().text,
                       precision_name(session_.precision()), setup.batch, flags_.boxes.least_to_tell());
  }

  void look(inference::InferJob& job, measure::MeteredRun& metered) {
    const std::string understood = understood_text(session_.network(), flags_.model.preprocessing(session_.network()));
    if (!understood.empty()) line_.note("understood as " + understood);
    inference::tell_skipped(images_.shown.skipped, "input", "used", line_);
    const Photos& photos = *images_.photos;
    inference::PredictionSinks& sinks = sinks_.emplace();
    boxes_ = &sinks.add<BoxSink>(flags_, detector_, photos, is_labelled(), metered.folder(), line_);
    const double from_s = metered.look();
    result_ = inference::predict_all(job, photos, sinks, line_);
    metered.worked(from_s, static_cast<std::int64_t>(result_.answered));
    if (is_labelled()) quality_ = quality_of(boxes_->tally());
    metered.take_times(metered.record());
    inference::fill_inference_speeds(metered.record(), result_, sinks.times_s(), {});
    fill_detection(metered.record(), *boxes_, quality_ ? &*quality_ : nullptr);
    if (photos.live() != nullptr) metered.record().data.images = static_cast<std::int64_t>(result_.answered);
    if (const std::string note = inference::dropped_note(photos, result_.answered); !note.empty()) metered.note(note);
    write_pictures(photos, metered);
  }

  void write_pictures(const Photos& photos, measure::MeteredRun& metered) {
    const Lettering lettering(needs_letters(metered) ? font_folders() : std::vector<std::filesystem::path>());
    if (needs_letters(metered) && !lettering.has_fonts()) {
      metered.note(
          "boxes are drawn without labels: there is no TrueType font in the usual folders. Install one, such as the "
          "package fonts-dejavu-core, or name its folder in EVENER_FONTS");
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
  bool needs_letters(const measure::MeteredRun& metered) const {
    return *flags_.output.save || (quality_ && !metered.folder().empty());
  }

  void write_quality(const Photos& photos, const Lettering& lettering, const std::filesystem::path& folder) {
    write_metrics(folder / "metrics.csv", *quality_, classes_);
    inference::write_confusion(folder / "confusion.csv", boxes_->confusion().counts(), classes_, "boxes");
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
    inference::tell_skipped(result_.skipped, "input", "used", line_);
    if (result_.answered > 0 && result_.seconds > 0) {
      const std::size_t with_boxes = result_.answered - boxes_->without_boxes();
      line_.note(fmt::format("{} in {}: {} images/s from files to boxes; {}, {} with one likelier than {}",
                             counted(result_.answered, "image"), duration_text(result_.seconds),
                             si_text(static_cast<double>(result_.answered) / result_.seconds),
                             counted(boxes_->boxes(), "box", "boxes"), counted(with_boxes, "image"),
                             boxes_->shown_confidence()));
      tell_left_out();
      if (with_boxes > 0 || !session_.network().habits().decoder || flags_.model.normalize.given()) return;
      line_.note(
          "note: nothing was found. If this network takes other values than was understood, --normalize pixels "
          "shows it 0 to 255, and 0/1 shows it 0 to 1");
    }
  }

  const DetectFlags& flags_;
  measure::Observer& line_;
  inference::InferenceSession session_;
  const std::vector<std::string> classes_;
  const DetectImages images_;
  const Detector detector_;
  std::optional<inference::PredictionSinks> sinks_;
  const BoxSink* boxes_ = nullptr;  // one of those, once they look
  std::optional<DetectionQuality> quality_;
  inference::InferResult result_;
  std::vector<std::filesystem::path> videos_;
};

}  // namespace

DetectImages open_photos(const DetectFlags& flags, const inference::InferenceModel& network,
                         const std::vector<std::string>& classes, int threads) {
  if (!flags.images.images->empty()) return from_pictures(flags, network);
  const inference::RunConfig run(network.run());
  std::string location = *flags.images.data;
  if (location.empty()) location = inference::own_data(run);
  if (location.empty()) {
    throw UsageError("name the photos that are looked at, or data with boxes (evener detect --help)");
  }
  return from_data(location, flags, network, classes, run, threads);
}

inference::InferOptions infer_options(const DetectFlags& flags, const placement::Plan& plan, Precision precision,
                                      int threads) {
  inference::InferOptions options = flags.placement.infer_options(plan, precision);
  options.reading_threads = threads;
  options.cache = inference::compile_cache();
  options.strict = *flags.images.strict;
  return options;
}

measure::RunOptions run_options(const DetectFlags& flags, const placement::Plan& plan,
                                const std::filesystem::path& weights) {
  return {.kind = "detect",
          .version = program_version(),
          .out = *flags.output.out,
          .overwrite = *flags.output.overwrite,
          .reads = {weights},
          .energy = flags.energy.options(plan),
          .json = *flags.output.json};
}

DetectionRun detect(const DetectFlags& flags, measure::Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  return DetectionWork(flags, observer).run();
}

}  // namespace evener::detection
