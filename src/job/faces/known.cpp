#include "job/faces/known.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "task/inference/inference_model.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A network in OpenVINO's format has its weights in a second file.
std::string content_text(const std::filesystem::path& file) {
  std::string text = fmt::format("{:016x}", task::content_of(file));
  std::filesystem::path weights = file;
  if (file.extension() == ".xml" && std::filesystem::exists(weights.replace_extension(".bin"))) {
    text += fmt::format(" {:016x}", task::content_of(weights));
  }
  return text;
}

/// Those of MTCNN are as they were before there were other detectors, so that journals from then can be gone on with.
void add_detector_settings(nlohmann::json& settings, const task::DetectorRequest& detector) {
  const bool in_file = task::is_foreign_model(detector.name);
  settings["--detector"] = in_file ? "a file of content " + content_text(detector.name) : "";
  settings["--detector-size"] = "";
  settings["--detector-weights"] = "";
  if (in_file) {
    const task::FaceDetectorFileOptions& file = detector.file;
    if (file.size) settings["--detector-size"] = fmt::format("{}x{}", file.size->width, file.size->height);
    settings["--min-size"] = file.min_size;
    settings["--thresholds"] = file.least_score ? fmt::format("{}", *file.least_score) : "";
    return;
  }
  const task::MtcnnOptions& mtcnn = detector.mtcnn;
  settings["--min-size"] = mtcnn.min_size;
  settings["--thresholds"] = fmt::format("{}", fmt::join(mtcnn.thresholds, ","));
  settings["--factor"] = mtcnn.factor;
  std::string weights = "files of content";
  for (const auto& file : task::detector_weight_files(detector.weights)) weights += " " + content_text(file);
  settings["--detector-weights"] = weights;
}

constexpr const char* kPersons = "persons.json";
// Beside the options in a journal's settings.
constexpr const char *kNotes = "notes", *kSure = "sure probability";

std::string text_of(const json& value) {
  if (value.is_null() || value == "") return "its default";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void require_same(const fs::path& folder, const json& earlier, const json& settings) {
  for (const auto& [option, value] : settings.items()) {
    const json before = earlier.value(option, json());
    if (before == value || (before.is_null() && value == "")) continue;  // an option that is newer than the journal
    throw UsageError("the faces in " + folder.string() + " were found with " + option + " " + text_of(before) +
                     ", not with " + text_of(value) + ": they can't be compared. Leave " + option +
                     " as it was, give another --out, or --overwrite to begin anew");
  }
}

}  // namespace

nlohmann::json face_settings(const FaceNetworkFlags& flags, const FacesPlacementFlags& placement,
                             const task::EmbedderRequest& embedder, const task::DetectorRequest& detector) {
  nlohmann::json settings = {{"--embedder", *flags.embedder}, {"--margin", *flags.margin},
                             {"--largest", *flags.largest},   {"--rotate", *flags.rotate},
                             {"--cut", *flags.cut},           {"--precision", *placement.precision}};
  if (task::is_foreign_model(*flags.embedder)) {
    settings["--embedder"] = "a file of content " + content_text(*flags.embedder);
    // A file beside the network's may have said so, which can change.
    settings["--size"] =
        fmt::format("{}x{}", embedder.file.model.width.value_or(0), embedder.file.model.height.value_or(0));
    settings["--normalize"] = embedder.file.normalization.text;
    settings["--channel-order"] = embedder.file.reverse_channels ? "bgr" : "rgb";
  }
  settings["--weights"] = flags.weights->empty() ? "random ones" : "a file of content " + content_text(*flags.weights);
  add_detector_settings(settings, detector);
  return settings;
}

fs::path faces_journal(const fs::path& folder) {
  return folder / "faces.journal";
}

task::FacesJournal begin_faces_journal(const fs::path& folder, json settings, const std::vector<std::string>& notes,
                                       float sure) {
  settings[kNotes] = notes;
  settings[kSure] = sure;
  return {faces_journal(folder), settings};
}

KnownFaces::KnownFaces(const fs::path& folder, const json& settings) {
  std::size_t thumbnails = 0;
  const auto keep = [&](task::PhotoFaces photo) {
    for (task::EmbeddedFace& face : photo.faces) {
      if (++thumbnails > kMostThumbnails) face.drop_thumbnail();
    }
    const std::uint64_t content = photo.content;
    photos_.insert_or_assign(content, std::move(photo));
  };
  const auto take_settings = [&](const json& earlier) {
    require_same(folder, earlier, settings);
    notes_ = earlier.value(kNotes, std::vector<std::string>());
    sure_ = earlier.value(kSure, kUsuallySure);
  };
  whole_bytes_ = task::read_journal(faces_journal(folder), take_settings, keep);
  if (fs::exists(folder / kPersons)) read_persons(folder / kPersons);
}

KnownFaces KnownFaces::who_was_who(const fs::path& folder) {
  KnownFaces known;
  if (fs::exists(folder / kPersons)) known.read_persons(folder / kPersons);
  return known;
}

void KnownFaces::read_persons(const fs::path& path) {
  try {
    const json persons = json::parse(read_file(path));
    first_new_person_ = persons.at("next").get<int>();
    for (const json& photo : persons.at("photos")) {
      const auto content = photo.at("content").get<std::uint64_t>();
      told_[content] = {from_utf8_text(photo.at("file").get<std::string>()), content,
                        photo.at("persons").get<std::vector<int>>()};
    }
  } catch (const json::exception& error) {
    throw Error("'" + path.string() + "' is damaged (" + error.what() +
                "): remove it, and persons get new numbers, or give --overwrite to begin anew");
  }
}

const task::PhotoFaces* KnownFaces::find(std::uint64_t content) const {
  const auto found = photos_.find(content);
  return found == photos_.end() ? nullptr : &found->second;
}

std::vector<int> KnownFaces::persons(std::uint64_t content) const {
  const auto found = told_.find(content);
  return found == told_.end() ? std::vector<int>() : found->second.persons;
}

std::vector<std::string> KnownFaces::vanished(const std::vector<std::optional<std::uint64_t>>& contents) const {
  const std::set<std::optional<std::uint64_t>> present(contents.begin(), contents.end());
  std::vector<std::string> files;
  for (const auto& [content, told] : told_) {
    if (!present.contains(content)) files.push_back(told.file);
  }
  return files;
}

void write_persons(const fs::path& folder, const std::vector<PersonsOnPhoto>& photos, int first_new_person) {
  json list = json::array();
  for (const PersonsOnPhoto& photo : photos) {
    list.push_back({{"file", to_utf8_text(photo.file)}, {"content", photo.content}, {"persons", photo.persons}});
  }
  write_file_atomically(folder / kPersons,
                        json{{"next", first_new_person}, {"photos", std::move(list)}}.dump(1) + "\n");
}

void forget_persons(const fs::path& folder) {
  fs::remove(folder / kPersons);
}

}  // namespace evener::job
