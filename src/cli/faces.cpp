// evener faces: from a folder of photos to who is like whom.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/module.h"
#include "base/names.h"
#include "base/precision.h"
#include "cli/command.h"
#include "cli/compile_cache.h"
#include "cli/faces_results.h"
#include "cli/options/faces_flags.h"
#include "cli/progress.h"
#include "cli/train_hosts.h"
#include "measure/record_json.h"
#include "run/metered_run.h"
#include "run/placement_record.h"

namespace evener::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  evener faces photos/ --detector-weights weights/mtcnn --weights facenet.pt
  evener faces photos/ --detector-weights weights/mtcnn --embedder mobilefacenet --weights 068.ckpt --out runs/family
  evener faces photos/ --detector-weights weights/mtcnn --on cpu/t8 --min-size 40 --largest)";

struct FacesCommandFlags {
  FacesFlags photos;
  FaceNetworkFlags networks;
  FacesPlacementFlags placement;
  FacesOutputFlags output;

  OptionSet options() { return {&photos, &networks, &placement, &output}; }
};

void fill_record(measure::Record& record, const FacesCommandFlags& flags, const task::FacesOptions& options,
                 const data::Pictures& photos) {
  nlohmann::json config = nlohmann::json::object();
  for (const OptionGroup* group :
       std::initializer_list<const OptionGroup*>{&flags.photos, &flags.networks, &flags.placement, &flags.output}) {
    group->record(config);
  }
  record.config = measure::config_from_json(config);
  record.model.name = *flags.networks.embedder;
  record.data.location = fmt::format("{}", fmt::join(*flags.photos.photos, " "));
  record.data.images = static_cast<std::int64_t>(photos.size());
  record.placement = run::placement_record(options.plan);
  record.precision = precision_name(options.precision);
  record.engine = module_status("openvino").state == ModuleState::kUsable ? "openvino" : "torch";
  record.versions[record.engine] = module_status(record.engine).version;
  record.fallbacks = options.plan.fallbacks;
}

/// Rates of the photos in up to twenty blocks.
void fill_speed(measure::Record& record, const task::FacesResult& result) {
  record.images_per_s.over = "photos";
  if (result.seconds > 0 && result.photos > 0) {
    record.images_per_s.median = static_cast<double>(result.photos) / result.seconds;
    record.images_per_s.samples = {*record.images_per_s.median};
  } else {
    record.images_per_s.reason = "no photo was read";
  }
}

std::vector<std::string> summary_of(const task::FacesResult& result, const FoundFaces& found) {
  const auto count = [](std::size_t number, const char* one, const char* many) {
    return fmt::format("{} {}", number, number == 1 ? one : many);
  };
  const auto& times = result.detector_times;
  const double all_s = times.proposal_s + times.refinement_s + times.output_s;
  std::vector<std::string> summary = {
      fmt::format("{} on {}, of {} seen more than once.", count(found.faces.size(), "face", "faces"),
                  count(result.photos, "photo", "photos"), count(found.persons, "person", "persons")),
      fmt::format("{} photos a second; finding faces took {:.0f} % of it in MTCNN's first network.",
                  si_text(result.seconds > 0 ? static_cast<double>(result.photos) / result.seconds : 0),
                  all_s > 0 ? 100 * times.proposal_s / all_s : 0)};
  if (!result.skipped.empty()) {
    summary.push_back(fmt::format("{} could not be read.", count(result.skipped.size(), "photo", "photos")));
  }
  return summary;
}

int faces(const FacesCommandFlags& flags) {
  ProgressLine line(*flags.output.quiet);
  task::FacesOptions options = flags.networks.options();
  options.plan = flags.placement.plan();
  options.precision = parse_precision(*flags.placement.precision);
  options.strict = *flags.photos.strict;
  options.cache = compile_cache();
  const data::Pictures photos(*flags.photos.photos);
  run::MeteredRun run(
      {.kind = "faces",
       .version = EVENER_VERSION,
       .command = command_line(),
       .out = flags.output.out->empty() ? run::default_out("faces") : std::filesystem::path(*flags.output.out),
       .overwrite = *flags.output.overwrite},
      line);
  task::FacesResult result;
  FoundFaces found;
  const measure::Record record = run.measure([&] {
    task::FacesJob job(options);
    fill_record(run.record(), flags, options, photos);
    run.begin();
    for (const std::string& text : job.notes()) run.note("note: " + text);
    for (const auto& skipped : photos.skipped()) line.note(skipped.file + ": " + skipped.reason);
    line.note(fmt::format("{} photos on {}: {} threads", photos.size(), options.plan.text, job.lanes()));
    std::vector<task::EmbeddedFace> all;
    std::atomic<std::size_t> done = 0;
    double shown_s = 0;
    const auto keep = [&](task::EmbeddedFace face) {
      all.push_back(std::move(face));
      if (!line.on_terminal() || now_s() - shown_s < 0.2) return;
      shown_s = now_s();
      line.show(fmt::format("{} of {} photos, {} faces", done.load(), photos.size(), all.size()));
    };
    result = job.run(photos, keep, [&] { ++done; });
    line.finish();
    found = compare_faces(std::move(all), static_cast<float>(*flags.networks.limit), *flags.networks.founder_size,
                          usable_cpus());
    measure::Record& record = run.record();
    run.take_times(record);
    fill_speed(record, result);
    record.data.skipped = static_cast<std::int64_t>(result.skipped.size());
    measure::add_metric(record, {.name = "faces",
                                 .unit = "",
                                 .title = "faces",
                                 .label = "faces found",
                                 .value = static_cast<double>(found.faces.size())});
    measure::add_metric(record, {.name = "persons",
                                 .unit = "",
                                 .title = "persons",
                                 .label = "persons seen more than once",
                                 .value = static_cast<double>(found.persons)});
    return record;
  });
  const std::vector<std::string> summary = summary_of(result, found);
  write_faces(run.folder(), found, photos, record.data.location, summary, usable_cpus());
  for (const auto& skipped : result.skipped) line.note(printable(skipped.file) + ": " + skipped.reason);
  const std::string& json = *flags.output.json;
  if (json == "-") {
    fmt::print("{}\n", measure::to_json(record).dump(2));
    return 0;
  }
  if (!json.empty()) write_file_atomically(json, measure::to_json(record).dump(2) + "\n");
  for (const std::string& sentence : summary) fmt::print("{}\n", sentence);
  fmt::print("results  {}\n", (run.folder() / "faces.html").string());
  return 0;
}

}  // namespace

Command faces_command() {
  const auto flags = std::make_shared<FacesCommandFlags>();
  return {.name = "faces",
          .summary = "Find the faces on photos, and who is like whom",
          .options = flags->options(),
          .footer = kExamples,
          .run = [flags] { return faces(*flags); }};
}

}  // namespace evener::cli
