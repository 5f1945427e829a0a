#include "data/pictures.h"

#include <utility>

#include "base/error.h"
#include "data/image_files.h"
#include "data/picture_listing.h"

namespace evener::data {

Pictures::Pictures(const std::vector<std::string>& locations) {
  PictureListing listing = list_pictures(locations);
  files_ = std::move(listing.files);
  skipped_ = std::move(listing.skipped);
  notes_ = std::move(listing.notes);
  if (!files_.empty()) return;
  std::string names;
  for (const std::string& location : locations) names += (names.empty() ? "'" : ", '") + location + "'";
  throw Error("no image files (.jpg, .png, .webp, .bmp, .tif, .pgm, ...) in " + names + first_skipped(skipped_));
}

Picture Pictures::read(std::size_t index) const {
  return decode_image_file(read_image_file(files_[index]));
}

}  // namespace evener::data
