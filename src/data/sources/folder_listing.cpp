#include "data/sources/folder_listing.h"

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/glob.h"
#include "data/image_files.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to_list(const fs::path& folder, const std::error_code& error) {
  throw Error("can't list the folder '" + folder.string() + "': " + error.message());
}

struct Entries {
  std::vector<fs::path> folders, images;  // sorted
};

Entries list(const fs::path& folder) {
  Entries entries;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (is_hidden(it->path())) continue;
    std::error_code ignored;  // a dangling link is no folder
    if (it->is_directory(ignored)) {
      entries.folders.push_back(it->path());
    } else if (has_image_extension(it->path())) {
      entries.images.push_back(it->path());
    }
  }
  if (error) fail_to_list(folder, error);
  std::sort(entries.folders.begin(), entries.folders.end());
  std::sort(entries.images.begin(), entries.images.end());
  return entries;
}

/// Image files anywhere below a class's folder; links to folders are not followed below it (they may form a circle).
std::vector<fs::path> images_below(const fs::path& folder) {
  std::vector<fs::path> images;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    const bool is_folder = it->is_directory(ignored);
    if (is_hidden(it->path())) {
      if (is_folder) it.disable_recursion_pending();
    } else if (!is_folder && has_image_extension(it->path())) {
      images.push_back(it->path());
    }
  }
  if (error) fail_to_list(folder, error);
  std::sort(images.begin(), images.end());
  return images;
}

std::optional<Part> part_named(const std::string& name) {
  if (name == "train") return Part::kTrain;
  if (name == "val" || name == "valid" || name == "validation") return Part::kVal;
  if (name == "test") return Part::kTest;
  return std::nullopt;
}

struct PartFolder {
  Part part = Part::kUndivided;
  fs::path path;
  std::vector<fs::path> class_folders;
};

/// The folders with the classes in them: those of the parts, or `folder` itself. It is divided if it has a train/ with
/// class folders, or nothing but parts.
std::vector<PartFolder> part_folders(const fs::path& folder, const Entries& entries) {
  std::vector<PartFolder> parts;
  bool has_train = false;
  for (const fs::path& path : entries.folders) {
    const std::optional<Part> part = part_named(path.filename().string());
    if (!part) continue;
    std::vector<fs::path> class_folders = list(path).folders;
    if (class_folders.empty()) continue;
    has_train = has_train || *part == Part::kTrain;
    parts.push_back({*part, path, std::move(class_folders)});
  }
  if (!has_train && parts.size() < entries.folders.size()) parts.clear();
  if (parts.empty()) parts.push_back({Part::kUndivided, folder, entries.folders});
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.part < b.part; });
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].part != parts[i - 1].part) continue;
    throw Error("'" + parts[i - 1].path.string() + "' and '" + parts[i].path.string() +
                "' are both the validation part; keep one of them");
  }
  return parts;
}

