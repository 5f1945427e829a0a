#include "data/picture_listing.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <compare>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/glob.h"
#include "base/plural.h"
#include "base/stop.h"
#include "data/image_files.h"
#include "data/passed_over.h"
#include "data/video/video_files.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

/// What a file or folder is, whatever its names.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  auto operator<=>(const Identity&) const = default;
};

/// Follows links; nothing where there is nothing at the end, or it can't be reached.
std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

Identity identity_of(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

struct FoundFile {
  bool is_linked = false;  // its name, or a folder's above it, is a link
  bool is_video = false;
  fs::path path;
  std::optional<Identity> identity;  // absent for a link that leads nowhere
};

constexpr std::size_t kAnyDepth = std::numeric_limits<std::size_t>::max();

/// Goes through all folders below one, each of them once. Links to folders are followed after everything else, so that
/// what they lead to has the name that is no link if it lies below the same folder.
class FolderWalk {
 public:
  /// `depth`: how many folders deep files may lie; 0: in `top` itself.
  FolderWalk(const fs::path& top, std::size_t depth, bool with_videos, PassedOver& passed_over)
      : passed_over_(passed_over), with_videos_(with_videos) {
    waiting_.push_back({top, depth, false});
    while (!waiting_.empty() || !links_.empty()) {
      if (waiting_.empty()) {
        // The last one waiting is entered next, so the first by name stands last.
        std::sort(links_.begin(), links_.end(), [](const auto& a, const auto& b) { return b.path < a.path; });
        waiting_.swap(links_);
      }
      const Folder folder = std::move(waiting_.back());
      waiting_.pop_back();
      enter(folder);
    }
  }

  std::vector<FoundFile> files;
  std::vector<Skipped> skipped;

 private:
  struct Folder {
    fs::path path;
    std::size_t depth = 0;
    bool is_linked = false;
  };

  void enter(const Folder& folder) {
    if (stop_requested()) throw Interrupted("stopped while looking for images");
    const auto status = status_of(folder.path);
    if (!status) {
      skipped.push_back({folder.path.string(), std::string("can't be listed: ") + std::strerror(errno)});
      return;
    }
    if (!visited_.insert(identity_of(*status)).second) return;
    std::error_code error;
    fs::directory_iterator it(folder.path, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      if (!passed_over_.is_passed_over(it->path())) take(*it, folder);
    }
    if (error) skipped.push_back({folder.path.string(), "can't be listed: " + error.message()});
  }

  void take(const fs::directory_entry& entry, const Folder& folder) {
    std::error_code ignored;  // what can't be reached is no folder
    const bool is_link = entry.is_symlink(ignored);
    const bool is_linked = folder.is_linked || is_link;
    if (entry.is_directory(ignored)) {
      if (folder.depth > 0) (is_link ? links_ : waiting_).push_back({entry.path(), folder.depth - 1, is_linked});
      return;
    }
    const bool is_video = with_videos_ && has_video_extension(entry.path());
    if (!is_video && !has_image_extension(entry.path())) return;
    const auto status = status_of(entry.path());
    files.push_back({is_linked, is_video, entry.path(), status ? std::optional(identity_of(*status)) : std::nullopt});
  }

  PassedOver& passed_over_;
  const bool with_videos_;
  std::vector<Folder> waiting_, links_;
  std::set<Identity> visited_;
};

/// A pattern's folder, up to its first part with a wildcard, and the rest.
struct Pattern {
  fs::path folder;
  std::string rest;
};

Pattern parse_pattern(const std::string& text) {
  Pattern pattern;
  for (const fs::path& part : fs::path(text)) {
    if (pattern.rest.empty() && !has_wildcard(part.string())) {
      pattern.folder /= part;
    } else {
      pattern.rest += (pattern.rest.empty() ? "" : "/") + part.string();
    }
  }
  return pattern;
}

/// The files that fit a pattern. Throws Error if there is none.
FolderWalk walk_pattern(const std::string& text, bool with_videos, PassedOver& passed_over) {
  const Pattern pattern = parse_pattern(text);
  const fs::path top = pattern.folder.empty() ? "." : pattern.folder;
  const bool is_deep = pattern.rest.find("**") != std::string::npos;
  const auto depth = static_cast<std::size_t>(std::count(pattern.rest.begin(), pattern.rest.end(), '/'));
  FolderWalk walk(top, is_deep ? kAnyDepth : depth, with_videos, passed_over);
  std::erase_if(walk.files, [&](const FoundFile& file) {
    return !glob_matches(pattern.rest, file.path.lexically_relative(top).generic_string());
  });
  if (walk.files.empty()) {
    throw Error("no image files fit the pattern '" + text + "'" + first_skipped(walk.skipped));
  }
  if (pattern.folder.empty()) {  // "*.jpg" is to give "a.jpg", not "./a.jpg"
    for (FoundFile& file : walk.files) file.path = file.path.lexically_relative(top);
  }
  return walk;
}

/// Adds files in the order of their paths, but none that is known already by another name. Returns how many those were.
std::size_t add_new(std::vector<FoundFile> files, std::set<Identity>& known, PictureListing& listing) {
  const std::size_t count = files.size();
  std::sort(files.begin(), files.end(), [](const FoundFile& a, const FoundFile& b) {
    return std::tie(a.is_linked, a.path) < std::tie(b.is_linked, b.path);
  });
  std::erase_if(files, [&](const FoundFile& file) { return file.identity && !known.insert(*file.identity).second; });
  std::sort(files.begin(), files.end(), [](const FoundFile& a, const FoundFile& b) { return a.path < b.path; });
  for (const FoundFile& file : files) {
    listing.files.push_back(file.path.string());
    if (file.is_video) listing.videos.insert(file.path.string());
  }
  return count - files.size();
}

/// Telephones put a short video beside each photo, and a video has as many frames as a folder has photos: of a folder
/// with pictures they are taken only where the user spoke of videos.
void leave_videos(std::vector<FoundFile>& files, const std::string& folder, std::vector<std::string>& notes) {
  const auto videos = static_cast<std::size_t>(std::ranges::count_if(files, &FoundFile::is_video));
  if (videos == 0 || videos == files.size()) return;
  std::erase_if(files, [](const FoundFile& file) { return file.is_video; });
  notes.push_back("passed over: " + counted(videos, "video") + " beside the pictures in '" + folder +
                  "'; name them, or give --every 1s (a frame of each second) or --frames N, to look at them too");
}

}  // namespace

