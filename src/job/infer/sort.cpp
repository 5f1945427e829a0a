#include "job/infer/sort.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "data/passed_over.h"
#include "job/sort_folder.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

fs::path whole_path(const fs::path& file) {
  return fs::absolute(file).lexically_normal();
}

/// What a file in the sorted folder is a link to, or itself: as photos are compared with it.
fs::path target_of(const fs::path& file) {
  std::error_code error;
  const fs::path target = fs::is_symlink(file) ? fs::read_symlink(file, error) : file;
  return (target.is_absolute() ? target : file.parent_path() / target).lexically_normal();
}

bool have_equal_bytes(const fs::path& a, const fs::path& b) {
  std::error_code error;
  const auto bytes = fs::file_size(a, error);
  if (error || bytes != fs::file_size(b, error) || error) return false;
  return read_file(a) == read_file(b);
}

}  // namespace

PhotoSorter::PhotoSorter(fs::path out, SortBy by, const std::vector<std::string>& photos)
    : out_(std::move(out)), by_(by) {
  require_beside_photos(out_, photos);
  const fs::file_status status = fs::status(out_);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) throw UsageError("--sort '" + out_.string() + "' is no folder; name one");
  for (const auto& folder : fs::directory_iterator(out_)) {
    if (folder.is_symlink() || !folder.is_directory() || data::is_system_folder(folder.path())) continue;
    for (const auto& file : fs::directory_iterator(folder)) {
      files_.emplace(target_of(file).filename().string(), file.path());
    }
  }
}

bool PhotoSorter::is_there(const fs::path& photo) const {
  const auto [first, last] = files_.equal_range(photo.filename().string());
  return std::any_of(first, last, [&](const auto& entry) {
    const fs::path& file = entry.second;
    return fs::is_symlink(file) ? target_of(file) == photo : have_equal_bytes(file, photo);
  });
}

void PhotoSorter::add(const fs::path& photo, const std::string& folder) {
  const fs::path whole = whole_path(photo);
  try {
    if (is_there(whole)) {
      ++there_;
      return;
    }
    const fs::path place = out_ / folder_name(folder);
    fs::create_directories(place);
    const auto is_taken = [&](const std::string& name) { return fs::exists(fs::symlink_status(place / name)); };
    const fs::path file = place / free_name(whole, is_taken);
    if (by_ == SortBy::kLink) {
      fs::create_symlink(whole, file);
    } else {
      fs::copy_file(whole, file);
    }
    files_.emplace(whole.filename().string(), file);
    ++added_[folder];
  } catch (const fs::filesystem_error& error) {
    throw Error(fmt::format("can't sort '{}' into '{}': {}", photo.string(), out_.string(), error.code().message()));
  }
}

}  // namespace evener::job
