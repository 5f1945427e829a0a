#include "app/data/data_job.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/terminal_text.h"
#include "data/boxes.h"
#include "data/open/open_data.h"
#include "data/open/pack.h"
#include "data/open/pictures.h"
#include "data/sources/foreign_files.h"
#include "data/write_folder.h"
#include "measure/run/progress.h"
#include "options/data_flags.h"
#include "train/copies_table.h"

namespace evener::app {
namespace {

constexpr const char* kKind = "pictures without classes";
constexpr const char* kTrainingNote = "no classes were found, so nothing can be trained on this: ";

using Json = nlohmann::ordered_json;

/// Everything that was found.
struct Found {
  std::string location;
  std::size_t files = 0;
  data::PictureSurvey survey;
  std::vector<data::Skipped> skipped;  // folders and pictures
  std::vector<std::string> notes;
  double seconds = 0;
};

/// Does `work` with a function that shows its progress.
template <class Work>
auto shown_reading(measure::Observer& observer, Work work) {
  measure::LoadingProgress loading(observer);
  try {
    auto result = work([&](std::size_t done, std::size_t images) { loading.update("reading images", done, images); });
    observer.finish();
    return result;
  } catch (...) {
    observer.finish();
    throw;
  }
}

Json skipped_json(const std::vector<data::Skipped>& files) {
  Json skipped = Json::array();
  for (const data::Skipped& file : files) skipped.push_back({{"file", file.file}, {"reason", file.reason}});
  return skipped;
}

std::string line_text(const char* what, const std::string& value) {
  return fmt::format("{:<9} {}\n", what, value);
}

std::string skipped_text(const std::vector<data::Skipped>& files, const std::vector<std::string>& notes) {
  std::string text = line_text("skipped", std::to_string(files.size()));
  for (const data::Skipped& file : files) {
    text += fmt::format("          {}: {}\n", one_line(file.file), one_line(file.reason));
  }
  for (const std::string& note : notes) text += line_text("note", one_line(note));
  return text;
}

Json size_json(const data::PictureSize& size) {
  return {{"width", size.width}, {"height", size.height}, {"images", size.pictures}};
}

/// The keys that data with classes has too mean the same there; what pictures without classes don't have is null.
Json json_of(const Found& found) {
  const data::PictureSurvey& survey = found.survey;
  return {{"schema", 1},
          {"kind", "data info"},
          {"location", found.location},
          {"source", kKind},
          {"images", survey.readable()},
          {"seconds", found.seconds},
          {"shape", nullptr},
          {"sizes",
           {{"smallest", size_json(survey.smallest)},
            {"largest", size_json(survey.largest)},
            {"commonest", size_json(survey.commonest)}}},
          {"grey", survey.grey},
          {"colour", survey.colour},
          {"classes", Json::array()},
          {"per_class", Json::object()},
          {"split", nullptr},
          {"boxes", 0},
          {"skipped", skipped_json(found.skipped)},
          {"notes", found.notes}};
}

std::string text_of(const Found& found) {
  const data::PictureSurvey& survey = found.survey;
  return fmt::format("{} ({})\n", one_line(found.location), kKind) +
         line_text("images", fmt::format("{} of {} files; {} in colour, {} grey", survey.readable(), found.files,
                                         survey.colour, survey.grey)) +
         line_text("sizes", fmt::format("{}x{} to {}x{} pixels; most often {}x{} ({} images)", survey.smallest.width,
                                        survey.smallest.height, survey.largest.width, survey.largest.height,
                                        survey.commonest.width, survey.commonest.height, survey.commonest.pictures)) +
         skipped_text(found.skipped, found.notes);
}

void refuse_bad(const Found& found, bool strict) {
  const auto& bad = found.survey.unreadable;
  if (found.survey.readable() == 0) {
    throw Error(fmt::format("none of the {} image files of '{}' can be used:{}", found.files, found.location,
                            data::first_skipped(bad)));
  }
  if (strict && !found.skipped.empty()) {
    throw Error(fmt::format("{} of the {} image files and the folders of '{}' are bad; remove or repair them:{}",
                            found.skipped.size(), found.files, found.location, data::first_skipped(found.skipped)));
  }
}

/// The description of data, as text and as JSON.
struct DataFindings {
  std::string location;
  data::OpenedData opened;
  parallel::FlowReport reading;
  double seconds = 0;
  std::vector<std::size_t> per_class;    // images, or boxes, of each class
  std::optional<data::BoxCensus> boxes;  // absent: the data has classes
  training::CopySearch copies;
};

void count_targets(DataFindings& info) {
  const data::Dataset& dataset = *info.opened.dataset;
  info.per_class.resize(dataset.classes().size());
  if (dataset.target_kind() == data::TargetKind::kBoxes) {
    info.boxes = data::count_boxes(dataset);
    for (std::size_t c = 0; c < info.per_class.size(); ++c) info.per_class[c] = info.boxes->classes[c].boxes;
    return;
  }
  for (std::size_t i = 0; i < dataset.size(); ++i) {
    ++info.per_class[static_cast<std::size_t>(data::label_of(dataset, i))];
  }
}

Json box_json(const DataFindings& info) {
  if (!info.boxes) return nullptr;
  const data::BoxCensus& census = *info.boxes;
  Json classes = Json::object();
  for (std::size_t c = 0; c < census.classes.size(); ++c) {
    const data::ClassBoxes& each = census.classes[c];
    classes[info.opened.dataset->classes()[c]] = {
        {"images", each.images}, {"median_width", each.median_width}, {"median_height", each.median_height}};
  }
  return {{"difficult", census.difficult},
          {"truncated", census.truncated},
          {"crowds", census.crowds},
          {"sizes", {{"small", census.small}, {"medium", census.medium}, {"large", census.large}}},
          {"images_without", census.images_without},
          {"most_on_an_image", census.most_on_an_image},
          {"per_class", classes}};
}

/// null: copies were not looked for.
Json copies_json(const training::CopySearch& search) {
  if (!search.is_made) return nullptr;
  const Json near = search.near_reason.empty() ? Json(search.judged - search.exact) : Json(nullptr);
  const Json reason = search.near_reason.empty() ? Json(nullptr) : Json(search.near_reason);
  return {{"images", search.judged},
          {"exact", search.exact},
          {"near", near},
          {"near_reason", reason},
          {"pairs", search.pairs.size()}};
}

Json info_json(const DataFindings& info) {
  const data::OpenedData& opened = info.opened;
  const data::Dataset& dataset = *opened.dataset;
  const data::ImageShape shape = dataset.shape();
  Json per_class = Json::object();
  for (std::size_t c = 0; c < info.per_class.size(); ++c) per_class[dataset.classes()[c]] = info.per_class[c];
  return {
      {"schema", 1},
      {"kind", "data info"},
      {"location", info.location},
      {"source", opened.kind},
      {"images", dataset.size()},
      {"seconds", info.seconds},
      {"shape", {{"channels", shape.channels}, {"height", shape.height}, {"width", shape.width}}},
      {"classes", dataset.classes()},
      {"per_class", per_class},
      {"split",
       {{"train", opened.split.train.size()}, {"val", opened.split.val.size()}, {"test", opened.split.test.size()}}},
      {"boxes", info.boxes ? info.boxes->boxes : 0},
      {"box_details", box_json(info)},
      {"copies", copies_json(info.copies)},
      {"reading", reading_json(info.reading)},
      {"skipped", skipped_json(opened.skipped)},
      {"notes", opened.notes}};
}

std::string box_text(const data::BoxCensus& census, std::size_t images) {
  std::string text = fmt::format("{}, {:.1f} on an image, {} at most; {} images without", census.boxes,
                                 static_cast<double>(census.boxes) / static_cast<double>(images),
                                 census.most_on_an_image, census.images_without);
  for (const auto& [count, what] : {std::pair(census.difficult, "difficult"), std::pair(census.truncated, "truncated"),
                                    std::pair(census.crowds, "around crowds")}) {
    if (count > 0) text += fmt::format("; {} {}", count, what);
  }
  return text;
}

std::string info_text(const DataFindings& info) {
  const data::OpenedData& opened = info.opened;
  const data::Dataset& dataset = *opened.dataset;
  const data::ImageShape shape = dataset.shape();
  std::string text = fmt::format("{} ({})\n", one_line(info.location), opened.kind);
  const auto line = [&text](const char* what, const std::string& value) { text += line_text(what, value); };
  line("images", fmt::format("{} of {}x{} pixels, {}; {} as 8 bit per value", dataset.size(), shape.width, shape.height,
                             shape.channels == 1 ? "grey" : "RGB", bytes_text(dataset.size() * shape.bytes())));
  line("split", fmt::format("{} train, {} val, {} test", opened.split.train.size(), opened.split.val.size(),
                            opened.split.test.size()));
  if (info.boxes) {
    line("boxes", box_text(*info.boxes, dataset.size()));
    line("sizes", fmt::format("{} below 32x32 pixels, {} below 96x96, {} larger", info.boxes->small, info.boxes->medium,
                              info.boxes->large));
  }
  line("classes", std::to_string(dataset.classes().size()));
  for (std::size_t c = 0; c < info.per_class.size(); ++c) {
    text += fmt::format("{:>9} {}", info.per_class[c], one_line(dataset.classes()[c]));
    if (info.boxes) {
      const data::ClassBoxes& each = info.boxes->classes[c];
      text += fmt::format(", on {} images, usually {:.0f}x{:.0f} pixels", each.images, each.median_width,
                          each.median_height);
    }
    text += "\n";
  }
  text += skipped_text(opened.skipped, opened.notes);
  if (info.copies.is_made) {
    line("copies",
         fmt::format("{} of the {} images to validate or test on are also in training ({})", info.copies.judged,
                     opened.split.val.size() + opened.split.test.size(), one_line(training::copies_text(info.copies))));
  }
  if (const std::string reading = reading_text(info.reading); !reading.empty()) line("reading", reading);
  return text;
}

/// The error that a training on a folder without classes would give.
std::string class_advice(data::DataOptions options) {
  std::error_code none;
  options.look_only = true;
  try {
    if (std::filesystem::is_directory(options.location, none)) data::open_data(options);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    return error.what();
  }
  return "put the images of each class into a folder with its name, or use --class NAME=GLOB";
}

/// `advice`: a sentence on what to do so that the pictures can be trained on. Decodes every picture once; tells how
/// many there are, their sizes and colours, and which are unusable. Throws Error where there is none that can be used.
Description picture_info(const data::DataOptions& options, const std::string& advice, measure::Observer& observer) {
  const Stopwatch watch;
  const data::Pictures pictures({options.location});
  Found found;
  found.location = options.location;
  found.files = pictures.size();
  found.survey =
      shown_reading(observer, [&](const auto& show) { return data::survey_pictures(pictures, options.threads, show); });
  found.seconds = watch.seconds();
  found.skipped = pictures.skipped();
  found.skipped.insert(found.skipped.end(), found.survey.unreadable.begin(), found.survey.unreadable.end());
  found.notes = pictures.notes();
  found.notes.insert(found.notes.end(), found.survey.notes.begin(), found.survey.notes.end());
  found.notes.push_back(kTrainingNote + advice);
  refuse_bad(found, options.strict);
  return {text_of(found), json_of(found)};
}

/// Pictures without classes are told of as they are: what shapes or divides data does not apply to them.
Description classless_info(const data::DataOptions& options, bool wants_copies, measure::Observer& observer) {
  if (wants_copies) {
    throw UsageError("'" + options.location +
                     "' has no classes, so that nothing divides it into parts, and --copies "
                     "tells what is in two of them; say with --class NAME=GLOB which files form which class");
  }
  if (options.width || options.channels || !options.split.empty()) {
    throw UsageError("'" + options.location +
                     "' has no classes, so info tells of its pictures as they are; leave --size, --channels and "
                     "--split out, or say with --class NAME=GLOB which files form which class");
  }
  const std::string advice = class_advice(options);
  Description found = picture_info(options, advice, observer);
  const std::string others = data::other_annotations(options.location);
  if (!others.empty() && advice.find(others) == std::string::npos) {
    found.text += line_text("note", one_line(others));
    found.json["notes"].push_back(others);
  }
  return found;
}

/// How a training that begins with weights divides the data where --split doesn't say it; "" = as it is divided here.
std::string split_with_weights(data::DataOptions options, const data::OpenedData& opened) {
  if (!opened.came_divided) return "it by 70/15/15";
  // Without a test part it came with one to validate on. Looking at boxes once more takes long.
  if (opened.split.test.empty() || opened.dataset->target_kind() == data::TargetKind::kBoxes) return "";
  options.look_only = true;
  options.split = {85, 15};
  try {
    data::open_data(options);
    return "the training part by 85/15";  // as there is none to validate on
  } catch (const UsageError&) {
    return "";
  }
}

/// The description is of the data as `evener train` takes it without weights.
std::string note_of_weights(const data::DataOptions& options, const data::OpenedData& opened) {
  const std::string split = options.split.empty() ? split_with_weights(options, opened) : "";
  std::string otherwise = split.empty() ? "" : "divides " + split;
  if (!options.width) {
    otherwise += std::string(otherwise.empty() ? "" : " and ") + "brings images to the size that the weights take";
  }
  return otherwise.empty() ? "" : "this is how 'evener train' takes the data; with --weights FILE it " + otherwise;
}

namespace fs = std::filesystem;

void tell_skipped(const data::OpenedData& opened, measure::Observer& observer) {
  for (const data::Skipped& file : opened.skipped) {
    observer.note("skipped " + one_line(file.file) + ": " + one_line(file.reason));
  }
  for (const std::string& note : opened.notes) observer.note("note: " + one_line(note));
}

WrittenData summary_of(const data::OpenedData& opened, const std::string& path, double seconds) {
  return {.path = path,
          .images = opened.dataset->size(),
          .shape = opened.dataset->shape(),
          .classes = opened.dataset->classes().size(),
          .seconds = seconds};
}

constexpr const char* kDecode = "decode";
constexpr std::size_t kWaitingPerWorker = 4;

/// The step that decodes; null where nothing was read.
const parallel::FlowStepReport* decoding_in(const parallel::FlowReport& report) {
  for (const parallel::FlowStepReport& step : report.steps) {
    if (step.name == kDecode) return &step;
  }
  return nullptr;
}

std::int64_t images_of(const parallel::FlowStepReport& step) {
  std::int64_t images = 0;
  for (const parallel::FlowWorkerReport& worker : step.workers) images += worker.items;
  return images;
}

double per_second(std::int64_t images, double seconds) {
  return seconds > 0 ? static_cast<double>(images) / seconds : 0;
}

}  // namespace

Description look_at_data(const DataInfoFlags& flags, measure::Observer& observer) {
  if (!flags.json->empty() && *flags.json != "-") require_writable_file(*flags.json);
  if (!flags.copies->empty()) require_writable_file(*flags.copies);
  data::DataOptions options = flags.source.whole_data_options();
  if (options.classes.empty() && data::has_pictures_only(options.location))
    return classless_info(options, !flags.copies->empty(), observer);
  options.cache_limit_bytes = 1;  // the pixels are not looked at again
  const Stopwatch watch;
  DataFindings info;
  info.location = *flags.source.location;
  info.opened = shown_reading(observer, [&, shown = options](const auto& show) mutable {
    shown.progress = show;
    read_by_flow(shown, info.reading);
    return data::open_data(shown);
  });
  info.seconds = watch.seconds();
  if (const std::string note = note_of_weights(options, info.opened); !note.empty()) info.opened.notes.push_back(note);
  count_targets(info);
  if (!flags.copies->empty()) {
    info.copies = training::search_copies(info.opened, options.threads);
    training::write_copies(*flags.copies, info.copies);
  }
  return {info_text(info), info_json(info)};
}

void PackFlags::check_together() const {
  if (is_folder()) {
    data::parse_box_format(*format);
    return;
  }
  if (std::filesystem::path(*out).extension() == ".safetensors") return;
  throw UsageError("--out '" + *out + "' has to end in .safetensors: by that name --data knows a packed file");
}

data::DataOptions SynthFlags::data_options() const {
  data::DataOptions options;
  options.location = "synth:" + *kind + (*count ? ":" + std::to_string(**count) : "");
  set_size(*size, options);
  options.seed = *seed;
  options.threads = threads->value_or(usable_cores());
  options.cache_limit_bytes = 1;  // every image is written once
  return options;
}

WrittenData pack_data(const PackFlags& flags, measure::Observer& observer) {
  const fs::path out = *flags.out;
  if (!flags.is_folder() && fs::exists(out) && !*flags.overwrite) {
    throw UsageError("'" + *flags.out + "' exists; choose another name, or replace it with --overwrite");
  }
  data::DataOptions options = flags.source.whole_data_options();
  if (!flags.is_folder()) {
    options.before_decoding = [&out](std::size_t images, const data::ImageShape& shape) {
      data::require_room_for_pack(images, shape, out);
    };
  }
  parallel::FlowReport reading;
  read_by_flow(options, reading);
  const Stopwatch watch;
  const data::OpenedData opened = data::open_data(options);
  tell_skipped(opened, observer);
  if (const std::string text = reading_text(reading); !text.empty()) observer.note("read " + text);
  if (flags.is_folder()) {
    data::write_box_folder(*opened.dataset, opened.split, out, data::parse_box_format(*flags.format), options.threads);
  } else {
    data::write_packed(opened, *flags.source.location, out, options.threads);
  }
  return summary_of(opened, *flags.out, watch.seconds());
}

WrittenData draw_data(const SynthFlags& flags) {
  const data::DataOptions options = flags.data_options();
  const Stopwatch watch;
  const data::OpenedData opened = data::open_data(options);
  if (opened.dataset->target_kind() == data::TargetKind::kBoxes) {
    data::write_box_folder(*opened.dataset, opened.split, *flags.out, data::parse_box_format(*flags.format),
                           options.threads);
  } else {
    data::write_image_folder(*opened.dataset, *flags.out, options.threads);
  }
  return summary_of(opened, *flags.out, watch.seconds());
}

void read_by_flow(data::DataOptions& options, parallel::FlowReport& report) {
  options.deal = [threads = options.threads, progress = options.progress, &report](
                     std::size_t count, const std::function<void(std::size_t)>& work) {
    std::size_t next = 0, done = 0;
    const auto next_file = [&next, count]() -> std::optional<std::size_t> {
      return next < count ? std::optional(next++) : std::nullopt;
    };
    const auto decode = [&work](std::size_t file) {
      work(file);
      return file;
    };
    const auto tell = [&](std::size_t /*file*/) {
      if (progress) progress(++done, count);
    };
    const std::size_t waiting = kWaitingPerWorker * static_cast<std::size_t>(threads);
    parallel::Flow flow = parallel::flow_from<std::size_t>({.name = "list"}, next_file)
                              .map({.name = kDecode, .workers = threads, .capacity = waiting}, decode)
                              .into({.name = "count", .capacity = waiting}, tell);
    flow.run({.keep_order = false});
    report = flow.report();
  };
}

std::string reading_text(const parallel::FlowReport& report) {
  const parallel::FlowStepReport* decoding = decoding_in(report);
  if (decoding == nullptr) return "";
  double busy_s = 0;
  for (const parallel::FlowWorkerReport& worker : decoding->workers) busy_s += worker.busy_s;
  const auto workers = static_cast<double>(decoding->workers.size());
  const std::int64_t images = images_of(*decoding);
  return fmt::format(
      "{} images in {}, {:.4g} images/s; {} worker{} busy {:.0f} %; {:.1f} of {} images waiting on average", images,
      duration_text(report.seconds), per_second(images, report.seconds), decoding->workers.size(),
      decoding->workers.size() == 1 ? "" : "s", report.seconds > 0 ? 100 * busy_s / (workers * report.seconds) : 0,
      decoding->queue->mean_depth, decoding->queue->capacity);
}

nlohmann::ordered_json reading_json(const parallel::FlowReport& report) {
  const parallel::FlowStepReport* decoding = decoding_in(report);
  if (decoding == nullptr) return nullptr;
  Json workers = Json::array();
  for (const parallel::FlowWorkerReport& worker : decoding->workers) {
    workers.push_back({{"images", worker.items},
                       {"images_per_s", per_second(worker.items, report.seconds)},
                       {"busy_s", worker.busy_s},
                       {"wait_s", worker.wait_input_s + worker.wait_room_s}});
  }
  return {{"seconds", report.seconds},
          {"images_per_s", per_second(images_of(*decoding), report.seconds)},
          {"queue",
           {{"capacity", decoding->queue->capacity},
            {"mean_depth", decoding->queue->mean_depth},
            {"max_depth", decoding->queue->max_depth}}},
          {"workers", workers}};
}

}  // namespace evener::app
