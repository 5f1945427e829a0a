#include "faces/faces_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/module.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/precision.h"
#include "base/stop.h"
#include "base/version.h"
#include "data/each_index.h"
#include "data/open/pictures.h"
#include "data/video/video_files.h"
#include "faces/comparison.h"
#include "faces/growing_results.h"
#include "faces/known.h"
#include "faces/options.h"
#include "faces/photos/journal.h"
#include "faces/results.h"
#include "infer/model/cache_folder.h"
#include "measure/run/metered_run.h"
#include "measure/run/progress.h"
#include "record/record_json.h"
#include "record/record_kind.h"

namespace evener::faces {
namespace {

constexpr int kEasySize = 40;  // pixels of faces that are found at much less cost

void fill_record(record::Record& record, const FacesCommandFlags& flags, const FacesOptions& options,
                 const data::Pictures& photos) {
  record.config = record::config_from_json(flags.config());
  record.model.name = *flags.networks.embedder;
  record.data.location = fmt::format("{}", fmt::join(*flags.photos.photos, " "));
  record.data.images = static_cast<std::int64_t>(photos.size());
  record.placement = measure::placement_record(options.plan);
  record.precision = precision_name(options.precision);
  record.engine = engine::usual_runner_engine(options.plan.replicas.front().stages.front().device.kind);
  record.versions[record.engine] = module_status(record.engine).version;
  record.fallbacks = options.plan.fallbacks;
}

/// The median speed over blocks of photos, by the times at which their faces were embedded; see
/// FacesJob::done_together().
void fill_speed(record::Record& record, const FacesResult& result, std::size_t done_together) {
  record.images_per_s = record::throughput_of(record::block_rates(result.done_s, done_together), "blocks of photos");
  if (!record.images_per_s.median) record.images_per_s.reason = "no photo was read";
  record::Metric overall{
      .name = record::kOverallSpeed, .unit = "images/s", .title = "", .label = "photos over seconds of all their work"};
  if (result.seconds > 0 && result.photos > 0) overall.value = static_cast<double>(result.photos) / result.seconds;
  if (!overall.value) overall.reason = "no photo was read";
  record::add_metric(record, std::move(overall));
}

/// Where a run's photos come from.
struct PhotoCounts {
  std::size_t known = 0;              // from an earlier run
  std::vector<std::size_t> to_do;     // numbers
  std::vector<std::string> vanished;  // files of an earlier run
};

/// Takes over what is known, and counts the rest.
PhotoCounts take_known(const data::Pictures& photos, const KnownFaces& known, std::vector<PhotoFaces>& all,
                       measure::Observer& line) {
  std::vector<std::optional<std::uint64_t>> contents(photos.size());
  measure::LoadingProgress progress(line);
  data::for_each_index(
      photos.size(), usable_cpus(),
      [&](std::size_t i) {
        try {
          contents[i] = content_of(photos, i);
        } catch (const Error&) {  // told when its turn comes to be read
        }
      },
      [&](std::size_t done, std::size_t count) { progress.update("looking for known photos", done, count); });
  line.finish();
  PhotoCounts counts;
  for (std::size_t i = 0; i < photos.size(); ++i) {
    const PhotoFaces* photo = contents[i] ? known.find(*contents[i]) : nullptr;
    if (photo == nullptr) {
      counts.to_do.push_back(i);
      continue;
    }
    all.push_back(*photo);
    all.back().photo = i;
    for (EmbeddedFace& face : all.back().faces) face.photo = i;
  }
  counts.known = all.size();
  counts.vanished = known.vanished(contents);
  return counts;
}

std::string faces_text(const FoundFaces& found, std::size_t photos, bool tells_persons) {
  const std::string text = fmt::format("{} on {}", counted(found.faces.size(), "face"), counted(photos, "photo"));
  if (tells_persons) return text + fmt::format("; {} seen more than once.", counted(found.person_count, "person"));
  return text +
         "; whose they are can't be told: the embedder has random weights, so that its groups of faces are no "
         "persons. Give --weights";
}

/// `mtcnn_min_size` is 0 where another detector found the faces.
std::vector<std::string> summary_of(const FacesResult& result, const FoundFaces& found, const PhotoCounts& counts,
                                    const std::string& main_part, int mtcnn_min_size, bool tells_persons) {
  const DetectorTimes& times = result.detector_times;
  const double all_s = times.main_s + times.other_s;
  std::vector<std::string> summary = {faces_text(found, result.photos + counts.known, tells_persons)};
  if (counts.known > 0 || !counts.vanished.empty()) {
    summary.push_back(fmt::format("{} known from before, {} new, {} no longer there.", counts.known,
                                  counts.to_do.size(), counts.vanished.size()));
  }
  if (result.photos > 0 && result.seconds > 0) {
    const double share = all_s > 0 ? times.main_s / all_s : 0;
    summary.push_back(fmt::format("{} photos a second; {:.0f} % of finding faces went into {}.",
                                  si_text(static_cast<double>(result.photos) / result.seconds), 100 * share,
                                  main_part));
    // MTCNN's first network's work is proportional to the photo's pixels divided by the square of the smallest face's
    // size.
    if (share > 0.5 && mtcnn_min_size > 0 && mtcnn_min_size < kEasySize) {
      const double left = static_cast<double>(mtcnn_min_size * mtcnn_min_size) / (kEasySize * kEasySize);
      summary.push_back(fmt::format("--min-size {} would leave out smaller faces, and {:.0f} % of that network's work.",
                                    kEasySize, 100 * (1 - left)));
    }
  }
  summary.insert(summary.end(), found.compared.summary.begin(), found.compared.summary.end());
  if (!result.skipped.empty()) {
    summary.push_back(fmt::format("{} could not be read.", counted(result.skipped.size(), "photo")));
  }
  return summary;
}

/// Whether the run resumes one in its folder. Throws UsageError for contradictory options, and where the folder holds a
/// run and neither --resume nor --overwrite was given.
bool goes_on(const FacesOutputFlags& output) {
  if (*output.resume && *output.overwrite) {
    throw UsageError("--resume goes on with what is in --out, --overwrite replaces it: give one of them");
  }
  if (*output.resume && output.out->empty()) throw UsageError("--resume needs --out DIR, the folder to go on in");
  if (output.out->empty() || !std::filesystem::exists(faces_journal(*output.out))) return false;
  if (!*output.resume && !*output.overwrite) {
    throw UsageError(*output.out +
                     " holds faces already. Give --resume to look at new photos only, --overwrite to begin "
                     "anew, or another --out");
  }
  return *output.resume;
}

/// Opens the photos, and checks that one can be read before weights are downloaded, which would be in vain.
data::Pictures readable_photos(const FacesCommandFlags& flags) {
  const bool needs_files = *flags.output.resume || !flags.output.sort->empty() || !flags.photos.pairs->empty();
  if (needs_files && std::ranges::any_of(*flags.photos.photos, data::is_live_source)) {
    throw UsageError(
        "--resume, --sort and --pairs need files: the frames of a camera or a pipe are gone once they were looked at");
  }
  data::FrameChoice choice = flags.videos.choice();
  choice.keeps_all_names = true;
  data::Pictures photos(*flags.photos.photos, choice);
  if (*flags.photos.strict) photos.require_all();
  photos.require_readable();
  return photos;
}

/// One run over photos.
class FacesOnPhotos {
 public:
  FacesOnPhotos(const FacesCommandFlags& flags, measure::Observer& line)
      : flags_(flags),
        line_(line),
        photos_(readable_photos(flags)),
        options_(faces_options(flags)),
        pairs_(flags.photos.pairs->empty() ? std::vector<PhotoPair>() : read_photo_pairs(*flags.photos.pairs, photos_)),
        resumes_(goes_on(flags.output)),
        run_(run_options(flags, options_.plan, resumes_), line) {}

