// Lists image files without reading them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "data/passed_over.h"
#include "data/skipped.h"

namespace evener::data {

/// Which videos are listed among pictures.
enum class ListVideos : std::uint8_t {
  kNone,
  kNamed,  // that were named, or fit a pattern, or lie in a folder without pictures; a note tells of others
  kAll
};

struct PictureListing {
  std::vector<std::string> files;
  std::set<std::string> videos;  // those of `files` that are
  std::vector<Skipped> skipped;  // folders that could not be listed
  std::vector<std::string> notes;
  PassedOver passed_over;
};

/// True if a location, which is not the name of a file or folder, is a pattern.
bool has_wildcard(const std::string& location);

/// Lists the image files that `locations` name, location by location, sorted by path within each. A location is
///   a file, whatever its name;
///   a folder: all files below it that have an image's extension, or a video's where `videos` says so, but nothing
///     that is_passed_over() (data/passed_over.h);
///   a pattern with *, ?, [...] or ** (base/glob.h): those of such files whose path fits it.
/// Links are followed. A file with two names, by links or because it was given twice, is listed once: by its first
/// location, and there by the name that is no link, if there is one. So links that form a loop do no harm. Throws Error
/// for a file or folder that does not exist and for a pattern that no file fits; Interrupted after a stop request.
PictureListing list_pictures(const std::vector<std::string>& locations, ListVideos videos = ListVideos::kNone);

}  // namespace evener::data
