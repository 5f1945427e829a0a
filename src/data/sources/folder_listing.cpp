#include "data/sources/folder_listing.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/glob.h"
#include "base/plural.h"
#include "data/image_files.h"
#include "data/passed_over.h"
#include "data/sources/folder_walk.h"
#include "data/sources/foreign_files.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

struct PartFolder {
  Part part = Part::kUndivided;
  fs::path path;
  std::vector<fs::path> class_folders;
};

bool has_image_below(const fs::path& folder) {
  return has_file_below(folder, has_image_extension);
}

constexpr const char* kPartFolders = "train or training; val, valid, validation or dev; test or testing";

const char* part_text(Part part) {
  return part == Part::kTrain ? "training" : part == Part::kVal ? "validation" : "test";
}

/// A folder of those that the user named directly.
struct TopFolder {
  fs::path path;
  fs::path inner;            // the same, or where an archive was unpacked into a folder of its own name: train/train
  std::optional<Part> part;  // that its name stands for
  std::vector<fs::path> class_folders;
  std::size_t loose_images = 0;  // that lie in it, not in a folder of it

  std::string name() const { return path.filename().string(); }
  bool is_part() const { return part && !class_folders.empty(); }
  bool has_images() const { return loose_images > 0 || (!class_folders.empty() && has_image_below(path)); }
  bool holds_folders_alone() const { return loose_images == 0 && !class_folders.empty(); }
};

TopFolder look_into(const fs::path& path, PassedOver& passed_over) {
  const std::optional<Part> part = part_named(path.filename().string());
  TopFolder top{path, path, part, {}, 0};
  FolderEntries entries = list_folder(path, passed_over);
  while (entries.images.empty() && entries.folders.size() == 1) {
    const std::string outer = top.inner.filename().string(), name = entries.folders.front().filename().string();
    if (!are_alike(outer, name) && !(part && resembles_part(name))) break;
    top.inner = entries.folders.front();
    entries = list_folder(top.inner, passed_over);
  }
  top.class_folders = std::move(entries.folders);
  top.loose_images = entries.images.size();
  return top;
}

std::vector<TopFolder> look_into(const std::vector<fs::path>& folders, PassedOver& passed_over) {
  std::vector<TopFolder> tops;
  for (const fs::path& path : folders) tops.push_back(look_into(path, passed_over));
  return tops;
}

/// The folder itself, or where it holds nothing but one folder that holds the parts, or that is called as it is, that
/// one: archives are often unpacked so. A single folder of another kind may be the first of the classes.
fs::path unwrapped(const fs::path& folder, PassedOver& passed_over) {
  const FolderEntries entries = list_folder(folder, passed_over);
  if (!entries.images.empty() || entries.folders.size() != 1 || part_named(entries.folders.front().filename())) {
    return folder;
  }
  const fs::path& only = entries.folders.front();
  const auto is_divided = [&](const fs::path& inner) {
    return std::ranges::any_of(look_into(list_folder(inner, passed_over).folders, passed_over), &TopFolder::is_part);
  };
  fs::path inner = unwrapped(only, passed_over);
  const bool is_same = are_alike(fs::weakly_canonical(folder).filename().string(), only.filename().string());
  return is_same || inner != only || is_divided(only) ? inner : folder;
}

/// "'a/train', 'a/test'"
std::string quoted_paths(const std::vector<const TopFolder*>& tops) {
  std::string text;
  for (const TopFolder* top : tops) text += (text.empty() ? "'" : ", '") + top->inner.string() + "'";
  return text;
}

std::string by_name_parts(std::size_t folders) {
  return folders == 1 ? " is by name a part of divided data" : " are by name parts of divided data";
}

/// Throws where other folders with images lie beside the parts, as it isn't clear what they are for.
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
              ", which has images too, is not (" + kPartFolders +
              "): rename or move what does not belong there. If all of them are classes, say so with --class "
              "NAME='FOLDER/**' for each");
}

std::set<std::string> folder_names(const TopFolder& top) {
  std::set<std::string> names;
  for (const fs::path& folder : top.class_folders) names.insert(folder.filename().string());
  return names;
}

[[noreturn]] void fail_with_parts(const TopFolder& top, const TopFolder& other, const std::string& why) {
  throw Error("'" + top.inner.string() + "' and '" + other.inner.string() + "' " + why +
              ", so they look like parts of divided data, but their names are not (" + kPartFolders +
              "): rename them, or give the one to train on, such as '" + top.inner.string() +
              "'. If they are classes, say so with --class NAME='FOLDER/**' for each");
}

