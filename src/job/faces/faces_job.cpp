#include "job/faces/faces_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "base/cpu.h"
#include "base/error.h"
#include "base/heap.h"
#include "base/module.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/precision.h"
#include "base/version.h"
#include "data/each_index.h"
#include "job/faces/comparison.h"
#include "job/faces/costs.h"
#include "job/faces/embeddings.h"
#include "job/faces/faces_flags.h"
#include "job/faces/known.h"
#include "job/faces/pairs.h"
#include "job/faces/results.h"
#include "job/faces/sort.h"
#include "job/faces/tables.h"
#include "job/infer/compile_cache.h"
#include "job/progress.h"
#include "job/train/hosts.h"
#include "measure/record_json.h"
#include "run/metered_run.h"
#include "run/placement_record.h"
#include "task/faces/journal.h"

namespace evener::job {
namespace {

constexpr int kEasySize = 40;  // pixels of faces that are found at much less cost

void fill_record(measure::Record& record, const FacesCommandFlags& flags, const task::FacesOptions& options,
                 const data::Pictures& photos) {
  record.config = measure::config_from_json(flags.config());
  record.model.name = *flags.networks.embedder;
  record.data.location = fmt::format("{}", fmt::join(*flags.photos.photos, " "));
  record.data.images = static_cast<std::int64_t>(photos.size());
  record.placement = run::placement_record(options.plan);
  record.precision = precision_name(options.precision);
  record.engine = engine::usual_runner_engine(options.plan.replicas.front().stages.front().device.kind);
  record.versions[record.engine] = module_status(record.engine).version;
  record.fallbacks = options.plan.fallbacks;
}

/// One rate over all photos.
void fill_speed(measure::Record& record, const task::FacesResult& result) {
  record.images_per_s.over = "photos";
  if (result.seconds > 0 && result.photos > 0) {
    record.images_per_s.median = static_cast<double>(result.photos) / result.seconds;
    record.images_per_s.samples = {*record.images_per_s.median};
  } else {
    record.images_per_s.reason = "no photo was read";
  }
}

/// What a face depends on: those that were found with something else are no use.
nlohmann::json face_settings(const FaceNetworkFlags& flags, const FacesPlacementFlags& placement,
                             const task::EmbedderRequest& embedder) {
  nlohmann::json settings = {
      {"--min-size", *flags.min_size}, {"--thresholds", *flags.thresholds},   {"--factor", *flags.factor},
      {"--embedder", *flags.embedder}, {"--margin", *flags.margin},           {"--largest", *flags.largest},
      {"--rotate", *flags.rotate},     {"--precision", *placement.precision}, {"--cut", *flags.cut}};
  const auto content = [](const std::filesystem::path& file) { return fmt::format("{:016x}", task::content_of(file)); };
  if (task::is_foreign_model(*flags.embedder)) {
    settings["--embedder"] = "a file of content " + content(*flags.embedder);
    // A file beside the network's may have said so, which can change.
    settings["--size"] =
        fmt::format("{}x{}", embedder.file.model.width.value_or(0), embedder.file.model.height.value_or(0));
    settings["--normalize"] = embedder.file.normalization.text;
    settings["--channel-order"] = embedder.file.reverse_channels ? "bgr" : "rgb";
  }
  settings["--weights"] = flags.weights->empty() ? "random ones" : "a file of content " + content(*flags.weights);
  std::string detector = "files of content";
  for (const auto& file : task::detector_weight_files(*flags.detector_weights)) detector += " " + content(file);
  settings["--detector-weights"] = detector;
  return settings;
}

/// Where a run's photos come from.
struct PhotoCounts {
  std::size_t known = 0;              // from an earlier run
  std::vector<std::size_t> to_do;     // numbers
  std::vector<std::string> vanished;  // files of an earlier run
};

/// Takes over what is known, and counts the rest.
PhotoCounts take_known(const data::Pictures& photos, const KnownFaces& known, std::vector<task::PhotoFaces>& all,
                       Observer& line) {
  std::vector<std::optional<std::uint64_t>> contents(photos.size());
  LoadingProgress progress(line);
  data::for_each_index(
      photos.size(), usable_cpus(),
      [&](std::size_t i) {
        try {
          contents[i] = task::content_of(photos.source(i));
        } catch (const Error&) {  // told when its turn comes to be read
        }
      },
      [&](std::size_t done, std::size_t count) { progress.update("looking for known photos", done, count); });
  line.finish();
  PhotoCounts counts;
  for (std::size_t i = 0; i < photos.size(); ++i) {
    const task::PhotoFaces* photo = contents[i] ? known.find(*contents[i]) : nullptr;
    if (photo == nullptr) {
      counts.to_do.push_back(i);
      continue;
    }
    all.push_back(*photo);
    all.back().photo = i;
    for (task::EmbeddedFace& face : all.back().faces) face.photo = i;
  }
  counts.known = all.size();
  counts.vanished = known.vanished(contents);
  return counts;
}

std::vector<std::string> summary_of(const task::FacesResult& result, const FoundFaces& found, const PhotoCounts& counts,
                                    int min_size) {
  const auto& times = result.detector_times;
  const double all_s = times.proposal_s + times.refinement_s + times.output_s;
  std::vector<std::string> summary = {
      fmt::format("{} on {}; {} seen more than once.", counted(found.faces.size(), "face"),
                  counted(result.photos + counts.known, "photo"), counted(found.person_count, "person"))};
  if (counts.known > 0 || !counts.vanished.empty()) {
    summary.push_back(fmt::format("{} known from before, {} new, {} no longer there.", counts.known,
                                  counts.to_do.size(), counts.vanished.size()));
  }
  if (result.photos > 0 && result.seconds > 0) {
    const double share = all_s > 0 ? times.proposal_s / all_s : 0;
    summary.push_back(fmt::format("{} photos a second; {:.0f} % of finding faces went into MTCNN's first network.",
                                  si_text(static_cast<double>(result.photos) / result.seconds), 100 * share));
    // That network looks at as many places as the photo has pixels, scaled by the smallest face.
    if (share > 0.5 && min_size < kEasySize) {
      const double left = static_cast<double>(min_size) * min_size / (kEasySize * kEasySize);
      summary.push_back(fmt::format("--min-size {} would leave out smaller faces, and {:.0f} % of that network's work.",
                                    kEasySize, 100 * (1 - left)));
    }
  }
  summary.insert(summary.end(), found.summary.begin(), found.summary.end());
  if (!result.skipped.empty()) {
    summary.push_back(fmt::format("{} could not be read.", counted(result.skipped.size(), "photo")));
  }
  return summary;
}

std::string judgement_text(const JudgedPhotos& judged) {
  const task::Verification& result = *judged.result;
  std::string text =
      fmt::format("{} of one person and {} of two: {:.2f} % told rightly, equal error rate {:.2f} % at distance {:.3f}",
                  counted(result.same, "pair"), result.different, 100 * result.accuracy, 100 * result.equal_error_rate,
                  result.equal_error_distance);
  const auto add = [&](const std::optional<double>& accepted, const char* wrongly) {
    if (accepted) text += fmt::format(", {:.2f} % accepted where {} of the wrong ones are", 100 * *accepted, wrongly);
  };
  add(result.accepted_at_1_percent, "1 %");
  add(result.accepted_at_01_percent, "0.1 %");
  if (judged.without_face > 0) text += fmt::format("; {} left out, a photo without a face", judged.without_face);
  return text + ".";
}

void add_judgement(measure::Record& record, const task::Verification& result) {
  measure::add_metric(record, {.name = "pair_accuracy",
                               .unit = "share",
                               .title = "pairs told rightly",
                               .label = "pairs told rightly",
                               .role = measure::MetricRole::kQuality,
                               .value = result.accuracy});
  measure::add_metric(record, {.name = "equal_error_rate",
                               .unit = "share",
                               .title = "EER",
                               .label = "equal error rate",
                               .better = measure::Better::kLower,
                               .role = measure::MetricRole::kQuality,
                               .value = result.equal_error_rate});
}

/// Begins the journal of the folder, or goes on with it.
task::FacesJournal open_journal(const std::filesystem::path& folder, const nlohmann::json& settings,
                                const std::vector<std::string>& notes, const KnownFaces& known, bool goes_on) {
  if (goes_on) return {faces_journal(folder), known.whole_bytes()};
  forget_persons(folder);
  return begin_faces_journal(folder, settings, notes);
}

/// Whether the run goes on with one that is in its folder. Throws UsageError where that has to be said.
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

FacesRun faces_on_photos(const FacesCommandFlags& flags, Observer& line) {
  const data::Pictures photos(*flags.photos.photos);
  photos.require_readable();  // before weights are asked for: without photos they are of no use
  task::FacesOptions options = flags.networks.options();
  options.plan = flags.placement.plan();
  options.precision = parse_precision(*flags.placement.precision);
  options.strict = *flags.photos.strict;
  options.chunk = static_cast<std::size_t>(*flags.output.chunk);
  options.memory_bytes = flags.placement.memory_bytes();
  options.cache = compile_cache();
  if (!flags.output.sort->empty()) check_sort_folder(*flags.output.sort, *flags.photos.photos);
  const std::vector<PhotoPair> pairs =
      flags.photos.pairs->empty() ? std::vector<PhotoPair>() : read_photo_pairs(*flags.photos.pairs, photos);
  const bool resumes = goes_on(flags.output);
  run::MeteredRun run(
      {.kind = "faces",
       .version = program_version(),
       .command = command_line(),
       .out = flags.output.out->empty() ? run::default_out("faces") : std::filesystem::path(*flags.output.out),
       .overwrite = *flags.output.overwrite || resumes,
       .reads = {*flags.networks.weights},
       .energy = flags.energy.options(options.plan),
       .json = *flags.output.json},
      line);
  task::FacesResult result;
  FoundFaces found;
  PhotoCounts counts;
  std::optional<JudgedPhotos> judged;
  std::vector<task::FacesChunk> chunks;
  std::optional<WorkerScaling> scaling;
  measure::Record record = run.measure([&] {
    const nlohmann::json settings = face_settings(flags.networks, flags.placement, options.embedder);
    const KnownFaces known = resumes ? KnownFaces(run.folder(), settings) : KnownFaces();
    const PersonNames names(run.folder());
    const KnownFaces replaced = resumes || names.empty() ? KnownFaces() : KnownFaces::who_was_who(run.folder());
    std::vector<task::PhotoFaces> all;
    if (resumes) {
      counts = take_known(photos, known, all, line);
    } else {
      counts.to_do.resize(photos.size());
      std::iota(counts.to_do.begin(), counts.to_do.end(), std::size_t{0});
    }
    std::optional<task::FacesJob> job;
    if (!counts.to_do.empty()) {
      job.emplace(options);
      job->fit_into_memory(photos, counts.to_do);
    }
    fill_record(run.record(), flags, options, photos);
    run.begin();
    for (const std::string& text : photos.notes()) line.note("note: " + text);
    for (const auto& skipped : photos.skipped()) line.note(skipped.file + ": " + skipped.reason);
    for (const std::string& file : counts.vanished) line.note("no longer there: " + file);
    const std::vector<std::string> notes = job ? job->notes() : known.notes();
    for (const std::string& text : notes) run.note(text);
    task::FacesJournal journal = open_journal(run.folder(), settings, notes, known, resumes);
    if (job) {
      line.note(fmt::format("{} on {}: {}", counted(counts.to_do.size(), resumes ? "new photo" : "photo"),
                            options.plan.text, counted(job->lanes(), "thread")));
      forget_scaling(run.folder());
      if (*flags.output.scaling) scaling = measure_scaling(*job, photos, counts.to_do, run.folder(), line);
      std::size_t faces = 0, done = 0;
      const double begin_s = now_s();
      double shown_s = begin_s;
      GrowingTable table(run.folder() / "faces.csv", faces_heading());
      for (const task::PhotoFaces& photo : all) table.add(faces_rows(photos.source(photo.photo), photo.faces));
      GrowingTable chunk_rows(run.folder() / "chunks.csv", chunks_heading());
      const auto keep = [&](task::PhotoFaces photo) {
        journal.add(photo);
        table.add(faces_rows(photos.source(photo.photo), photo.faces));
        ++done;
        faces += photo.faces.size();
        for (task::EmbeddedFace& face : photo.faces) {
          if (faces > kMostThumbnails) face.drop_thumbnail();
        }
        all.push_back(std::move(photo));
        if (now_s() - shown_s < (line.redraws() ? 0.2 : 10)) return;
        shown_s = now_s();
        const double left_s =
            (shown_s - begin_s) / static_cast<double>(done) * static_cast<double>(counts.to_do.size() - done);
        line.show(fmt::format("{} of {}, {}, {} left", done, counted(counts.to_do.size(), "photo"),
                              counted(faces, "face"), time_left_text(left_s)));
      };
      const auto keep_chunk = [&](const task::FacesChunk& chunk) {
        chunk_rows.add(chunk_row(chunk));
        chunks.push_back(chunk);
      };
      try {
        result = job->run(photos, counts.to_do, keep, keep_chunk);
      } catch (const Interrupted&) {
        throw Interrupted(fmt::format("interrupted after {} of {}; the same command with --out {} --resume goes on",
                                      done, counted(counts.to_do.size(), "photo"), run.folder().string()));
      }
      line.finish();
      job.reset();  // what it takes is room for comparing
      give_back_freed_memory();
    }
    found = gather_faces(std::move(all), *flags.comparison.founder_size);
    ComparisonRequest request = comparison_request(flags.comparison);
    request.threads = usable_cpus();
    request.folder = run.folder();
    compare_faces(found, photos, request, known, line);
    for (const std::string& text : take_names(found, names, resumes ? known : replaced)) run.note(text);
    measure::Record& record = run.record();
    run.take_times(record);
    fill_speed(record, result);
    record.data.skipped = static_cast<std::int64_t>(result.skipped.size());
    add_comparison(record, found.faces.size(), found.person_count);
    add_chunks(record, chunks);
    if (scaling) add_scaling(record, *scaling);
    if (!pairs.empty()) {
      judged = judge_pairs(pairs, found, photos, run.folder() / "judged_pairs.csv");
      if (judged->result) add_judgement(record, *judged->result);
      if (!judged->result) run.note("--pairs tells nothing: " + judged->refusal);
    }
    return record;
  });
  std::vector<std::string> summary = summary_of(result, found, counts, *flags.networks.min_size);
  FacesStory story{.title = record.data.location, .notes = record.notes};
  if (judged && judged->result) {
    summary.push_back(judgement_text(*judged));
    story.judgement = {summary.back(), {}, judged->result->equal_error_rate};
    for (const auto& point : judged->result->curve) story.judgement->curve.emplace_back(point.different, point.same);
  }
  if (scaling) {
    summary.push_back(scaling_text(*scaling));
    story.scaling = scaling_on_page(*scaling);
  }
  story.chunks = chunks_on_page(chunks);
  story.summary = summary;
  write_faces(run.folder(), found, photos, story);
  if (!flags.output.sort->empty()) summary.push_back(sort_by_person(*flags.output.sort, found, photos));
  for (const auto& skipped : result.skipped) line.note(printable(skipped.file) + ": " + skipped.reason);
  return {std::move(record), std::move(summary), run.folder() / "faces.html"};
}

}  // namespace

FacesRun find_faces(const FacesCommandFlags& flags, Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  if (names_embeddings(*flags.photos.photos)) return compare_embeddings(flags, observer);
  return faces_on_photos(flags, observer);
}

}  // namespace evener::job
