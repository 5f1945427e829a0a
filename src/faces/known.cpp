#include "faces/known.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/utf8.h"
#include "infer/model/inference_model.h"

namespace evener::faces {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A network in OpenVINO's format has its weights in a second file.
std::string content_text(const std::filesystem::path& file) {
  std::string text = fmt::format("{:016x}", content_of(file));
  std::filesystem::path weights = file;
  if (file.extension() == ".xml" && std::filesystem::exists(weights.replace_extension(".bin"))) {
    text += fmt::format(" {:016x}", content_of(weights));
  }
  return text;
}

/// Those of MTCNN are as they were before there were other detectors, so that journals from then can be gone on with.
void add_detector_settings(nlohmann::json& settings, const DetectorRequest& detector) {
  const bool in_file = inference::is_foreign_model(detector.name);
  settings["--detector"] = in_file ? "a file of content " + content_text(detector.name) : "";
  settings["--detector-size"] = "";
  settings["--detector-weights"] = "";
  if (in_file) {
    const FaceDetectorFileOptions& file = detector.file;
    if (file.size) settings["--detector-size"] = fmt::format("{}x{}", file.size->width, file.size->height);
    settings["--min-size"] = file.min_size;
    settings["--confidence"] = file.least_score ? fmt::format("{}", *file.least_score) : "";
    return;
  }
  const MtcnnOptions& mtcnn = detector.mtcnn;
  settings["--min-size"] = mtcnn.min_size;
  settings["--confidence"] = fmt::format("{}", fmt::join(mtcnn.thresholds, ","));
  settings["--factor"] = mtcnn.factor;
  std::string weights = "files of content";
  for (const auto& file : detector_weight_files(detector.weights)) weights += " " + content_text(file);
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
  std::vector<std::string> options = {"--detector"};  // first, as another one has other defaults
  for (const auto& [option, value] : settings.items()) options.push_back(option);
  for (const std::string& option : options) {
    const json value = settings.value(option, json(""));
    const json before = earlier.value(option, json());
    if (before == value || (before.is_null() && value == "")) continue;  // an option that is newer than the journal
    throw UsageError("the faces in " + folder.string() + " were found with " + option + " " + text_of(before) +
                     ", not with " + text_of(value) + ": they can't be compared. Leave " + option +
                     " as it was, give another --out, or --overwrite to begin anew");
  }
}

constexpr const char* kNamesHeading = "group,name";
constexpr std::uint64_t kMostNamesBytes = 16 << 20;

struct NameLine {
  int person = 0;  // from 0
  std::string name;
};

/// A name as spreadsheets write it: in quotes where it has commas or quotes, which are doubled.
std::string unquoted(std::string_view cell) {
  const bool quoted = cell.size() >= 2 && cell.front() == '"' && cell.back() == '"';
  return quoted ? csv_cells(cell, "").front() : std::string(cell);
}

/// Absent for a line without a group's number.
std::optional<NameLine> name_line(std::string_view line) {
  int group = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), group);
  if (error != std::errc() || group < 1) return std::nullopt;
  std::string_view rest = line.substr(static_cast<std::size_t>(end - line.data()));
  if (rest.empty()) return NameLine{group - 1, ""};
  if (std::string_view(",;\t").find(rest.front()) == std::string_view::npos) return std::nullopt;
  return NameLine{group - 1, unquoted(trimmed(rest.substr(1)))};
}

/// For each person before, the persons who now have some of their faces, with the number of faces.
std::map<int, std::map<int, std::size_t>> moves(const std::vector<int>& before, const std::vector<int>& now) {
  std::map<int, std::map<int, std::size_t>> all;
  for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    if (before[i] >= 0 && now[i] >= 0) ++all[before[i]][now[i]];
  }
  return all;
}

constexpr const char* kApart = "apart.csv";

}  // namespace