bool has_wildcard(const std::string& location) {
  return location.find_first_of("*?[") != std::string::npos;
}

PictureListing list_pictures(const std::vector<std::string>& locations, ListVideos videos) {
  const bool with_videos = videos != ListVideos::kNone;
  PictureListing listing;
  listing.passed_over = PassedOver(locations);
  std::set<Identity> known;
  std::size_t doubled = 0;
  for (const std::string& location : locations) {
    const auto status = status_of(location);
    std::vector<FoundFile> files;
    if (status && !S_ISDIR(status->st_mode)) {
      files.push_back({false, with_videos && is_video_file(location), location, identity_of(*status)});
    } else {
      if (!status && !has_wildcard(location)) {
        throw Error("no such file or folder: '" + location + "' (" + std::strerror(errno) + ")");
      }
      FolderWalk walk = status ? FolderWalk(location, kAnyDepth, with_videos, listing.passed_over)
                               : walk_pattern(location, with_videos, listing.passed_over);
      files = std::move(walk.files);
      if (status && videos == ListVideos::kNamed) leave_videos(files, location, listing.notes);
      listing.skipped.insert(listing.skipped.end(), walk.skipped.begin(), walk.skipped.end());
    }
    doubled += add_new(std::move(files), known, listing);
  }
  if (doubled > 0) {
    listing.notes.push_back(std::to_string(doubled) +
                            " more names lead to files that are listed already; each is read once");
  }
  return listing;
}

}  // namespace evener::data
