#include "data/sources/folder_listing.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/glob.h"
#include "base/plural.h"
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

std::vector<fs::path> images_below(const fs::path& folder) {
  return files_below(folder, has_image_extension);
}

struct PartFolder {
  Part part = Part::kUndivided;
  fs::path path;
  std::vector<fs::path> class_folders;
};

/// What a folder is, whatever its names; nothing where it can't be reached.
std::optional<std::pair<dev_t, ino_t>> identity_of(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

/// Calls visit(path) for each file below a folder that is not hidden, nor in a hidden folder, until one returns false.
/// Each folder is entered once, those behind links after all others, so that circles end; one that `top` itself lies in
/// is none of its contents.
template <class Visit>
void visit_files(const fs::path& top, const Visit& visit) {
  std::set<std::pair<dev_t, ino_t>> entered;
  std::error_code ignored;
  for (fs::path outer = fs::canonical(top, ignored); outer.has_relative_path();) {
    outer = outer.parent_path();
    if (const auto identity = identity_of(outer)) entered.insert(*identity);
  }
  std::vector<fs::path> waiting{top}, links;
  while (!waiting.empty() || !links.empty()) {
    if (waiting.empty()) {
      std::sort(links.rbegin(), links.rend());  // the last one that waits is entered next
      waiting.swap(links);
    }
    const fs::path folder = std::move(waiting.back());
    waiting.pop_back();
    const auto identity = identity_of(folder);
    if (identity && !entered.insert(*identity).second) continue;
    std::error_code error;
    fs::directory_iterator it(folder, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      if (is_hidden(it->path())) continue;
      if (it->is_directory(ignored)) {
        (it->is_symlink(ignored) ? links : waiting).push_back(it->path());
      } else if (!visit(it->path())) {
        return;
      }
    }
    if (error) fail_to_list(folder, error);
  }
}

bool has_image_below(const fs::path& folder) {
  return has_file_below(folder, has_image_extension);
}

constexpr const char* kPartNames = "train or training; val, valid, validation or dev; test or testing";

const char* part_text(Part part) {
  return part == Part::kTrain ? "training" : part == Part::kVal ? "validation" : "test";
}

/// Whether a word of the name stands for a part, as in "training_set" and "val2017".
bool resembles_part(const std::string& name) {
  std::string word;
  for (const char c : name + "_") {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      word += c;
    } else {
      if (part_named(word)) return true;
      word.clear();
    }
  }
  return false;
}

/// A folder of those that the user named directly.
struct TopFolder {
  fs::path path;
  std::optional<Part> part;  // that its name stands for
  std::vector<fs::path> class_folders;
  std::size_t loose_images = 0;  // that lie in it, not in a folder of it

  std::string name() const { return path.filename().string(); }
  bool is_part() const { return part && !class_folders.empty(); }
  bool has_images() const { return loose_images > 0 || (!class_folders.empty() && has_image_below(path)); }
};

std::vector<TopFolder> look_into(const std::vector<fs::path>& folders) {
  std::vector<TopFolder> tops;
  for (const fs::path& path : folders) {
    Entries entries = list(path);
    tops.push_back({path, part_named(path.filename().string()), std::move(entries.folders), entries.images.size()});
  }
  return tops;
}

/// "'a/train', 'a/test'"
std::string quoted_paths(const std::vector<const TopFolder*>& tops) {
  std::string text;
  for (const TopFolder* top : tops) text += (text.empty() ? "'" : ", '") + top->path.string() + "'";
  return text;
}

std::string by_name_parts(std::size_t folders) {
  return folders == 1 ? " is by name a part of divided data" : " are by name parts of divided data";
}

/// Beside parts there is nothing else with images: nobody could tell what it is for.
void require_only_parts(const std::vector<TopFolder>& tops) {
  std::vector<const TopFolder*> parts, others;
  for (const TopFolder& top : tops) {
    if (top.is_part()) {
      parts.push_back(&top);
    } else if (!top.part && top.has_images()) {
      others.push_back(&top);
    }
  }
  if (others.empty()) return;
  throw Error(quoted_paths(parts) + by_name_parts(parts.size()) + ", but " + quoted_paths(others) +
              ", which has images too, is not (" + kPartNames +
              "): rename or move what does not belong there. If all of them are classes, say so with --class "
              "NAME='FOLDER/**' for each");
}

/// Folders such as training_set/ and test_set/ with the same classes in them are parts, not classes.
void refuse_parts_under_other_names(const std::vector<TopFolder>& tops) {
  for (const TopFolder& top : tops) {
    if (top.loose_images > 0 || top.class_folders.empty() || !resembles_part(top.name())) continue;
    std::set<std::string> names;
    for (const fs::path& folder : top.class_folders) names.insert(folder.filename().string());
    for (const TopFolder& other : tops) {
      const auto common = std::ranges::find_if(
          other.class_folders, [&names](const fs::path& folder) { return names.contains(folder.filename().string()); });
      if (&other == &top || other.loose_images > 0 || common == other.class_folders.end()) continue;
      throw Error("'" + top.path.string() + "' and '" + other.path.string() + "' both have a folder '" +
                  common->filename().string() +
                  "', so they look like parts of divided data, but their names are not (" + kPartNames +
                  "): rename them. If they are classes, say so with --class NAME='FOLDER/**' for each");
    }
  }
}

