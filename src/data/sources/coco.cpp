// Images with COCO's JSON: which files there are, where their images lie, and what is wrong with them.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "data/image_files.h"
#include "data/sources/boxed_images.h"
#include "data/sources/coco_json.h"
#include "data/sources/folder_listing.h"
#include "data/sources/source.h"

namespace evener::data {

namespace {

namespace fs = std::filesystem;

/// A JSON file, its part, and the folder that it describes.
struct CocoPlace {
  fs::path json, root;
  Part part = Part::kUndivided;
};

/// Whether a text that isn't valid JSON is meant as COCO's all the same, such as one with single quotes.
bool has_words_of_coco(const std::string& text) {
  const auto has = [&text](const char* word) { return text.find(word) != std::string::npos; };
  return !trimmed(text).starts_with('[') && has("images") && has("file_name") && (has("bbox") || has("category_id"));
}

/// Whether a file looks like COCO's by its beginning and its end: large ones are not read whole for that. What is
/// damaged looks so too, so that opening it tells what is wrong.
bool looks_like_coco(const fs::path& path) {
  constexpr std::streamoff kLook = 64 * 1024;
  if (!has_extension(path, {".json"})) return false;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = in.tellg();
  if (!in || size <= 0) return false;
  const auto piece = [&](std::streamoff begin) {
    std::string text(static_cast<std::size_t>(std::min(kLook, size - begin)), '\0');
    in.clear();
    in.seekg(begin);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    return text;
  };
  const std::string begin = text_without_byte_order_mark(piece(0));
  const CocoGlance glance = glance_at_coco(begin);
  if (glance.lists == kCocoLists) return true;
  if (glance.lists == 0) return glance.is_damaged && has_words_of_coco(begin);
  if (size <= kLook)
    return glance.ends_early ? glance.has_images || glance.has_boxes : glance.has_images && glance.has_boxes;
  if (glance.lists != 1) return glance.lists > 1;
  // Lists may be long, so that the others begin where nothing is read; the elements of one tell of another.
  std::string end = piece(size - kLook);
  std::erase(end, '\0');  // UTF-16
  const std::string in_annotations = "\"category_id\"";
  const bool is_told = end.find("\"categories\"") != std::string::npos ||
                       end.find(in_annotations) != std::string::npos || begin.find(in_annotations) != std::string::npos;
  if (is_told || !(glance.has_images || glance.has_boxes)) return is_told;
  const CocoGlance whole = glance_at_coco(read_annotation(path, kMaxCocoBytes));
  return whole.has_boxes || whole.ends_early;
}

/// The part that a word of the name stands for, as in "instances_val2017".
Part part_in_name(const std::string& name) {
  std::string word;
  for (const char c : name + "_") {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      word += c;
      continue;
    }
    if (const std::optional<Part> part = part_named(word)) return *part;
    word.clear();
  }
  return Part::kUndivided;
}

void add_files(const fs::path& folder, const fs::path& root, Part part, std::vector<CocoPlace>& places) {
  for (const fs::path& file : entries_in(folder, looks_like_coco)) {
    places.push_back({file, root, part == Part::kUndivided ? part_in_name(file.stem().string()) : part});
  }
}

/// The files of a folder, of its annotations/, and of the folders that are called as parts. COCO's own folder has
/// others beside the instances (captions, key points), which are then passed over.
std::vector<CocoPlace> find_files(const fs::path& folder) {
  std::vector<CocoPlace> places;
  add_files(folder, folder, Part::kUndivided, places);
  for (const char* name : {"annotations", "Annotations"}) add_files(folder / name, folder, Part::kUndivided, places);
  const auto is_part = [](const fs::path& path) {
    std::error_code ignored;
    return part_named(path.filename().string()) && fs::is_directory(path, ignored);
  };
  for (const fs::path& part : entries_in(folder, is_part)) {
    add_files(part, part, *part_named(part.filename().string()), places);
  }
  const auto is_instances = [](const CocoPlace& place) {
    return place.json.filename().string().starts_with("instances");
  };
  if (std::ranges::any_of(places, is_instances)) {
    std::erase_if(places, [&](const CocoPlace& place) { return !is_instances(place); });
  }
  return places;
}

/// Finds images by the names that a file gives them.
class NamedImages {
 public:
  explicit NamedImages(std::vector<fs::path> folders) : folders_(std::move(folders)) {}

  /// The file of that name; absent if it is in none of the folders. Names that lead out of the folders are not
  /// followed.
  std::optional<fs::path> find(const std::string& name) {
    const fs::path path = name;
    if (name.empty() || path.is_absolute() || std::ranges::find(path, fs::path("..")) != path.end())
      return std::nullopt;
    for (fs::path& folder : folders_) {
      std::error_code error;
      if (!fs::is_regular_file(folder / path, error)) continue;
      std::swap(folders_.front(), folder);  // the others are probably there too
      return folders_.front() / path;
    }
    return std::nullopt;
  }
  /// The folder in which the last image was found.
  const fs::path& folder() const { return folders_.front(); }

