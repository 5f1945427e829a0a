// Classes whose files the user names by patterns (--class NAME=GLOB).
#include <algorithm>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/glob.h"
#include "base/plural.h"
#include "data/image_files.h"
#include "data/sources/folder_listing.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

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