  FacesRun run() {
    record::Record record = run_.measure([&] { return find_and_compare(); });
    std::vector<std::string> summary = tell(record);
    if (photos_.live() != nullptr && !photos_.live()->failure().empty()) {
      throw Error(photos_.live()->failure() + "; the faces until then are in " + run_.folder().string());
    }
    return {std::move(record), std::move(summary), run_.folder() / "faces.html", result_.was_stopped};
  }

 private:
  /// Random weights don't tell persons apart.
  bool tells_persons() const {
    const FaceNetworkFlags& networks = flags_.networks;
    return !networks.weights->empty() || inference::is_foreign_model(*networks.embedder) || found_.faces.empty();
  }

  record::Record find_and_compare() {
    const nlohmann::json settings =
        face_settings(flags_.networks, flags_.placement, options_.embedder, options_.detector);
    const KnownFaces known = resumes_ ? KnownFaces(run_.folder(), settings) : KnownFaces();
    // Both have to be read before this run overwrites them.
    const PersonNames names(run_.folder());
    const KnownFaces replaced = resumes_ || names.empty() ? KnownFaces() : KnownFaces::who_was_who(run_.folder());
    std::vector<PhotoFaces> all;
    know(known, all);
    std::optional<FacesJob> job;
    if (!counts_.to_do.empty() || photos_.live() != nullptr) {
      job.emplace(options_);
      job->fit_into_memory(photos_, counts_.to_do);
    }
    const std::vector<std::string> notes = job ? job->notes() : known.notes();
    sure_ = job ? job->sure_probability() : known.sure();
    if (job) main_part_ = job->main_part();
    begin(notes);
    if (!resumes_) forget_persons(run_.folder());
    FacesJournal journal = resumes_ ? FacesJournal(faces_journal(run_.folder()), known.whole_bytes())
                                    : begin_faces_journal(run_.folder(), settings, notes, sure_);
    if (job) {
      look(*job, journal, all);
      job.reset();  // what it takes is room for comparing
      give_back_freed_memory();
    }
    tracks_ = keep_tracks(all, photos_, run_.folder(), faces_journal(run_.folder()));
    found_ = gather_faces(std::move(all), {*flags_.comparison.founder_size, sure_});
    ComparisonRequest request = comparison_request(flags_.comparison);
    request.threads = usable_cpus();
    request.folder = run_.folder();
    compare_faces(found_, photos_, request, known, line_);
    for (const std::string& text : take_names(found_, names, resumes_ ? known : replaced)) run_.note(text);
    fill_results();
    return run_.record();
  }