nlohmann::json face_settings(const FaceNetworkFlags& flags, const FacesPlacementFlags& placement,
                             const EmbedderRequest& embedder, const DetectorRequest& detector) {
  nlohmann::json settings = {{"--embedder", *flags.embedder}, {"--margin", *flags.margin},
                             {"--largest", *flags.largest},   {"--rotate", *flags.rotate},
                             {"--cut", *flags.cut},           {"--precision", *placement.precision}};
  if (inference::is_foreign_model(*flags.embedder)) {
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

FacesJournal begin_faces_journal(const fs::path& folder, json settings, const std::vector<std::string>& notes,
                                 float sure) {
  settings[kNotes] = notes;
  settings[kSure] = sure;
  return {faces_journal(folder), settings};
}

KnownFaces::KnownFaces(const fs::path& folder, const json& settings) {
  std::size_t thumbnails = 0;
  const auto keep = [&](PhotoFaces photo) {
    for (EmbeddedFace& face : photo.faces) {
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
  whole_bytes_ = read_journal(faces_journal(folder), take_settings, keep);
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

const PhotoFaces* KnownFaces::find(std::uint64_t content) const {
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

fs::path names_file(const fs::path& folder) {
  return folder / "names.csv";
}

PersonNames::PersonNames(const fs::path& folder) {
  const fs::path path = names_file(folder);
  if (!fs::exists(path)) return;
  std::istringstream lines(text_without_byte_order_mark(read_file(path, kMostNamesBytes)));
  std::size_t number = 0;
  for (std::string all; std::getline(lines, all);) {
    ++number;
    const std::string_view line = trimmed(all);
    if (line.empty() || (number == 1 && line.starts_with("group"))) continue;
    const auto fail = [&](const std::string& why) {
      throw Error(fmt::format("line {} of '{}', {}, {}", number, path.string(), quoted_text(line), why));
    };
    const std::optional<NameLine> one = name_line(line);
    if (!one) fail("is not a group's number and a name with a comma between, as in 3,Anna");
    if (to_utf8_text(line) != line) fail("is not in UTF-8: save the file in that encoding");
    if (one->name.empty()) continue;
    if (!names_.emplace(one->person, one->name).second) fail("names a group that has a name already");
  }
}

const std::string& PersonNames::of(int person) const {
  static const std::string none;
  const auto found = names_.find(person);
  return found == names_.end() ? none : found->second;
}

std::vector<std::string> PersonNames::follow(const std::vector<int>& before, const std::vector<int>& now) {
  const auto moved = moves(before, now);
  std::map<int, std::pair<std::size_t, int>> best;  // of a person: the faces that a name brings, and its number before
  std::vector<std::string> notes;
  std::vector<int> homeless;
  for (const auto& [person, name] : names_) {
    const auto found = moved.find(person);
    if (found == moved.end()) {
      homeless.push_back(person);
      continue;
    }
    const auto to = std::ranges::max_element(found->second, {}, [](const auto& one) { return one.second; });
    const auto [at, is_new] = best.try_emplace(to->first, to->second, person);
    if (is_new) continue;
    const bool is_better = to->second > at->second.first;
    homeless.push_back(is_better ? at->second.second : person);
    if (is_better) at->second = {to->second, person};
  }
  std::map<int, std::string> names;
  for (const auto& [person, from] : best) names[person] = names_.at(from.second);
  for (const int person : homeless) {
    const std::string& name = names_.at(person);
    const bool stays = std::ranges::find(now, person) == now.end() && names.emplace(person, name).second;
    notes.push_back(fmt::format("names.csv calls group {} {}, and no person has its faces: the name {}", person + 1,
                                printable(name), stays ? "waits there" : "is taken out, as others have that number"));
  }
  names_ = std::move(names);
  return notes;
}

void PersonNames::write(const fs::path& folder, const std::set<int>& persons) const {
  std::set<int> all = persons;
  for (const auto& [person, name] : names_) all.insert(person);
  std::string text = std::string(kNamesHeading) + "\n";
  for (const int person : all) text += fmt::format("{},{}\n", person + 1, csv_cell(of(person)));
  write_file_atomically(names_file(folder), text);
}

FacesApart::FacesApart(const fs::path& folder) {
  constexpr std::uint64_t kMostBytes = 16 << 20;
  const fs::path path = folder / kApart;
  if (!fs::exists(path)) return;
  std::istringstream text(text_without_byte_order_mark(read_file(path, kMostBytes)));
  std::size_t number = 0;
  for (std::string all; std::getline(text, all);) {
    ++number;
    const std::string_view line = trimmed(all);
    if (line.empty() || (number == 1 && line.starts_with("file"))) continue;
    std::vector<std::string> cells = csv_cells(line, ",;\t");
    cells.resize(2);
    const std::string& file = cells[0];
    const auto face = to_number<std::size_t>(trimmed(cells[1]));
    if (file.empty() || !face) {
      throw Error(
          fmt::format("line {} of '{}', {}, is not a photo and the number of a face on it, as in photos/a.jpg,0",
                      number, path.string(), quoted_text(line)));
    }
    lines_.push_back({from_utf8_text(file), *face});
  }
}

bool FacesApart::contains(const std::string& file, std::size_t face) {
  bool is_apart = false;
  for (Line& line : lines_) {
    if (line.face != face || (line.file != file && line.file != fs::path(file).filename())) continue;
    line.is_found = is_apart = true;
  }
  return is_apart;
}

std::vector<std::string> FacesApart::notes() const {
  std::vector<std::string> notes;
  for (const Line& line : lines_) {
    if (line.is_found) continue;
    notes.push_back(
        fmt::format("{} names face {} of {}, which is not there.", kApart, line.face, quoted_text(line.file)));
  }
  return notes;
}

}  // namespace evener::faces
