// Images with YOLO's text files: which images a set has, where their boxes are, and what is wrong with them.
#include <algorithm>
#include <new>
#include <optional>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "data/each_index.h"
#include "data/image_files.h"
#include "data/sources/boxed_images.h"
#include "data/sources/folder_listing.h"
#include "data/sources/source.h"
#include "data/sources/yolo_text.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

bool has_extension(const fs::path& path, std::initializer_list<const char*> extensions) {
  return std::ranges::find(extensions, path.extension().string()) != extensions.end();
}

/// The YAML file of a folder that names classes; nothing if there is none.
std::optional<fs::path> set_file(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator(); it.increment(error)) {
    if (has_extension(it->path(), {".yaml", ".yml"})) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    std::string text = "\n";
    try {
      text += read_file(file, kMaxYoloBytes);
    } catch (const Error&) {
      continue;  // something else that lies in a folder of images
    }
    if (text.find("\nnames:") != std::string::npos && text.find("\ntrain:") != std::string::npos) return file;
  }
  return std::nullopt;
}

/// Whether a folder has images/ and labels/ with text files.
bool has_labels(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder / "images", error)) return false;
  fs::recursive_directory_iterator it(folder / "labels", error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (has_extension(it->path(), {".txt"})) return true;
  }
  return false;
}

/// The file with the boxes of an image: under labels/ where the image is under images/, else beside it.
fs::path labels_of(const fs::path& image) {
  std::vector<fs::path> parts(image.begin(), image.end());
  const auto folder = std::find(parts.rbegin(), parts.rend(), fs::path("images"));
  if (folder != parts.rend()) *folder = "labels";
  fs::path labels;
  for (const fs::path& part : parts) labels /= part;
  return labels.replace_extension(".txt");
}

/// Lines of a file that lists images, relative to `root` or to the file.
std::vector<fs::path> listed_images(const fs::path& file, const fs::path& root) {
  std::istringstream lines(read_file(file, kMaxYoloBytes * 16));
  std::vector<fs::path> images;
  for (std::string line; std::getline(lines, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty()) continue;
    images.push_back((line.starts_with("./") ? file.parent_path() : root) / line);
  }
  return images;
}

/// The images that a place of the set's YAML names.
std::vector<fs::path> images_at(const std::string& place, const fs::path& root) {
  // Exports of Roboflow write "../train/images" beside the folder that is meant.
  for (const fs::path& path : {root / place, root / (place.starts_with("../") ? place.substr(3) : place)}) {
    std::error_code error;
    if (fs::is_directory(path, error)) return files_below(path.lexically_normal(), has_image_extension);
    if (fs::is_regular_file(path, error)) return listed_images(path, root);
  }
  throw Error("the images '" + printable(place) + "' that the set names are not in '" + root.string() + "'");
}

struct YoloImages {
  std::vector<std::string> names;  // of classes; empty: they are not known
  std::vector<AnnotatedImage> images;
};

void add_images(std::vector<fs::path> paths, Part part, YoloImages& found) {
  for (fs::path& path : paths) {
    const std::string labels = labels_of(path).string();
    found.images.push_back({std::move(path), labels, part, 0, 0, {}, true});
  }
}

YoloImages images_of_set(const fs::path& file) {
  YoloSet set;
  try {
    set = parse_yolo_set(read_file(file, kMaxYoloBytes));
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    throw Error("'" + file.string() + "' can't be used: " + error.what());
  }
  YoloImages found{std::move(set.names), {}};
  std::error_code error;
  fs::path root = file.parent_path() / set.path;
  // A path of another machine: the file then lies in the folder that is meant.
  if (!fs::is_directory(root, error)) root = file.parent_path();
  for (const auto& [places, part] :
       {std::pair(&set.train, Part::kTrain), std::pair(&set.val, Part::kVal), std::pair(&set.test, Part::kTest)}) {
    for (const std::string& place : *places) add_images(images_at(place, root), part, found);
  }
  return found;
}

