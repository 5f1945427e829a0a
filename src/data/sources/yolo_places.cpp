#include "data/sources/yolo_places.h"

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/names.h"
#include "data/image_files.h"
#include "data/sources/boxed_images.h"
#include "data/sources/folder_listing.h"
#include "data/sources/yolo_text.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

bool is_text(const fs::path& path) {
  return has_extension(path, {".txt"});
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// Whether a text has lines as those with an image's boxes, and no others.
bool has_box_lines(const fs::path& file) {
  try {
    const YoloLabels labels = parse_yolo_labels(read_annotation(file, kMaxYoloBytes));
    return !labels.lines.empty() && labels.problems.empty();
  } catch (const Error&) {
    return false;
  }
}

/// Whether one of the first text files below a folder of images has boxes.
bool has_boxes_beside_images(const fs::path& folder) {
  constexpr int kMostRead = 20;
  int read = 0;
  bool has_boxes = false;
  has_file_below(folder, [&](const fs::path& file) {
    if (!is_text(file)) return false;
    has_boxes = has_box_lines(file);
    return has_boxes || ++read == kMostRead;
  });
  return has_boxes;
}

/// Where below `root` a path of another machine leads: to its longest end of two parts at least that is there.
struct Moved {
  std::size_t dropped = 0;  // how much of the path's front isn't here
  fs::path path;
};
std::optional<Moved> find_moved(std::string told, const fs::path& root) {
  std::ranges::replace(told, '\\', '/');
  for (std::size_t begin = 0; told.find('/', begin + 1) != std::string::npos;) {
    const fs::path path = told.substr(begin);
    if (path.is_relative() && is_there(root / path)) return Moved{begin, root / path};
    begin = told.find('/', begin) + 1;
  }
  return std::nullopt;
}

/// The images that a file lists, relative to `root` or to the file. The first tells whether all have moved.
std::vector<fs::path> listed_images(const fs::path& file, const fs::path& root, std::vector<std::string>& notes) {
  std::vector<std::string> lines = lines_of(file, kMaxYoloBytes * 16);
  std::vector<fs::path> images;
  std::string front;  // of all paths, that isn't here
  bool has_moved = false;
  for (std::string& line : lines) {
    const fs::path path = (line.starts_with("./") ? file.parent_path() : root) / line;
    if (images.empty() && !is_there(path)) {
      if (const std::optional<Moved> moved = find_moved(line, root)) {
        has_moved = true;
        front = line.substr(0, moved->dropped);
        notes.push_back("'" + file.string() + "' lists images by another machine's paths, such as " +
                        quoted_text(line) + ": '" + moved->path.string() + "' is taken for it");
      }
    }
    if (has_moved && line.starts_with(front)) {
      std::ranges::replace(line, '\\', '/');
      images.push_back(root / line.substr(front.size()));
    } else {
      images.push_back(path);
    }
  }
  return images;
}

}  // namespace

fs::path labels_of(const fs::path& image) {
  fs::path beside = image;
  beside.replace_extension(".txt");
  std::vector<fs::path> parts(beside.begin(), beside.end());
  const auto folder = std::find(parts.rbegin(), parts.rend(), fs::path("images"));
  if (folder == parts.rend()) return beside;
  *folder = "labels";
  fs::path labels;
  for (const fs::path& part : parts) labels /= part;
  return is_there(labels) || !is_there(beside) ? labels : beside;
}

std::optional<fs::path> images_with_labels(const fs::path& folder) {
  std::error_code error;
  const fs::path images = folder / "images", labels = folder / "labels";
  if (fs::is_directory(images, error)) {
    const bool has_labels = fs::is_directory(labels, error) && has_file_below(labels, is_text);
    return has_labels || has_boxes_beside_images(images) ? std::optional(images) : std::nullopt;
  }
  const bool has_classes = fs::is_regular_file(folder / "classes.txt", error);
  return has_classes && has_boxes_beside_images(folder) ? std::optional(folder) : std::nullopt;
}

std::optional<std::vector<fs::path>> images_at(const std::string& place, const fs::path& root,
                                               std::vector<std::string>& notes) {
  const auto images_of = [&](const fs::path& path) -> std::optional<std::vector<fs::path>> {
    std::error_code error;
    if (fs::is_directory(path, error)) return files_below(path.lexically_normal(), has_image_extension);
    if (fs::is_regular_file(path, error)) return listed_images(path, root, notes);
    return std::nullopt;
  };
  // Exports of Roboflow write "../train/images" beside the folder that is meant.
  for (const fs::path& path : {root / place, root / (place.starts_with("../") ? place.substr(3) : place)}) {
    if (auto images = images_of(path)) return images;
  }
  const std::optional<Moved> moved = find_moved(place, root);
  if (!moved) return std::nullopt;
  notes.push_back("the set names " + quoted_text(place) + ", which isn't there: '" + moved->path.string() +
                  "' is taken for it");
  return images_of(moved->path);
}

std::vector<std::string> lines_of(const fs::path& file, std::uint64_t most_bytes) {
  std::istringstream text(read_annotation(file, most_bytes));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (const std::string_view words = trimmed(line); !words.empty()) lines.emplace_back(words);
  }
  return lines;
}

}  // namespace evener::data
