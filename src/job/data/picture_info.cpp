#include "job/data/picture_info.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/terminal_text.h"
#include "data/open/pictures.h"
#include "job/progress.h"

namespace evener::job {
namespace {

constexpr const char* kKind = "pictures without classes";
constexpr const char* kTrainingNote = "no classes were found, so nothing can be trained on this: ";

/// Everything that was found.
struct Found {
  std::string location;
  std::size_t files = 0;
  data::PictureSurvey survey;
  std::vector<data::Skipped> skipped;  // folders and pictures
  std::vector<std::string> notes;
  double seconds = 0;
};

data::PictureSurvey survey_shown(const data::Pictures& pictures, int threads, Observer& observer) {
  LoadingProgress loading(observer);
  const auto show = [&](std::size_t done, std::size_t images) { loading.update("reading images", done, images); };
  try {
    data::PictureSurvey survey = data::survey_pictures(pictures, threads, show);
    observer.finish();
    return survey;
  } catch (...) {
    observer.finish();
    throw;
  }
}

nlohmann::ordered_json size_json(const data::PictureSize& size) {
  return {{"width", size.width}, {"height", size.height}, {"images", size.pictures}};
}

/// The keys that data with classes has too mean the same there; what pictures without classes don't have is null.
nlohmann::ordered_json json_of(const Found& found) {
  using Json = nlohmann::ordered_json;
  Json skipped = Json::array();
  for (const data::Skipped& file : found.skipped) skipped.push_back({{"file", file.file}, {"reason", file.reason}});
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
          {"skipped", skipped},
          {"notes", found.notes}};
}

std::string text_of(const Found& found) {
  const data::PictureSurvey& survey = found.survey;
  std::string text = fmt::format("{} ({})\n", one_line(found.location), kKind);
  const auto line = [&text](const char* what, const std::string& value) {
    text += fmt::format("{:<9} {}\n", what, value);
  };
  line("images", fmt::format("{} of {} files; {} in colour, {} grey", survey.readable(), found.files, survey.colour,
                             survey.grey));
  line("sizes", fmt::format("{}x{} to {}x{} pixels; most often {}x{} ({} images)", survey.smallest.width,
                            survey.smallest.height, survey.largest.width, survey.largest.height, survey.commonest.width,
                            survey.commonest.height, survey.commonest.pictures));
  line("skipped", std::to_string(found.skipped.size()));
  for (const data::Skipped& file : found.skipped) {
    text += fmt::format("          {}: {}\n", one_line(file.file), one_line(file.reason));
  }
  for (const std::string& note : found.notes) line("note", one_line(note));
  return text;
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

}  // namespace

Description picture_info(const PictureInfoRequest& request, Observer& observer) {
  const Stopwatch watch;
  const data::Pictures pictures({request.location});
  Found found;
  found.location = request.location;
  found.files = pictures.size();
  found.survey = survey_shown(pictures, request.threads, observer);
  found.seconds = watch.seconds();
  found.skipped = pictures.skipped();
  found.skipped.insert(found.skipped.end(), found.survey.unreadable.begin(), found.survey.unreadable.end());
  found.notes = pictures.notes();
  found.notes.insert(found.notes.end(), found.survey.notes.begin(), found.survey.notes.end());
  found.notes.push_back(kTrainingNote + request.advice);
  refuse_bad(found, request.strict);
  return {text_of(found), json_of(found)};
}

}  // namespace evener::job
