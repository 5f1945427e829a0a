#include "data/open/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "data/image_files.h"
#include "data/picture_listing.h"
#include "data/sources/foreign_files.h"

namespace evener::data {

Pictures::Pictures(const std::vector<std::string>& locations) {
  PictureListing listing = list_pictures(locations);
  files_ = std::move(listing.files);
  skipped_ = std::move(listing.skipped);
  notes_ = std::move(listing.notes);
  passed_over_ = std::move(listing.passed_over);
  if (!files_.empty()) return;
  std::string names;
  for (const std::string& location : locations) names += (names.empty() ? "'" : ", '") + location + "'";
  for (const std::string& location : locations) {
    const std::string hint = foreign_files_hint(location);
    if (!hint.empty()) throw Error("no image files in " + names + ", but " + hint);
  }
  std::string passed_over;
  for (const std::string& note : notes()) passed_over += "; " + note;
  throw Error("no image files (.jpg, .png, .webp, .bmp, .tif, .pgm, ...) in " + names + passed_over +
              first_skipped(skipped_));
}

std::vector<std::string> Pictures::notes() const {
  std::vector<std::string> all = passed_over_.notes();
  all.insert(all.end(), notes_.begin(), notes_.end());
  return all;
}

void Pictures::require_readable() const {
  constexpr std::size_t kMostTried = 64;
  std::string first_reason;
  const std::size_t tried = std::min(files_.size(), kMostTried);
  for (std::size_t i = 0; i < tried; ++i) {
    try {
      read(i);
      return;
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      if (first_reason.empty()) first_reason = error.what();
    }
  }
  if (tried < files_.size()) return;
  throw Error(fmt::format("no image can be read: of {} none is whole; '{}': {}", counted(tried, "file"),
                          printable(files_.front()), first_reason));
}

Picture Pictures::read(std::size_t index) const {
  return decode_image_file(read_image_file(files_[index]));
}

}  // namespace evener::data
