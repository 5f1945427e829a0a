#include "job/sort_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace evener::job {

namespace fs = std::filesystem;

std::string folder_name(const std::string& name) {
  std::string folder = name;
  std::ranges::replace_if(
      folder, [](char c) { return c == '/' || (static_cast<unsigned char>(c) < ' '); }, '_');
  return folder.front() == '.' ? "_" + folder : folder;
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

}  // namespace evener::job