/// Two folders that both mean the same part, or images that have no class.
void check_parts(const std::vector<PartFolder>& parts) {
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].part != parts[i - 1].part) continue;
    throw Error("'" + parts[i - 1].path.string() + "' and '" + parts[i].path.string() + "' are both the " +
                part_text(parts[i].part) + " part; keep one of them");
  }
}

/// The folders with the classes in them: those of the parts, or `folder` itself; none where there are parts, but with
/// images that lie in no class's folder.
std::vector<PartFolder> part_folders(const fs::path& folder, const std::vector<TopFolder>& tops) {
  std::vector<PartFolder> parts;
  bool has_classes = false;  // folders with images that are no parts by name
  for (const TopFolder& top : tops) {
    if (top.is_part()) parts.push_back({*top.part, top.path, top.class_folders});
    has_classes = has_classes || (!top.part && top.has_images());
  }
  if (!parts.empty()) {
    require_only_parts(tops);
    std::ranges::sort(parts, [](const auto& a, const auto& b) { return a.part < b.part; });
    check_parts(parts);
    return parts;
  }
  const bool has_named_parts = std::ranges::any_of(tops, [](const TopFolder& top) { return top.part.has_value(); });
  if (has_named_parts && !has_classes && std::ranges::any_of(tops, &TopFolder::has_images)) return {};
  refuse_parts_under_other_names(tops);
  std::vector<fs::path> class_folders;
  for (const TopFolder& top : tops) class_folders.push_back(top.path);
  return {{Part::kUndivided, folder, std::move(class_folders)}};
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

[[noreturn]] void fail_without_classes(const std::vector<TopFolder>& tops) {
  std::vector<const TopFolder*> named;
  for (const TopFolder& top : tops) {
    if (top.has_images()) named.push_back(&top);
  }
  throw Error(quoted_paths(named) + by_name_parts(named.size()) + " (" + kPartNames +
              "), but the images lie directly in there: put those of each class into a folder with the class's name "
              "inside, such as '" +
              (named.front()->path / "CLASS").string() +
              "'. If these are classes, say so with --class NAME='FOLDER/**'");
}

std::string loose_text(std::size_t images, const fs::path& folder) {
  return counted(images, "image file") + " directly in '" + folder.string() +
         (images == 1 ? "' belongs to no class: left out" : "' belong to no class: left out");
}

/// What a name says that is not followed: images in a part, but in no class's folder; a class that is called as a part.
void note_odd_folders(const std::vector<TopFolder>& tops, bool is_divided, std::vector<std::string>& notes) {
  for (const TopFolder& top : tops) {
    if (!top.part || top.loose_images == 0) continue;
    if (!is_divided) {
      notes.push_back("'" + top.path.string() +
                      "' is taken for a class, as it has images and no class folders in it; "
                      "as the " +
                      part_text(*top.part) + " part it needs a folder for each class");
      continue;
    }
    notes.push_back(loose_text(top.loose_images, top.path));
  }
}

}  // namespace

std::vector<fs::path> files_below(const fs::path& folder, const std::function<bool(const fs::path&)>& is_wanted) {
  std::vector<fs::path> files;
  visit_files(folder, [&](const fs::path& file) {
    if (is_wanted(file)) files.push_back(file);
    return true;
  });
  std::sort(files.begin(), files.end());
  return files;
}

bool has_file_below(const fs::path& folder, const std::function<bool(const fs::path&)>& is_wanted) {
  bool has_file = false;
  visit_files(folder, [&](const fs::path& file) {
    has_file = is_wanted(file);
    return !has_file;
  });
  return has_file;
}

std::optional<Part> part_named(const std::string& name) {
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto is_one_of = [&lower](std::initializer_list<const char*> names) {
    return std::ranges::find(names, lower) != names.end();
  };
  if (is_one_of({"train", "training"})) return Part::kTrain;
  if (is_one_of({"val", "valid", "validation", "dev"})) return Part::kVal;
  if (is_one_of({"test", "testing"})) return Part::kTest;
  return std::nullopt;
}

FolderListing list_image_folder(const fs::path& folder) {
  const Entries entries = list(folder);
  FolderListing listing;
  if (entries.folders.empty()) {
    throw Error("no class folders in '" + folder.string() + "': found " + counted(entries.images.size(), "image file") +
                " directly in it; put the images of each class into a folder with the class's name");
  }
  if (!entries.images.empty()) {
    listing.notes.push_back(loose_text(entries.images.size(), folder));
  }
  const std::vector<TopFolder> tops = look_into(entries.folders);
  const std::vector<PartFolder> parts = part_folders(folder, tops);
  if (parts.empty()) fail_without_classes(tops);
  note_odd_folders(tops, parts.front().part != Part::kUndivided, listing.notes);
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

std::vector<std::string> part_folders_with_images(const fs::path& folder) {
  std::vector<std::string> found;
  for (const fs::path& path : list(folder).folders) {
    if (part_named(path.filename().string()) && has_image_below(path)) found.push_back(path.string());
  }
  return found;
}

bool has_class_folders(const fs::path& folder) {
  std::set<std::string> names;
  for (const PartFolder& part : part_folders(folder, look_into(list(folder).folders))) {
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
    listing.notes.push_back(counted(others, "image file") + (others == 1 ? " belongs" : " belong") +
                            " to no --class: left out");
  return listing;
}

}  // namespace evener::data