 private:
  std::vector<fs::path> folders_;
};

NamedImages images_of(const CocoPlace& place) {
  const std::string stem = place.json.stem().string();
  const std::string last = stem.substr(stem.rfind('_') + 1);  // "train2017"
  const fs::path images = place.root / "images";
  return NamedImages({place.json.parent_path(), place.root, images, place.root / last, images / last});
}

/// Adds the categories in the order of their numbers, as programs that train on COCO do; tells each one's label.
std::unordered_map<std::string, std::int32_t> number_categories(std::vector<CocoCategory> categories,
                                                                std::vector<std::string>& classes) {
  const auto by_number = [](const CocoCategory& a, const CocoCategory& b) {
    return std::pair(a.id.size(), a.id) < std::pair(b.id.size(), b.id);
  };
  std::stable_sort(categories.begin(), categories.end(), by_number);
  std::unordered_map<std::string, std::int32_t> labels, label_of_name;
  for (const std::string& name : classes) label_of_name.emplace(name, static_cast<std::int32_t>(label_of_name.size()));
  for (const CocoCategory& category : categories) {
    const auto next = static_cast<std::int32_t>(classes.size());
    const auto [found, is_new] = label_of_name.emplace(category.name, next);
    if (is_new) classes.push_back(category.name);
    labels.emplace(category.id, found->second);
  }
  return labels;
}

void add_boxes(const CocoFile& file, const fs::path& json, const std::unordered_map<std::string, std::int32_t>& labels,
               const std::unordered_map<std::string, std::size_t>& images, AnnotatedListing& listing) {
  constexpr std::size_t kMissing = static_cast<std::size_t>(-1);
  FirstOf categories, unlisted;
  for (const CocoBox& box : file.boxes) {
    const auto label = labels.find(box.category_id);
    const auto image = images.find(box.image_id);
    if (label == labels.end()) categories.add(box.category_id);
    if (image == images.end()) unlisted.add(box.image_id);
    if (label == labels.end() || image == images.end() || image->second == kMissing) continue;
    const double x2 = box.x + box.width, y2 = box.y + box.height;
    const std::string refusal = corners_refusal(box.x, box.y, x2, y2);
    AnnotatedImage& annotated = listing.images[image->second];
    if (!refusal.empty()) {
      listing.skipped.push_back({annotated.image.string(),
                                 "a box of '" + printable(listing.classes[static_cast<std::size_t>(label->second)]) +
                                     "' " + refusal + "; the box is left out"});
      continue;
    }
    LabelledBox labelled{static_cast<float>(box.x), static_cast<float>(box.y), static_cast<float>(x2),
                         static_cast<float>(y2), label->second};
    labelled.is_crowd = box.is_crowd;
    annotated.boxes.push_back(labelled);
  }
  for (const auto& [what, unknown] : {std::pair("a category", categories), std::pair("an image", unlisted)}) {
    if (unknown.count == 0) continue;
    listing.skipped.push_back({json.string(), counted(unknown.count, "annotation") + " with " + what +
                                                  " that it doesn't list, such as " + quoted_text(unknown.first) +
                                                  "; left out"});
  }
}

void add_place(const CocoPlace& place, AnnotatedListing& listing) {
  constexpr std::size_t kMissing = static_cast<std::size_t>(-1);
  CocoFile file;
  try {
    file = parse_coco(read_annotation(place.json, kMaxCocoBytes));
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    throw Error("'" + place.json.string() + "' can't be used: " + error.what());
  }
  for (const std::string& problem : file.problems) {
    listing.skipped.push_back({place.json.string(), problem + "; left out"});
  }
  const auto labels = number_categories(std::move(file.categories), listing.classes);
  NamedImages finder = images_of(place);
  std::unordered_map<std::string, std::size_t> images;  // by id: index into the listing
  for (const CocoImage& image : file.images) {
    const std::optional<fs::path> path = finder.find(image.file_name);
    if (!images.emplace(image.id, path ? listing.images.size() : kMissing).second) {
      listing.skipped.push_back({place.json.string(), "two images have the id " + quoted_text(image.id) +
                                                          "; the second, " + quoted_text(image.file_name) +
                                                          ", is left out"});
      continue;
    }
    if (!path) {
      listing.skipped.push_back({place.json.string(), "its image " + quoted_text(image.file_name) + " is missing in '" +
                                                          finder.folder().string() + "'"});
      continue;
    }
    listing.images.push_back({*path, place.json.string(), place.part, image.width, image.height, {}, false});
  }
  add_boxes(file, place.json, labels, images, listing);
}

}  // namespace

bool is_coco_folder(const fs::path& folder) {
  return !find_files(folder).empty();
}

Source open_coco(const fs::path& location, const DataOptions& options) {
  std::vector<CocoPlace> places;
  if (fs::is_directory(location)) {
    places = find_files(location);
  } else {
    const fs::path folder = location.parent_path();
    const std::string name = folder.filename().string();
    const bool is_beside = name == "annotations" || name == "Annotations";
    places = {{location, is_beside ? folder.parent_path() : folder, Part::kUndivided}};
  }
  AnnotatedListing listing;
  listing.kind = "COCO annotations";
  for (const CocoPlace& place : places) add_place(place, listing);
  unify_parts(listing);
  return open_boxed_images(std::move(listing), location, options);
}

}  // namespace evener::data
