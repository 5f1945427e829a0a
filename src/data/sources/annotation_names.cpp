#include "data/sources/annotation_names.h"

#include <algorithm>
#include <utility>

namespace evener::data {

namespace fs = std::filesystem;

std::optional<fs::path> NamedImages::find(const std::string& name) {
  const fs::path path = name;
  if (name.empty() || path.is_absolute() || std::ranges::find(path, fs::path("..")) != path.end()) return std::nullopt;
  for (fs::path& folder : folders_) {
    std::error_code error;
    if (!fs::is_regular_file(folder / path, error)) continue;
    std::swap(folders_.front(), folder);  // the others are probably there too
    return folders_.front() / path;
  }
  return std::nullopt;
}

void ClassNames::finish(AnnotatedListing& listing) const {
  std::vector<std::int32_t> renumbered(numbers_.size());
  for (const auto& [name, number] : numbers_) {
    renumbered[static_cast<std::size_t>(number)] = static_cast<std::int32_t>(listing.classes.size());
    listing.classes.push_back(name);
  }
  for (AnnotatedImage& image : listing.images) {
    for (LabelledBox& box : image.boxes) box.label = renumbered[static_cast<std::size_t>(box.label)];
  }
}

}  // namespace evener::data