/// Folders such as training_set/ and test_set/ with the same classes in them are parts, not classes; so are seg_train/
/// with classes in it and seg_pred/ with images alone.
void refuse_parts_under_other_names(const std::vector<TopFolder>& tops) {
  std::vector<const TopFolder*> holders, others;  // the likely training part first
  bool are_all_parts = true;
  for (const TopFolder& top : tops) {
    if (!top.has_images()) continue;
    const std::optional<Part> part = resembles_part(top.name());
    are_all_parts = are_all_parts && part;
    if (part && top.holds_folders_alone()) holders.insert(part == Part::kTrain ? holders.begin() : holders.end(), &top);
    others.insert(part == Part::kTest ? others.begin() : others.end(), &top);
  }
  for (const TopFolder* top : holders) {
    const std::set<std::string> names = folder_names(*top);
    for (const TopFolder* other : others) {
      const auto common = std::ranges::find_if(other->class_folders, [&names](const fs::path& folder) {
        return names.contains(folder.filename().string());
      });
      if (other == top || other->loose_images > 0 || common == other->class_folders.end()) continue;
      fail_with_parts(*top, *other, "both have a folder '" + common->filename().string() + "'");
    }
  }
  for (const TopFolder* top : holders) {
    if (!are_all_parts || others.size() < 2 || top->class_folders.size() < 2) continue;
    fail_with_parts(*top, *(others.front() == top ? others.back() : others.front()), "have such names");
  }
}

/// Two folders or more that hold the same folders may be cameras or years, and those in them the classes.
void note_classes_within(const std::vector<TopFolder>& tops, std::vector<std::string>& notes) {
  std::vector<const TopFolder*> with_images;
  std::set<std::string> common;
  for (const TopFolder& top : tops) {
    if (!top.has_images()) continue;
    std::set<std::string> names = folder_names(top);
    if (!with_images.empty()) std::erase_if(names, [&common](const auto& name) { return !common.contains(name); });
    common = std::move(names);
    if (top.loose_images > 0 || common.size() < 2) return;
    with_images.push_back(&top);
  }
  if (with_images.size() < 2) return;
  const std::string first = *common.begin(), second = *std::next(common.begin());
  notes.push_back("each of the " + std::to_string(with_images.size()) + " classes has the folders '" + first +
                  "' and '" + second + "': if those are the classes, say so with --class '" + first + "=*/" + first +
                  "/**' --class '" + second + "=*/" + second + "/**'");
}

/// Throws for two folders that both stand for the same part, and for images outside of class folders.
void check_parts(const std::vector<PartFolder>& parts) {
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].part != parts[i - 1].part) continue;
    throw Error("'" + parts[i - 1].path.string() + "' and '" + parts[i].path.string() + "' are both the " +
                part_text(parts[i].part) + " part; keep one of them");
  }
}

/// Whether images lie directly in a folder whose name says nothing but a part: train/, test1/, "training images".
bool is_flat_part(const TopFolder& top) {
  return top.loose_images > 0 && top.class_folders.empty() && is_called_as_part(top.name());
}

