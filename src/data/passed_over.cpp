#include "data/passed_over.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <system_error>

#include "base/names.h"
#include "base/plural.h"
#include "data/image_files.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

/// In small letters: the same share shows them in others to other systems.
constexpr std::array<std::string_view, 38> kSystemFolders = {
    // Synology, QNAP, NetApp
    "@eadir", "@tmp", "@sharebin", "@sharesnap", "@synoresource", "@database", "@recycle", "@recently-snapshot",
    "@__thumb", ".@__thumb", "#recycle", "#snapshot", "~snapshot", ".snapshot", ".snapshots", ".recycle",
    // Windows, Android
    "$recycle.bin", "system volume information", "found.000", "lost.dir",
    // macOS, also on others' disks
    "__macosx", ".appledouble", ".trashes", ".spotlight-v100", ".fseventsd", ".temporaryitems", "network trash folder",
    "temporary items",
    // Linux
    "lost+found", ".trash", ".thumbnails", ".thumbs",
    // programs
    ".picasaoriginals", ".ipynb_checkpoints", "__pycache__", ".dtrash", ".stversions", ".sync"};

/// Image files anywhere below a folder that can be counted.
std::size_t images_in(const fs::path& folder) {
  std::size_t images = 0;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (has_image_extension(it->path()) && !is_hidden(it->path()) && !it->is_directory(ignored)) ++images;
  }
  return images;
}

/// Whether the camera has written the same shot in a format that all programs show.
bool has_picture_beside(const fs::path& raw_file) {
  static constexpr const char* kWritten[] = {".JPG", ".jpg", ".HIF", ".hif", ".HEIC", ".heic", ".JPEG", ".jpeg"};
  return std::ranges::any_of(kWritten, [&raw_file](const char* extension) {
    std::error_code ignored;
    return fs::exists(fs::path(raw_file).replace_extension(extension), ignored);
  });
}

}  // namespace

bool is_system_folder(const fs::path& path) {
  const std::string name = lower_case(path.filename().string());
  return std::ranges::find(kSystemFolders, name) != kSystemFolders.end() || name.starts_with(".trash-");
}

bool is_passed_over(const fs::path& path) {
  return is_hidden(path) || is_system_folder(path);
}

PassedOver::PassedOver(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    for (const fs::path& part : fs::path(pattern)) named_.insert(part.string());
    is_raw_asked_for_ = is_raw_asked_for_ || has_raw_extension(pattern);
  }
}

bool PassedOver::is_passed_over(const fs::path& path) {
  if (is_system_folder(path)) {
    if (named_.contains(path.filename().string())) return false;
    system_folders_.insert(path);
    return true;
  }
  if (is_hidden(path)) return true;
  if (is_raw_asked_for_ || !has_raw_extension(path) || !has_picture_beside(path)) return false;
  raw_files_.insert(path);
  return true;
}

bool PassedOver::is_no_class(const fs::path& folder) {
  std::error_code none;
  if (!fs::exists(folder / kNoClassMark, none) || named_.contains(folder.filename().string())) return false;
  no_classes_.insert(folder);
  return true;
}

std::vector<std::string> PassedOver::notes() const {
  struct Found {
    std::size_t folders = 0, images = 0;
  };
  std::map<std::string, Found> by_name;
  for (const fs::path& folder : system_folders_) {
    const std::size_t images = images_in(folder);
    if (images == 0) continue;
    Found& found = by_name[folder.filename().string()];
    ++found.folders;
    found.images += images;
  }
  std::string text;
  for (const auto& [name, found] : by_name) {
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", counted(found.images, "image file"), quoted_text(name));
    if (found.folders > 1) text += fmt::format(" ({} folders)", found.folders);
  }
  std::vector<std::string> notes;
  if (!text.empty()) {
    notes.push_back(
        "passed over: " + text +
        ", where systems keep thumbnails, deleted files and the like; name such a folder itself to read it");
  }
  if (!raw_files_.empty()) {
    notes.push_back(fmt::format("passed over: {}, beside which lies the camera's JPEG or HEIC file of the same shot",
                                counted(raw_files_.size(), "RAW file")));
  }
  for (const fs::path& folder : no_classes_) {
    notes.push_back(
        fmt::format("{} with {} is no class: --sort put there what has none (its file '{}' says so). Move "
                    "what is to be learnt into the folders of its classes",
                    quoted_text(folder.string()), counted(images_in(folder), "image file"), kNoClassMark));
  }
  return notes;
}

std::vector<std::string> passed_over_below(const fs::path& folder) {
  PassedOver passed_over;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (passed_over.is_passed_over(it->path()) && it->is_directory(ignored)) it.disable_recursion_pending();
  }
  return passed_over.notes();
}

}  // namespace evener::data