  /// Finds out which photos are known from before, and which are new.
  void know(const KnownFaces& known, std::vector<PhotoFaces>& all) {
    if (photos_.live() != nullptr) return;
    if (resumes_) {
      counts_ = take_known(photos_, known, all, line_);
    } else {
      counts_.to_do.resize(photos_.size());
      std::iota(counts_.to_do.begin(), counts_.to_do.end(), std::size_t{0});
    }
  }

  void begin(const std::vector<std::string>& notes) {
    fill_record(run_.record(), flags_, options_, photos_);
    run_.begin();
    for (const std::string& text : photos_.notes()) line_.note("note: " + text);
    for (const std::string& text : data::deep_notes(photos_)) line_.note("note: " + text);
    for (const auto& skipped : photos_.skipped()) line_.note(skipped.file + ": " + skipped.reason);
    for (const std::string& file : counts_.vanished) line_.note("no longer there: " + file);
    for (const std::string& text : notes) run_.note(text);
  }

  /// Finds the faces on the new photos, which are added to `journal` and to `all`.
  void look(FacesJob& job, FacesJournal& journal, std::vector<PhotoFaces>& all) {
    done_together_ = job.done_together();
    const std::string what = photos_.live() != nullptr
                                 ? "frames of " + photos_.live()->source() + " as they come"
                                 : counted(counts_.to_do.size(), resumes_ ? "new photo" : "photo");
    line_.note(fmt::format("{} on {}: {}", what, options_.plan.text, counted(job.lanes(), "thread")));
    GrowingResults results(run_.folder(), photos_, counts_.to_do.size(), journal, all, line_);
    const double from_s = run_.look();
    try {
      result_ = job.run(
          photos_, counts_.to_do, [&](PhotoFaces photo) { results.add(std::move(photo)); },
          [&](const FacesChunk& chunk) { results.add_chunk(chunk); });
    } catch (const Interrupted&) {
      throw Interrupted(fmt::format("interrupted after {} of {}; the same command with --out {} --resume goes on",
                                    results.done(), counted(counts_.to_do.size(), "photo"), run_.folder().string()));
    }
    run_.worked(from_s, static_cast<std::int64_t>(result_.photos));
    line_.finish();
    if (result_.was_stopped) clear_stop_request();  // what was found has still to be compared and written
    chunks_ = results.chunks();
  }