/// The folders with the classes in them: those of the parts, or `folder` itself; none where there are parts, but with
/// images that lie in no class's folder.
std::vector<PartFolder> part_folders(const fs::path& folder, const std::vector<TopFolder>& tops) {
  std::vector<PartFolder> parts;
  bool has_classes = false;  // folders with images that are no parts by name
  for (const TopFolder& top : tops) {
    if (top.is_part()) parts.push_back({*top.part, top.inner, top.class_folders});
    has_classes = has_classes || (!top.part && top.has_images() && !is_flat_part(top));
  }
  if (!parts.empty()) {
    require_only_parts(tops);
    std::ranges::sort(parts, [](const auto& a, const auto& b) { return a.part < b.part; });
    check_parts(parts);
    return parts;
  }
  if (!has_classes && std::ranges::any_of(tops, &TopFolder::has_images)) return {};
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

/// "; or name the files of each class: --class ..." where the files are called after their classes.
std::string or_class_options(const fs::path& folder, const fs::path& images, PassedOver& passed_over) {
  const std::string options = class_options_of_names(list_folder(images, passed_over).images, folder);
  return options.empty() ? "" : "; or, as their names seem to tell the classes, use " + options;
}

[[noreturn]] void fail_without_classes(const fs::path& folder, const std::vector<TopFolder>& tops,
                                       PassedOver& passed_over) {
  std::vector<const TopFolder*> named;
  for (const TopFolder& top : tops) {
    if (top.has_images()) named.push_back(&top);
  }
  const auto train =
      std::ranges::find_if(named, [](const TopFolder* top) { return resembles_part(top->name()) == Part::kTrain; });
  const fs::path& first = (train == named.end() ? named.front() : *train)->inner;
  throw Error(quoted_paths(named) + by_name_parts(named.size()) + " (" + kPartFolders +
              "), but the images lie directly in there: put those of each class into a folder with the class's name "
              "inside, such as '" +
              (first / "CLASS").string() + "'" + or_class_options(folder, first, passed_over) +
              ". If these are classes, say so with --class NAME='FOLDER/**'");
}

/// Throws Error where a folder without images has files that are known otherwise.
void fail_with_foreign_files(const fs::path& folder) {
  const std::string hint = foreign_files_hint(folder);
  if (!hint.empty()) throw Error("no image files in '" + folder.string() + "', but " + hint);
}

/// A text on skipped folders, to follow the message of an Error.
std::string joined_notes(const PassedOver& passed_over) {
  std::string text;
  for (const std::string& note : passed_over.notes()) text += ". " + note;
  return text;
}

std::string loose_text(std::size_t images, const fs::path& folder) {
  return counted(images, "image file") + " directly in '" + folder.string() +
         (images == 1 ? "' belongs to no class: left out" : "' belong to no class: left out");
}

/// Notes names that are misleading: images in a part's folder but outside of class folders, and classes that are called
/// like a part.
void note_odd_folders(const std::vector<TopFolder>& tops, bool is_divided, std::vector<std::string>& notes) {
  for (const TopFolder& top : tops) {
    if (!top.part || top.loose_images == 0) continue;
    if (!is_divided) {
      notes.push_back("'" + top.path.string() +
                      "' is taken for a class, as it has images and no class folders in it; as the " +
                      part_text(*top.part) + " part it needs a folder for each class");
      continue;
    }
    notes.push_back(loose_text(top.loose_images, top.inner));
  }
}

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

FolderListing list_image_folder(const fs::path& given) {
  PassedOver passed_over;
  FolderListing listing;
  const fs::path folder = unwrapped(given, passed_over);
  if (folder != given) listing.notes.push_back("'" + folder.string() + "' is read, as there is nothing beside it");
  const FolderEntries entries = list_folder(folder, passed_over);
  if (entries.folders.empty()) {
    if (entries.images.empty()) fail_with_foreign_files(folder);
    throw Error("no class folders in '" + folder.string() + "': found " + counted(entries.images.size(), "image file") +
                " directly in it; put the images of each class into a folder with the class's name" +
                or_class_options(folder, folder, passed_over) + joined_notes(passed_over));
  }
  if (!entries.images.empty()) {
    listing.notes.push_back(loose_text(entries.images.size(), folder));
  }
  const std::vector<TopFolder> tops = look_into(entries.folders, passed_over);
  const std::vector<PartFolder> parts = part_folders(folder, tops);
  if (parts.empty()) fail_without_classes(folder, tops, passed_over);
  const bool is_divided = parts.front().part != Part::kUndivided;
  note_odd_folders(tops, is_divided, listing.notes);
  if (!is_divided) note_classes_within(tops, listing.notes);
  listing.classes = class_names(parts);
  for (const PartFolder& part : parts) {
    for (const fs::path& class_folder : part.class_folders) {
      const auto found =
          std::lower_bound(listing.classes.begin(), listing.classes.end(), class_folder.filename().string());
      const auto label = static_cast<std::int32_t>(found - listing.classes.begin());
      for (fs::path& path : files_below(class_folder, has_image_extension, passed_over)) {
        listing.images.push_back({std::move(path), label, part.part});
      }
    }
  }
  if (listing.images.empty()) {
    fail_with_foreign_files(folder);
    throw Error("no image files (.jpg, .png, .webp, .bmp, .tif, .pgm, ...) in the " +
                std::to_string(listing.classes.size()) + " folders of '" + folder.string() + "'" +
                joined_notes(passed_over));
  }
  std::ranges::move(passed_over.notes(), std::back_inserter(listing.notes));
  return listing;
}

fs::path innermost_single(const fs::path& folder) {
  std::error_code none;
  if (!fs::is_directory(folder, none)) return folder;
  PassedOver passed_over;
  fs::path inner = folder;
  for (FolderEntries entries = list_folder(inner, passed_over);
       entries.folders.size() == 1 && entries.images.empty();) {
    inner = entries.folders.front();
    entries = list_folder(inner, passed_over);
  }
  return inner;
}

std::vector<std::string> part_folders_with_images(const fs::path& folder) {
  std::vector<std::string> found;
  PassedOver passed_over;
  for (const fs::path& path : list_folder(folder, passed_over).folders) {
    if (part_named(path.filename().string()) && has_image_below(path)) found.push_back(path.string());
  }
  return found;
}

bool has_class_folders(const fs::path& given) {
  PassedOver passed_over;
  const fs::path folder = unwrapped(given, passed_over);
  std::set<std::string> names;
  for (const PartFolder& part :
       part_folders(folder, look_into(list_folder(folder, passed_over).folders, passed_over))) {
    for (const fs::path& class_folder : part.class_folders) {
      if (has_image_below(class_folder)) names.insert(class_folder.filename().string());
      if (names.size() >= 2) return true;
    }
  }
  return false;
}

FolderListing list_classes(const fs::path& folder, const std::vector<ClassFiles>& classes) {
  FolderListing listing;
  for (const ClassFiles& files : classes) listing.classes.push_back(files.name);
  std::sort(listing.classes.begin(), listing.classes.end());
  listing.classes.erase(std::unique(listing.classes.begin(), listing.classes.end()), listing.classes.end());
  std::vector<std::size_t> counts(listing.classes.size());
  std::size_t others = 0;
  std::vector<std::string> patterns;
  for (const ClassFiles& files : classes) patterns.push_back(files.pattern);
  PassedOver passed_over(patterns);
  for (fs::path& path : files_below(folder, has_image_extension, passed_over)) {
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
  std::ranges::move(passed_over.notes(), std::back_inserter(listing.notes));
  return listing;
}

}  // namespace evener::data