std::vector<std::string> class_names(const std::vector<PartFolder>& parts) {
  std::set<std::string> names;
  for (const PartFolder& part : parts) {
    for (const fs::path& folder : part.class_folders) {
      const std::string name = folder.filename().string();
      if (names.insert(name).second && part.part != Part::kTrain && parts.front().part == Part::kTrain) {
        throw Error("the class '" + name + "' is in '" + part.path.string() + "' but not in '" +
                    parts.front().path.string() + "': it can't be learnt; add it there or remove it here");
      }
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace

FolderListing list_image_folder(const fs::path& folder) {
  const Entries entries = list(folder);
  FolderListing listing;
  if (entries.folders.empty()) {
    throw Error("no class folders in '" + folder.string() + "': found " + std::to_string(entries.images.size()) +
                " image files directly in it; put the images of each class into a folder with the class's name");
  }
  if (!entries.images.empty()) {
    listing.notes.push_back(std::to_string(entries.images.size()) + " image files directly in '" + folder.string() +
                            "' belong to no class and are left out");
  }
  const std::vector<PartFolder> parts = part_folders(folder, entries);
  listing.classes = class_names(parts);
  for (const PartFolder& part : parts) {
    for (const fs::path& class_folder : part.class_folders) {
      const auto found =
          std::lower_bound(listing.classes.begin(), listing.classes.end(), class_folder.filename().string());
      const auto label = static_cast<std::int32_t>(found - listing.classes.begin());
      for (fs::path& path : images_below(class_folder)) listing.images.push_back({std::move(path), label, part.part});
    }
  }
  if (listing.images.empty()) {
    throw Error("no image files (.jpg, .png, .webp, .bmp, .tif, .pgm, ...) in the " +
                std::to_string(listing.classes.size()) + " folders of '" + folder.string() + "'");
  }
  return listing;
}

bool has_class_folders(const fs::path& folder) {
  std::set<std::string> names;
  for (const PartFolder& part : part_folders(folder, list(folder))) {
    for (const fs::path& class_folder : part.class_folders) {
      if (!images_below(class_folder).empty()) names.insert(class_folder.filename().string());
      if (names.size() >= 2) return true;
    }
  }
  return false;
}

namespace {

/// The index into `names` of the class that the file belongs to, or nothing.
std::optional<std::size_t> class_of(const std::string& path, const std::vector<std::string>& names,
                                    const std::vector<ClassFiles>& classes) {
  const ClassFiles* found = nullptr;
  for (const ClassFiles& files : classes) {
    if (!glob_matches(files.pattern, path)) continue;
    if (found != nullptr && found->name != files.name) {
      throw Error("the file '" + path + "' belongs to two classes: to '" + found->name + "' (" + found->pattern +
                  ") and to '" + files.name + "' (" + files.pattern + "); make one of the patterns narrower");
    }
    found = &files;
  }
  if (found == nullptr) return std::nullopt;
  return static_cast<std::size_t>(std::lower_bound(names.begin(), names.end(), found->name) - names.begin());
}

[[noreturn]] void fail_without_files(const std::string& name, const std::vector<ClassFiles>& classes,
                                     const fs::path& folder) {
  std::string patterns;
  std::string advice = "the paths are relative to that folder";
  for (const ClassFiles& files : classes) {
    if (files.name != name) continue;
    patterns += (patterns.empty() ? "'" : ", '") + files.pattern + "'";
    std::error_code ignored;
    if (fs::is_directory(folder / files.pattern, ignored)) {
      advice = "'" + files.pattern + "' is a folder: for all files below it write '" + files.pattern +
               (files.pattern.ends_with('/') ? "**'" : "/**'");
    }
  }
  throw Error("the class '" + name + "' has no image files: nothing in '" + folder.string() + "' fits " + patterns +
              "; " + advice);
}

}  // namespace

FolderListing list_classes(const fs::path& folder, const std::vector<ClassFiles>& classes) {
  FolderListing listing;
  for (const ClassFiles& files : classes) listing.classes.push_back(files.name);
  std::sort(listing.classes.begin(), listing.classes.end());
  listing.classes.erase(std::unique(listing.classes.begin(), listing.classes.end()), listing.classes.end());
  std::vector<std::size_t> counts(listing.classes.size());
  std::size_t others = 0;
  for (fs::path& path : images_below(folder)) {
    const auto found = class_of(path.lexically_relative(folder).generic_string(), listing.classes, classes);
    if (!found) {
      ++others;
      continue;
    }
    ++counts[*found];
    listing.images.push_back({std::move(path), static_cast<std::int32_t>(*found), Part::kUndivided});
  }
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (counts[c] == 0) fail_without_files(listing.classes[c], classes, folder);
  }
  std::stable_sort(listing.images.begin(), listing.images.end(),
                   [](const auto& a, const auto& b) { return a.label < b.label; });
  if (others > 0)
    listing.notes.push_back(std::to_string(others) + " image files belong to no --class and are left out");
  return listing;
}

}  // namespace evener::data
