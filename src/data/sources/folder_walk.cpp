#include "data/sources/folder_walk.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "data/image_files.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to_list(const fs::path& folder, const std::error_code& error) {
  throw Error("can't list the folder '" + folder.string() + "': " + error.message());
}

/// What a folder is, whatever its names; nothing where it can't be reached.
std::optional<std::pair<dev_t, ino_t>> identity_of(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

/// Calls visit(path) for each file below a folder that is not passed over, nor in such a folder, until one returns
/// false. Each folder is entered once, those behind links after all others, so that circles end; one that `top` itself
/// lies in is none of its contents.
template <class Visit>
void visit_files(const fs::path& top, PassedOver& passed_over, const Visit& visit) {
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
      if (passed_over.is_passed_over(it->path())) continue;
      if (it->is_directory(ignored)) {
        if (passed_over.is_no_class(it->path())) continue;
        (it->is_symlink(ignored) ? links : waiting).push_back(it->path());
      } else if (!visit(it->path())) {
        return;
      }
    }
    if (error) fail_to_list(folder, error);
  }
}

}  // namespace

FolderEntries list_folder(const fs::path& folder, PassedOver& passed_over) {
  FolderEntries entries;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (passed_over.is_passed_over(it->path())) continue;
    std::error_code ignored;  // a dangling link is no folder
    if (it->is_directory(ignored)) {
      if (!passed_over.is_no_class(it->path())) entries.folders.push_back(it->path());
    } else if (has_image_extension(it->path())) {
      entries.images.push_back(it->path());
    }
  }
  if (error) fail_to_list(folder, error);
  std::sort(entries.folders.begin(), entries.folders.end());
  std::sort(entries.images.begin(), entries.images.end());
  return entries;
}

std::vector<fs::path> files_below(const fs::path& folder, const std::function<bool(const fs::path&)>& is_wanted) {
  PassedOver passed_over;
  return files_below(folder, is_wanted, passed_over);
}

std::vector<fs::path> files_below(const fs::path& folder, const std::function<bool(const fs::path&)>& is_wanted,
                                  PassedOver& passed_over) {
  std::vector<fs::path> files;
  visit_files(folder, passed_over, [&](const fs::path& file) {
    if (is_wanted(file)) files.push_back(file);
    return true;
  });
  std::sort(files.begin(), files.end());
  return files;
}

bool has_file_below(const fs::path& folder, const std::function<bool(const fs::path&)>& is_wanted) {
  bool has_file = false;
  PassedOver passed_over;
  visit_files(folder, passed_over, [&](const fs::path& file) {
    has_file = is_wanted(file);
    return !has_file;
  });
  return has_file;
}

}  // namespace evener::data
