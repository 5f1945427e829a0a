#include "data/sources/joined_listing.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/plural.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

bool is_divided(const FolderListing& listing) {
  return std::ranges::any_of(listing.images, [](const auto& image) { return image.part != Part::kUndivided; });
}

/// Classes that only one of the folders has may be spelt otherwise in another.
void note_own_classes(const std::vector<FolderListing>& listings, const std::vector<fs::path>& folders,
                      std::vector<std::string>& notes) {
  for (std::size_t i = 0; i < listings.size(); ++i) {
    std::string names;
    for (const std::string& name : listings[i].classes) {
      const auto has_name = [&name](const FolderListing& listing) {
        return std::ranges::find(listing.classes, name) != listing.classes.end();
      };
      if (std::ranges::count_if(listings, has_name) == 1) names += (names.empty() ? "'" : ", '") + name + "'";
    }
    if (!names.empty()) notes.push_back("only '" + folders[i].string() + "' has images of " + names);
  }
}

}  // namespace

FolderListing list_folders(const std::vector<fs::path>& folders, const std::vector<ClassFiles>& classes) {
  std::vector<FolderListing> listings;
  for (const fs::path& folder : folders) {
    listings.push_back(classes.empty() ? list_image_folder(folder) : list_classes(folder, classes));
  }
  if (listings.size() == 1) return std::move(listings.front());
  FolderListing joined;
  std::set<std::string> names;
  for (const FolderListing& listing : listings) names.insert(listing.classes.begin(), listing.classes.end());
  joined.classes.assign(names.begin(), names.end());
  const bool has_parts = std::ranges::any_of(listings, is_divided);
  note_own_classes(listings, folders, joined.notes);
  for (std::size_t i = listings.size(); i-- > 0;) {
    FolderListing& listing = listings[i];
    const bool is_for_training = has_parts && !is_divided(listing);
    for (ListedImage& image : listing.images) {
      const auto place =
          std::ranges::lower_bound(joined.classes, listing.classes[static_cast<std::size_t>(image.label)]);
      image.label = static_cast<std::int32_t>(place - joined.classes.begin());
      if (is_for_training) image.part = Part::kTrain;
      joined.images.push_back(std::move(image));
    }
    std::ranges::move(listing.notes, std::back_inserter(joined.notes));
    if (!is_for_training) continue;
    joined.notes.push_back("'" + folders[i].string() + "' has no parts of its own, as other data has here: its " +
                           counted(listing.images.size(), "image") +
                           (listing.images.size() == 1 ? " is for training" : " are for training"));
  }
  return joined;
}

}  // namespace evener::data