/// The part that the first folder below images/ stands for.
Part part_of_image(const fs::path& image, const fs::path& root) {
  const fs::path relative = image.lexically_relative(root);
  return part_named(relative.begin()->string()).value_or(Part::kUndivided);
}

YoloImages images_of_folder(const fs::path& folder) {
  YoloImages found;
  for (const fs::path& list : {folder / "classes.txt", folder / "labels" / "classes.txt"}) {
    std::error_code error;
    if (!found.names.empty() || !fs::is_regular_file(list, error)) continue;
    std::istringstream lines(read_file(list, kMaxYoloBytes));
    for (std::string line; std::getline(lines, line);) {
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
      if (!line.empty()) found.names.push_back(line);
    }
  }
  add_images(files_below(folder / "images", has_image_extension), Part::kUndivided, found);
  for (AnnotatedImage& image : found.images) image.part = part_of_image(image.image, folder / "images");
  return found;
}

struct ReadLabels {
  YoloLabels labels;
  std::string refusal;
  bool is_missing = false;
};

std::vector<ReadLabels> read_all(const std::vector<AnnotatedImage>& images, int threads) {
  std::vector<ReadLabels> read(images.size());
  for_each_index(images.size(), threads, [&](std::size_t i) {
    std::error_code error;
    read[i].is_missing = fs::status(images[i].annotation, error).type() == fs::file_type::not_found;
    if (read[i].is_missing) return;
    try {
      read[i].labels = parse_yolo_labels(read_file(images[i].annotation, kMaxYoloBytes));
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& failure) {
      read[i].refusal = failure.what();
    } catch (const std::bad_alloc&) {
      read[i].refusal = "not enough memory to read it";
    }
  });
  return read;
}

AnnotatedListing listing_of(YoloImages found, int threads) {
  AnnotatedListing listing;
  listing.kind = "YOLO annotations";
  const std::vector<ReadLabels> read = read_all(found.images, threads);
  const bool are_named = !found.names.empty();
  std::size_t without = 0;
  for (std::size_t i = 0; i < read.size(); ++i) {
    AnnotatedImage& image = found.images[i];
    if (!read[i].refusal.empty()) {
      listing.skipped.push_back({image.annotation, read[i].refusal});
      continue;
    }
    without += read[i].is_missing;
    for (const std::string& problem : read[i].labels.problems) {
      listing.skipped.push_back({image.annotation, problem + "; the box is left out"});
    }
    for (const YoloBox& box : read[i].labels.boxes) {
      const auto index = static_cast<std::size_t>(box.class_index);
      if (are_named && index >= found.names.size()) {
        listing.skipped.push_back({image.annotation, "a box of class " + std::to_string(index) + ", of which the " +
                                                         counted(found.names.size(), "name") +
                                                         " from 0 on tell nothing; the box is left out"});
        continue;
      }
      while (!are_named && found.names.size() <= index) found.names.push_back(std::to_string(found.names.size()));
      image.boxes.push_back({static_cast<float>(box.x1), static_cast<float>(box.y1), static_cast<float>(box.x2),
                             static_cast<float>(box.y2), box.class_index});
    }
    listing.images.push_back(std::move(image));
  }
  if (!are_named)
    listing.notes.push_back("nothing names the classes (data.yaml, classes.txt): they are called by number");
  if (without > 0) {
    listing.notes.push_back(counted(without, "image") + " without a text file: taken as images without a box");
  }
  listing.classes = std::move(found.names);
  return listing;
}

}  // namespace

bool is_yolo_folder(const fs::path& folder) {
  return set_file(folder).has_value() || has_labels(folder);
}

Source open_yolo(const fs::path& location, const DataOptions& options) {
  const std::optional<fs::path> file = fs::is_directory(location) ? set_file(location) : location;
  AnnotatedListing listing = listing_of(file ? images_of_set(*file) : images_of_folder(location), options.threads);
  unify_parts(listing);
  return open_boxed_images(std::move(listing), location, options);
}

}  // namespace evener::data