  void fill_results() {
    record::Record& record = run_.record();
    run_.take_times(record);
    fill_speed(record, result_, done_together_);
    record.data.skipped = static_cast<std::int64_t>(photos_.skipped().size() + result_.skipped.size());
    if (const data::LiveFrames* const live = photos_.live()) {
      record.data.images = static_cast<std::int64_t>(result_.photos);
      if (live->dropped() > 0) run_.note(counted(live->dropped(), "frame") + " were dropped: they came too fast");
    }
    add_comparison(record, found_.faces.size(), tells_persons() ? std::optional(found_.person_count) : std::nullopt);
    add_chunks(record, chunks_);
    if (pairs_.empty()) return;
    judged_ = judge_pairs(pairs_, found_, photos_, run_.folder() / "judged_pairs.csv");
    if (judged_->result) add_judgement(record, *judged_->result);
    if (!judged_->result) run_.note("--pairs tells nothing: " + judged_->refusal);
  }

  /// Writes the tables and the page. The summary.
  std::vector<std::string> tell(const record::Record& record) {
    const int mtcnn_min_size =
        inference::is_foreign_model(options_.detector.name) ? 0 : options_.detector.mtcnn.min_size;
    std::vector<std::string> summary =
        summary_of(result_, found_, counts_, main_part_, mtcnn_min_size, tells_persons());
    summary.insert(summary.end(), tracks_.summary.begin(), tracks_.summary.end());
    FacesPage page;
    page.title = record.data.location;
    page.notes = record.notes;
    page.tells_persons = tells_persons();
    page.chunks = chunks_on_page(chunks_);
    if (judged_ && judged_->result) {
      summary.push_back(judgement_text(*judged_));
      page.judgement = {summary.back(), {}, judged_->result->equal_error_rate};
      for (const auto& point : judged_->result->curve) page.judgement->curve.emplace_back(point.different, point.same);
    }
    page.summary = summary;
    write_faces(run_.folder(), found_, photos_, tracks_, std::move(page), sure_);
    if (!flags_.output.sort->empty()) summary.push_back(sort_by_person(*flags_.output.sort, found_, photos_));
    for (const auto& skipped : result_.skipped) line_.note(printable(skipped.file) + ": " + skipped.reason);
    return summary;
  }

  const FacesCommandFlags& flags_;
  measure::Observer& line_;
  const data::Pictures photos_;
  const FacesOptions options_;
  const std::vector<PhotoPair> pairs_;
  const bool resumes_;
  measure::MeteredRun run_;
  PhotoCounts counts_;
  FacesResult result_;
  VideoTracks tracks_;
  FoundFaces found_;
  std::vector<FacesChunk> chunks_;
  std::size_t done_together_ = 1;
  float sure_ = kUsuallySure;  // see FounderRule
  std::string main_part_;      // of the detector
  std::optional<JudgedPhotos> judged_;
};

}  // namespace

FacesOptions faces_options(const FacesCommandFlags& flags) {
  FacesOptions options = flags.networks.options();
  options.plan = flags.placement.plan();
  options.precision = parse_precision(*flags.placement.precision);
  options.strict = *flags.photos.strict;
  options.chunk = static_cast<std::size_t>(*flags.output.chunk);
  options.memory_bytes = flags.placement.memory_bytes();
  options.cache = inference::compile_cache();
  if (!flags.output.sort->empty()) check_sort_folder(*flags.output.sort, *flags.photos.photos);
  return options;
}

measure::RunOptions run_options(const FacesCommandFlags& flags, const placement::Plan& plan, bool resumes) {
  return {.kind = "faces",
          .version = program_version(),
          .out = *flags.output.out,
          .default_name = "faces",
          .overwrite = *flags.output.overwrite || resumes,
          .reads = {*flags.networks.weights},
          .energy = flags.energy.options(plan),
          .json = *flags.output.json};
}

FacesRun find_faces(const FacesCommandFlags& flags, measure::Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  if (names_embeddings(*flags.photos.photos)) return compare_embeddings(flags, observer);
  return FacesOnPhotos(flags, observer).run();
}

}  // namespace evener::faces
