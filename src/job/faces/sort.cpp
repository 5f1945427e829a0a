#include "job/faces/sort.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "data/passed_over.h"
#include "job/sort_folder.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

/// Marks a folder as made by sort_photos(), so that a folder of the user's own links isn't taken for one and cleared.
constexpr const char* kSortMark = ".evener-faces";
constexpr const char* kUnknown = "unknown";

[[noreturn]] void refuse(const fs::path& out, const fs::path& what) {
  throw UsageError(
      fmt::format("--sort '{}' holds '{}', which is no link that --sort made: it sorts into a folder that is new or "
                  "empty, or that it "
                  "has sorted into before. Give it another one, or move that away",
                  out.string(), what.lexically_relative(out).string()));
}

/// What may lie among the links: a server's thumbnails, and our own mark.
bool is_harmless(const fs::path& path) {
  return data::is_system_folder(path) || path.filename() == data::kNoClassMark;
}

/// Throws UsageError where there is anything that sort_photos() hasn't made.
void check_content(const fs::path& out) {
  const fs::file_status status = fs::status(out);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) throw UsageError("--sort '" + out.string() + "' is no folder; name one");
  const bool is_ours = fs::exists(out / kSortMark);
  for (const auto& entry : fs::directory_iterator(out)) {
    if (entry.path().filename() == kSortMark || data::is_system_folder(entry.path())) continue;
    if (!is_ours || entry.is_symlink() || !entry.is_directory()) refuse(out, entry.path());
    for (const auto& link : fs::directory_iterator(entry)) {
      if (!link.is_symlink() && !is_harmless(link.path())) refuse(out, link.path());
    }
  }
}

/// Links that are to be: of each folder, by their names.
using Links = std::map<std::string, std::map<std::string, fs::path>>;

Links links_of(const std::vector<SortedPhoto>& photos) {
  Links links;
  for (const SortedPhoto& photo : photos) {
    const fs::path target = fs::absolute(photo.file).lexically_normal();
    const std::set<std::string> unknown = {kUnknown};
    for (const std::string& person : photo.persons.empty() ? unknown : photo.persons) {
      auto& folder = links[person];
      folder.emplace(free_name(target, [&](const std::string& name) { return folder.contains(name); }), target);
    }
  }
  return links;
}

void remove_wrong_links(const fs::path& out, const Links& links) {
  std::vector<fs::path> wrong;
  for (const auto& folder : fs::directory_iterator(out)) {
    if (!folder.is_directory() || data::is_system_folder(folder.path())) continue;
    const auto wanted = links.find(folder.path().filename().string());
    for (const auto& link : fs::directory_iterator(folder)) {
      const auto stays = [&](const std::map<std::string, fs::path>& names) {
        const auto found = names.find(link.path().filename().string());
        return found != names.end() && found->second == fs::read_symlink(link.path());
      };
      if (is_harmless(link.path())) continue;
      if (wanted == links.end() || !stays(wanted->second)) wrong.push_back(link.path());
    }
    if (wanted != links.end()) continue;
    wrong.push_back(folder.path() / data::kNoClassMark);
    wrong.push_back(folder.path());  // after all that is in it
  }
  for (const fs::path& path : wrong) {
    std::error_code error;
    fs::remove(path, error);
    if (error && error != std::errc::directory_not_empty) throw fs::filesystem_error("", path, error);
  }
}

}  // namespace

std::string person_folder(int person, const std::string& name) {
  return name.empty() ? fmt::format("person-{}", person + 1) : folder_name(name);
}

void check_sort_folder(const fs::path& out, const std::vector<std::string>& photos) {
  require_beside_photos(out, photos);
  check_content(out);
  require_writable_place(out);
}

std::size_t sort_photos(const fs::path& out, const std::vector<SortedPhoto>& photos) {
  check_content(out);
  try {
    fs::create_directories(out);
    write_file_atomically(out / kSortMark,
                          "evener faces --sort keeps this folder: it has nothing but links to photos.\n");
    const Links links = links_of(photos);
    remove_wrong_links(out, links);
    std::size_t count = 0;
    for (const auto& [folder, names] : links) {
      fs::create_directories(out / folder);
      for (const auto& [name, target] : names) {
        ++count;
        if (!fs::is_symlink(out / folder / name)) fs::create_symlink(target, out / folder / name);
      }
      if (folder == kUnknown) mark_as_no_class(out / folder);
    }
    return count;
  } catch (const fs::filesystem_error& error) {
    throw Error(fmt::format("can't sort photos into '{}': '{}': {}", out.string(), error.path1().string(),
                            error.code().message()));
  }
}

}  // namespace evener::job
