// Images with YOLO's text files: which images a set has, where their boxes are, and what is wrong with them.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "data/each_index.h"
#include "data/image_files.h"
#include "data/sources/boxed_images.h"
#include "data/sources/folder_listing.h"
#include "data/sources/source.h"
#include "data/sources/yolo_set.h"
#include "data/sources/yolo_text.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

/// The YAML file of a folder that names classes; nothing if there is none.
std::optional<fs::path> set_file(const fs::path& folder) {
  const auto is_yaml = [](const fs::path& path) { return has_extension(path, {".yaml", ".yml"}); };
  for (const fs::path& file : entries_in(folder, is_yaml)) {
    std::string bytes;
    try {
      bytes = read_file(file, kMaxYoloSetBytes);
    } catch (const Error&) {
      continue;  // something else that lies in a folder of images
    }
    try {
      if (is_yolo_set(text_without_byte_order_mark(std::move(bytes)))) return file;
    } catch (const Error&) {
      return file;  // in an encoding that opening it then tells
    }
  }
  return std::nullopt;
}

struct YoloImages {
  std::vector<std::string> names;  // of classes; empty: they are not known
  std::vector<AnnotatedImage> images;
  std::optional<KeyPoints> key_points;
  std::vector<std::string> notes;
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
    set = parse_yolo_set(read_annotation(file, kMaxYoloSetBytes));
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    throw Error("'" + file.string() + "' can't be used: " + error.what());
  }
  YoloImages found{std::move(set.names), {}, set.key_points, std::move(set.notes)};
  std::error_code error;
  fs::path root = file.parent_path() / set.path;
  // A path of another machine: the file then lies in the folder that is meant.
  if (!fs::is_directory(root, error)) root = file.parent_path();
  for (const auto& [places, part] :
       {std::pair(&set.train, Part::kTrain), std::pair(&set.val, Part::kVal), std::pair(&set.test, Part::kTest)}) {
    for (const std::string& place : *places) {
      std::optional<std::vector<fs::path>> images = images_at(place, root, found.notes);
      const std::string what =
          "the images '" + printable(place) + "' that '" + file.string() + "' names are not in '" + root.string() + "'";
      if (!images && part != Part::kTest) throw Error(what);
      if (!images) found.notes.push_back(what + ": the test part goes without them");
      if (images) add_images(std::move(*images), part, found);
    }
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
    if (found.names.empty() && fs::is_regular_file(list, error)) found.names = lines_of(list, kMaxYoloBytes);
  }
  const fs::path images = images_with_labels(folder).value_or(folder / "images");
  add_images(files_below(images, has_image_extension), Part::kUndivided, found);
  for (AnnotatedImage& image : found.images) image.part = part_of_image(image.image, images);
  return found;
}

struct ReadLabels {
  std::string refusal;
  bool is_missing = false;
};

/// What reading each image's file came to; its lines go into `labels`.
std::vector<ReadLabels> read_all(const std::vector<AnnotatedImage>& images, int threads,
                                 std::vector<YoloLabels>& labels) {
  std::vector<ReadLabels> read(images.size());
  labels.resize(images.size());
  for_each_index(images.size(), threads, [&](std::size_t i) {
    std::error_code error;
    read[i].is_missing = fs::status(images[i].annotation, error).type() == fs::file_type::not_found;
    if (read[i].is_missing) return;
    read[i].refusal = failure_of(
        [&] { labels[i] = parse_yolo_labels(read_annotation(images[i].annotation, kMaxYoloBytes)); }, "read it");
  });
  return read;
}

/// Adds the boxes that the lines of an image's file tell of; `names` grow where they aren't known.
void add_boxes(const YoloLabels& labels, const LongLines& long_lines, bool are_named, std::vector<std::string>& names,
               AnnotatedImage& image, std::vector<Skipped>& skipped) {
  const auto leave_out = [&](const std::string& why) {
    skipped.push_back({image.annotation, why + "; the box is left out"});
  };
  for (const std::string& problem : labels.problems) leave_out(problem);
  for (const YoloLine& line : labels.lines) {
    const YoloCorners box = long_lines.box_of(line);
    std::string refusal = long_lines.refusal(line);
    if (refusal.empty()) refusal = corners_refusal(box.x1, box.y1, box.x2, box.y2);
    if (!refusal.empty()) {
      leave_out("line " + std::to_string(line.number) + " " + refusal);
      continue;
    }
    const auto index = static_cast<std::size_t>(line.class_index);
    if (are_named && index >= names.size()) {
      leave_out("a box of class " + std::to_string(index) + ", of which the " + counted(names.size(), "name") +
                " from 0 on tell nothing");
      continue;
    }
    while (names.size() <= index) names.push_back(std::to_string(names.size()));
    image.boxes.push_back({static_cast<float>(box.x1), static_cast<float>(box.y1), static_cast<float>(box.x2),
                           static_cast<float>(box.y2), line.class_index});
  }
}

AnnotatedListing listing_of(YoloImages found, int threads) {
  AnnotatedListing listing;
  listing.kind = "YOLO annotations";
  listing.notes = std::move(found.notes);
  std::vector<YoloLabels> labels;
  const std::vector<ReadLabels> read = read_all(found.images, threads, labels);
  const LongLines long_lines(labels, found.key_points);
  if (!long_lines.note().empty()) listing.notes.push_back(long_lines.note());
  const bool are_named = !found.names.empty();
  std::size_t without = 0;
  for (std::size_t i = 0; i < read.size(); ++i) {
    AnnotatedImage& image = found.images[i];
    if (!read[i].refusal.empty()) {
      listing.skipped.push_back({image.annotation, read[i].refusal});
      continue;
    }
    without += read[i].is_missing;
    add_boxes(labels[i], long_lines, are_named, found.names, image, listing.skipped);
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
  return set_file(folder).has_value() || images_with_labels(folder).has_value();
}

Source open_yolo(const fs::path& location, const DataOptions& options) {
  const std::optional<fs::path> file = fs::is_directory(location) ? set_file(location) : location;
  AnnotatedListing listing = listing_of(file ? images_of_set(*file) : images_of_folder(location), options.threads);
  unify_parts(listing);
  return open_boxed_images(std::move(listing), location, options);
}

}  // namespace evener::data
