#include "data/sort_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "data/passed_over.h"

namespace evener::data {

namespace fs = std::filesystem;

std::string folder_name(const std::string& name) {
  std::string folder = name;
  std::ranges::replace_if(
      folder, [](char c) { return c == '/' || (static_cast<unsigned char>(c) < ' '); }, '_');
  return folder.front() == '.' ? "_" + folder : folder;
}

std::map<std::string, std::string> folders_of(const std::vector<std::string>& names) {
  std::map<std::string, std::string> folders;
  std::set<std::string> taken;
  for (const bool takes_changed : {false, true}) {
    for (const std::string& name : names) {
      if (name.empty() || folders.contains(name) || (folder_name(name) != name) != takes_changed) continue;
      std::string folder = folder_name(name);
      for (int n = 2; !taken.insert(folder).second; ++n) folder = folder_name(name) + "-" + std::to_string(n);
      folders.emplace(name, folder);
    }
  }
  return folders;
}

void require_beside_photos(const fs::path& out, const std::vector<std::string>& photos) {
  const fs::path canonical = fs::weakly_canonical(out);
  for (const std::string& location : photos) {
    if (!fs::is_directory(location)) continue;
    const fs::path folder = fs::canonical(location);
    if (std::ranges::mismatch(folder, canonical).in1 != folder.end()) continue;
    throw UsageError(
        fmt::format("--sort '{}' lies within the photos of '{}', so that what it puts there would be taken for photos "
                    "the next time; name a folder beside them",
                    out.string(), location));
  }
}

void require_writable_place(const std::string& option, const fs::path& out) {
  const fs::path whole = fs::absolute(out).lexically_normal();
  fs::path place = whole;
  std::error_code none;
  while (!fs::exists(fs::symlink_status(place, none)) && place.has_relative_path()) place = place.parent_path();
  if (place == whole && !fs::is_directory(place))
    throw UsageError(option + " '" + out.string() + "' is no folder; name one");
  try {
    require_writable_directory(place);
  } catch (const Error& error) {
    throw Error(fmt::format("{} '{}': {}", option, out.string(), error.what()));
  }
}

void mark_as_no_class(const fs::path& folder) {
  const fs::path mark = folder / data::kNoClassMark;
  std::error_code none;
  if (fs::exists(mark, none)) return;
  write_file_atomically(mark, "The photos in this folder were sorted into no class: evener doesn't learn it as one.\n");
}

}  // namespace evener::data
