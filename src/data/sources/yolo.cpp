// Images with YOLO's text files: which images a set has, where their boxes are, and what is wrong with them.
#include "data/sources/yolo.h"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "data/each_index.h"
#include "data/image_files.h"
#include "data/sources/boxed_images.h"
#include "data/sources/folder_listing.h"
#include "data/sources/source.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNames = 100'000;

[[noreturn]] void fail_at(const YAML::Mark& mark, const std::string& what) {
  throw Error((mark.is_null() ? "" : "line " + std::to_string(mark.line + 1) + ": ") + what);
}

[[noreturn]] void fail_at(const YAML::Node& node, const std::string& what) {
  fail_at(node.Mark(), what);
}

/// The first document of a file. Aliases stay references, and nothing here follows them farther than to a list of
/// texts, so that none can grow.
YAML::Node load(std::string_view file) {
  if (file.size() > kMaxYoloSetBytes) {
    throw Error("it has " + bytes_text(file.size()) + "; the YAML file of a set has at most " +
                bytes_text(kMaxYoloSetBytes));
  }
  try {
    return YAML::Load(std::string(file));
  } catch (const YAML::DeepRecursion& error) {
    fail_at(error.mark, "it is nested too deeply");
  } catch (const YAML::Exception& error) {
    fail_at(error.mark, "it can't be read as YAML: " + printable(error.msg));
  }
}

/// The last value of a key; absent if the key is missing or has no value. Throws Error where other maps are merged in,
/// which might have it.
std::optional<YAML::Node> value_of(const YAML::Node& map, std::string_view key) {
  std::optional<YAML::Node> value;
  for (const auto& entry : map) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (name == "<<") fail_at(entry.first, "keys that are merged in by \"<<\" are not read: write them out instead");
    if (name == key) value.emplace(entry.second);
  }
  return value && !value->IsNull() ? value : std::nullopt;
}

std::string text_in(const YAML::Node& node, const char* what) {
  if (node.IsNull()) return "";
  if (!node.IsScalar()) fail_at(node, std::string("what stands there is no ") + what + ", but a list or a map");
  return node.Scalar();
}

std::optional<std::size_t> whole_number(const std::string& text) {
  const auto value = to_number<std::size_t>(text);
  return value && *value < kMostNames ? value : std::nullopt;
}

std::vector<std::string> names_of(const YAML::Node& set) {
  const auto found = value_of(set, "names");
  if (!found) throw Error("it has no \"names\" of classes");
  std::vector<std::string> names;
  if (found->IsMap()) {
    for (const auto& entry : *found) {
      const std::string name = text_in(entry.second, "class's name");
      const std::string key = text_in(entry.first, "class's number");
      const std::optional<std::size_t> number = whole_number(key);
      if (!number) {
        fail_at(entry.first, "the class " + quoted_text(name) + " has no number, but " + quoted_text(key));
      }
      if (names.size() <= *number) names.resize(*number + 1);
      names[*number] = name;
    }
  } else if (found->IsSequence()) {
    for (const auto& name : *found) names.push_back(text_in(name, "class's name"));
  } else {
    fail_at(*found, "\"names\" is " + quoted_text(found->Scalar()) + ", not a list of classes");
  }
  if (names.empty()) throw Error("it has no \"names\" of classes");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) continue;
    fail_at(*found,
            fmt::format("class {} has no name, though there are names up to that of class {}", i, names.size() - 1));
  }
  return names;
}

std::vector<std::string> places_of(const YAML::Node& set, const char* key) {
  const auto found = value_of(set, key);
  std::vector<std::string> places;
  if (!found) return places;
  if (!found->IsSequence()) places.push_back(text_in(*found, "place of images"));
  if (found->IsSequence()) {
    for (const auto& place : *found) places.push_back(text_in(place, "place of images"));
  }
  std::erase(places, "");
  return places;
}

std::optional<KeyPoints> key_points_of(const YAML::Node& set) {
  const auto found = value_of(set, "kpt_shape");
  if (!found) return std::nullopt;
  std::vector<std::optional<std::size_t>> numbers;
  for (std::size_t i = 0; found->IsSequence() && i < found->size(); ++i) {
    numbers.push_back(whole_number(text_in((*found)[i], "number")));
  }
  const bool is_shape = numbers.size() == 2 && numbers[0] && numbers[1] && (*numbers[1] == 2 || *numbers[1] == 3);
  if (!is_shape) {
    fail_at(*found, "\"kpt_shape\" is not how many key points a box has, and 2 or 3, as in [17, 3]");
  }
  if (*numbers[0] == 0) return std::nullopt;
  return KeyPoints{*numbers[0], *numbers[1]};
}

/// Names the classes that are counted, but not named, by their numbers.
void complete_names(const YAML::Node& set, YoloSet& read) {
  const auto found = value_of(set, "nc");
  const auto count = found && found->IsScalar() ? whole_number(found->Scalar()) : std::nullopt;
  if (!count || *count <= read.names.size()) return;
  read.notes.push_back("\"nc\" tells of " + counted(*count, "class", "classes") + ", \"names\" of " +
                       std::to_string(read.names.size()) + ": the others are called by number");
  while (read.names.size() < *count) read.names.push_back(std::to_string(read.names.size()));
}

/// Whether a key begins a line, or follows a brace or a comma as JSON's keys do.
bool has_key(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const std::size_t last = text.substr(0, at).find_last_not_of("\"' \t");
    std::string_view after = text.substr(at + key.size());
    after.remove_prefix(std::min(after.find_first_not_of("\"' \t"), after.size()));
    const bool begins = last == std::string_view::npos || text[last] == '\n' || text[last] == '{' || text[last] == ',';
    if (begins && after.starts_with(':')) return true;
  }
  return false;
}

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
  std::vector<std::string> lines = read_list(file, kMaxYoloBytes * 16);
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
    if (found.names.empty() && fs::is_regular_file(list, error)) found.names = read_list(list, kMaxYoloBytes);
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

YoloSet parse_yolo_set(std::string_view file) {
  const YAML::Node root = load(file);
  if (!root.IsMap()) throw Error("it has no keys such as \"names\" and \"train\"");
  YoloSet set;
  set.names = names_of(root);
  if (const auto path = value_of(root, "path")) set.path = text_in(*path, "path");
  set.train = places_of(root, "train");
  set.val = places_of(root, "val");
  if (set.val.empty()) set.val = places_of(root, "valid");
  set.test = places_of(root, "test");
  set.key_points = key_points_of(root);
  complete_names(root, set);
  return set;
}

bool is_yolo_set(std::string_view file) {
  const auto has_all = [](const auto& has) { return has("names") && has("train"); };
  if (!has_all([&](std::string_view key) { return file.find(key) != std::string_view::npos; })) return false;
  try {
    const YAML::Node root = load(file);
    return root.IsMap() && has_all([&](std::string_view key) { return value_of(root, key).has_value(); });
  } catch (const Error&) {
    return has_all([&](std::string_view key) { return has_key(file, key); });
  }
}

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
