#include "data/sources/voc_tree.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <initializer_list>
#include <sstream>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "data/image_files.h"
#include "data/sources/boxed_images.h"
#include "data/sources/folder_listing.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Whether a file is the XML of a VOC annotation, by its beginning.
bool is_voc_file(const fs::path& path) {
  constexpr std::string_view kRoot = "<annotation";
  std::ifstream in(path, std::ios::binary);
  std::string beginning(4096, '\0');
  in.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<std::size_t>(in.gcount()));
  std::erase(beginning, '\0');  // UTF-16
  const std::size_t at = beginning.find(kRoot);
  if (at == std::string::npos) return false;
  const char next = at + kRoot.size() < beginning.size() ? beginning[at + kRoot.size()] : '>';
  return next == '>' || next == '/' || std::isspace(static_cast<unsigned char>(next)) != 0;  // not <annotations>, which is CVAT's
}

struct Entries {
  std::vector<fs::path> folders, xml;  // sorted
};

Entries list(const fs::path& folder) {
  Entries entries;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (is_passed_over(it->path())) continue;
    std::error_code ignored;
    if (has_extension(it->path(), {".xml"})) {
      entries.xml.push_back(it->path());
    } else if (!has_image_extension(it->path()) && it->is_directory(ignored)) {
      entries.folders.push_back(it->path());
    }
  }
  if (error) throw Error("can't list the folder '" + folder.string() + "': " + error.message());
  std::sort(entries.folders.begin(), entries.folders.end());
  std::sort(entries.xml.begin(), entries.xml.end());
  return entries;
}

/// Whether there is VOC's XML in a folder; files of another kind may lie between.
bool has_voc_files(const Entries& entries) {
  constexpr std::size_t kMostRead = 10;
  const std::size_t read = std::min(entries.xml.size(), kMostRead);
  return std::any_of(entries.xml.begin(), entries.xml.begin() + static_cast<std::ptrdiff_t>(read), is_voc_file);
}

fs::path folder_called(const std::vector<fs::path>& folders, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    for (const fs::path& folder : folders) {
      if (lower_case(folder.filename().string()) == name) return folder;
    }
  }
  return {};
}

/// Whether there is VOC's XML in a folder or in those in it, which may be parts.
bool has_voc_files_within(const fs::path& folder) {
  const Entries entries = list(folder);
  const auto has_files = [](const fs::path& inner) { return has_voc_files(list(inner)); };
  return has_voc_files(entries) || std::ranges::any_of(entries.folders, has_files);
}

/// The names in a file of ImageSets/Main: of each line all, or what stands before the number that VOC's files of a
/// class have behind it. Names may have blanks in them.
std::vector<std::string> names_in(const fs::path& file, const AnnotationNames& known) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20;
  constexpr std::string_view kBlank = " \t\r";
  std::istringstream lines(read_annotation(file, kMostBytes));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(kBlank);
    if (begin == std::string::npos) continue;
    std::string name = line.substr(begin, line.find_last_not_of(kBlank) - begin + 1);
    const std::size_t blank = name.find_last_of(kBlank);
    if (blank != std::string::npos && !known.contains(name)) {
      const std::string last = name.substr(blank + 1);
      if (last == "-1" || last == "0" || last == "1") name.erase(name.find_last_not_of(kBlank, blank) + 1);
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

std::vector<VocTree> find_voc_trees(const fs::path& folder, int depth) {
  const Entries entries = list(folder);
  const fs::path images = folder_called(entries.folders, {"jpegimages", "images", "image", "imgs", "img"});
  const fs::path annotations =
      folder_called(entries.folders, {"annotations", "annotation", "xmls", "xml", "anns", "labels"});
  if (!images.empty() && !annotations.empty()) {
    const fs::path sets = folder / "ImageSets" / "Main";
    if (has_voc_files_within(annotations)) {
      return {{images, annotations, fs::is_directory(sets) ? sets : fs::path()}};
    }
  }
  if (has_voc_files(entries)) return {{folder, folder, {}}};
  std::vector<VocTree> trees;
  for (std::size_t i = 0; i < entries.folders.size() && depth > 0; ++i) {
    for (VocTree& tree : find_voc_trees(entries.folders[i], depth - 1)) {
      if (const auto part = part_named(entries.folders[i].filename().string())) tree.part = *part;
      trees.push_back(std::move(tree));
    }
  }
  return trees;
}

std::optional<ImageSets> read_image_sets(const fs::path& folder, const AnnotationNames& known, bool strict,
                                         std::vector<std::string>& notes) {
  if (folder.empty()) return std::nullopt;
  ImageSets sets;
  bool has_any = false;
  std::size_t repeated = 0;
  std::string first;
  for (const auto& [name, part] : {std::pair("train", Part::kTrain), std::pair("val", Part::kVal),
                                   std::pair("test", Part::kTest), std::pair("trainval", Part::kTrain)}) {
    const fs::path file = folder / (std::string(name) + ".txt");
    if (!fs::exists(file)) continue;
    has_any = true;
    for (std::string& image : names_in(file, known)) {
      const auto [found, is_new] = sets.emplace(std::move(image), part);
      const bool is_of_trainval = std::string_view(name) == "trainval" && found->second != Part::kTest;
      if (is_new || is_of_trainval || found->second == part) continue;
      if (repeated++ == 0) first = found->first;
      found->second = std::max(found->second, part);  // training, validation, test
    }
  }
  if (!has_any) return std::nullopt;
  if (repeated > 0) {
    const std::string what = counted(repeated, "image") + " in more than one of the sets of '" + folder.string() +
                             "', such as " + quoted_text(first);
    if (strict) throw Error(what + "; name each in one of them, or leave --strict out");
    notes.push_back(what + ": each counts in the first of test, validation and training");
  }
  return sets;
}

}  // namespace evener::data
