#include "job/infer/sort.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/numbers.h"
#include "data/passed_over.h"
#include "job/sort_folder.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

fs::path whole_path(const fs::path& file) {
  return fs::absolute(file).lexically_normal();
}

/// The target of a link in the sorted folder, or the file itself, to be compared with photos.
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

/// Whether `file` is a copy of `photo` that ended early: a full disk, or somebody who ended the program.
bool is_cut_copy(const fs::path& file, const fs::path& photo) {
  std::error_code error;
  const auto bytes = fs::file_size(file, error);
  if (error || bytes >= fs::file_size(photo, error) || error) return false;
  return read_file(photo).starts_with(read_file(file));
}

/// "a.jpg" of a copy "a-2.jpg", which a second photo of that name may be; "" = it isn't called so.
std::string numberless(const fs::path& file) {
  const std::string stem = file.stem().string();
  const std::size_t digits = stem.find_last_not_of("0123456789") + 1;
  if (digits < 2 || digits == stem.size() || stem[digits - 1] != '-') return "";
  return stem.substr(0, digits - 1) + file.extension().string();
}

/// A half copy, unless the process that makes it lives.
void remove_if_left(const fs::path& temporary) {
  const std::string name = temporary.filename().string();
  const auto process = to_number<pid_t>(std::string_view(name).substr(name.find_last_not_of("0123456789") + 1));
  std::error_code ignored;
  if (process && ::kill(*process, 0) != 0 && errno == ESRCH) fs::remove(temporary, ignored);
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
      if (is_temporary_name(file.path())) {
        remove_if_left(file.path());
        continue;
      }
      files_.emplace(target_of(file).filename().string(), file.path());
      if (const std::string name = numberless(file.path()); !file.is_symlink() && !name.empty()) {
        files_.emplace(name, file.path());
      }
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

std::optional<fs::path> PhotoSorter::cut_copy_of(const fs::path& photo) const {
  const auto [first, last] = files_.equal_range(photo.filename().string());
  const auto found = std::find_if(first, last, [&](const auto& entry) {
    return !fs::is_symlink(entry.second) && is_cut_copy(entry.second, photo);
  });
  return found == last ? std::nullopt : std::optional(found->second);
}

void PhotoSorter::add(const fs::path& photo, const std::string& folder) {
  const fs::path whole = whole_path(photo);
  try {
    if (is_there(whole)) {
      ++there_;
      return;
    }
    if (const std::optional<fs::path> cut = cut_copy_of(whole)) {
      copy_file_atomically(whole, *cut);
      ++added_[cut->parent_path().filename().string()];
      return;
    }
    const fs::path place = out_ / folder_name(folder);
    fs::create_directories(place);
    const auto is_taken = [&](const std::string& name) { return fs::exists(fs::symlink_status(place / name)); };
    const fs::path file = place / free_name(whole, is_taken);
    if (by_ == SortBy::kLink) {
      fs::create_symlink(whole, file);
    } else {
      copy_file_atomically(whole, file);
    }
    files_.emplace(whole.filename().string(), file);
    ++added_[folder];
  } catch (const fs::filesystem_error& error) {
    throw Error(fmt::format("can't sort '{}' into '{}': {}", photo.string(), out_.string(), error.code().message()));
  }
}

}  // namespace evener::job
