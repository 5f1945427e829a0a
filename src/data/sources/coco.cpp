// Images with COCO's JSON: which files there are, where their images lie, and what is wrong with them.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
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

using nlohmann::json;

/// Texts that stand for NaN and Infinity, which JSON doesn't have, consist of these.
constexpr char kNoNumber = '?';

/// Makes texts of as many bytes of the words that Python writes for numbers that are none, where they stand by
/// themselves.
void quote_words_of_python(std::string& file) {
  if (file.find("NaN") == std::string::npos && file.find("Infinity") == std::string::npos) return;
  const auto begins = [&file](std::size_t at, std::string_view text) {
    return file.compare(at, text.size(), text) == 0;
  };
  for (std::size_t i = 0; i < file.size(); ++i) {
    if (file[i] == '"') {
      for (++i; i < file.size() && file[i] != '"'; ++i) i += file[i] == '\\';
    } else if (begins(i, "//")) {
      i = std::min(file.find('\n', i), file.size());
    } else if (begins(i, "/*")) {
      i = std::min(file.find("*/", i + 2), file.size());
    } else if (file[i] == 'N' || file[i] == 'I' || file[i] == '-') {
      for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
        if (!begins(i, word)) continue;
        file.replace(i, word.size(), '"' + std::string(word.size() - 2, kNoNumber) + '"');
        i += word.size() - 1;
        break;
      }
    }
  }
}

/// Elements that were left out, counted by what is wrong with them.
class Problems {
 public:
  /// `element` and `fault` as in "annotation 3 has TROUBLE".
  void add(const std::string& element, std::size_t number, const std::string& fault) {
    const auto is_same = [&](const Kind& kind) { return kind.element == element && kind.fault == fault; };
    const auto found = std::ranges::find_if(kinds_, is_same);
    if (found == kinds_.end())
      kinds_.push_back({element, fault, number});
    else
      ++found->count;
  }
  std::vector<std::string> sentences() const {
    std::vector<std::string> texts;
    for (const Kind& kind : kinds_) {
      const std::string first = std::to_string(kind.first);
      texts.push_back(kind.count == 1
                          ? kind.element + " " + first + " has " + kind.fault
                          : counted(kind.count, kind.element, kind.element == "category" ? "categories" : "") +
                                ", the first number " + first + ", have " + kind.fault);
    }
    return texts;
  }

 private:
  struct Kind {
    std::string element, fault;
    std::size_t first = 0, count = 1;
  };
  std::vector<Kind> kinds_;
};

/// Collects the plain values of the elements of the three lists as they are parsed: depth 1 is the file's object, 2 a
/// list, 3 an element, 4 a box's four numbers. What is deeper, or has another name, is passed over, so that the memory
/// needed is that of the boxes, and nothing recurses.
class CocoReader : public nlohmann::json_sax<json> {
 public:
  bool null() override { return take_no_number(); }
  bool boolean(bool value) override { return take_no_number() && take_member(value ? 1 : 0); }
  bool number_integer(number_integer_t value) override {
    return take_text(std::to_string(value)) && take_number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return take_text(std::to_string(value)) && take_number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    const bool is_whole = std::abs(value) < 1e15 && value == std::floor(value);
    return (!is_whole || take_text(std::to_string(static_cast<std::int64_t>(value)))) && take_number(value);
  }
  bool string(string_t& value) override {
    const auto number = to_number<double>(trimmed(value));
    has_no_number_ =
        has_no_number_ || (is_box_ && !value.empty() && value.find_first_not_of(kNoNumber) == std::string::npos);
    if (number) take_member(*number);
    return take_corner(number.value_or(std::numeric_limits<double>::quiet_NaN())) && take_text(std::move(value));
  }
  bool binary(binary_t& /*value*/) override { return true; }

  bool start_object(std::size_t /*elements*/) override {
    take_no_number();
    if (++depth_ == 3 && list_ != List::kNone) begin_element();
    return true;
  }
  bool end_object() override {
    if (depth_-- == 3 && list_ != List::kNone) end_element();
    return true;
  }
  bool start_array(std::size_t /*elements*/) override {
    take_no_number();
    ++depth_;
    if (depth_ == 2) begin_list();
    if (depth_ == 4) is_box_ = key_ == "bbox";
    return true;
  }
  bool end_array() override {
    if (depth_ == 4) is_box_ = false;
    if (depth_-- == 2) list_ = List::kNone;
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ == 1 || depth_ == 3) key_ = name;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/, const json::exception& error) override {
    damaged_at_ = position;
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string_view what = error.what(), where = "parse error at ";
    const std::size_t begin = what.find(where);
    throw Error("it is no whole JSON (at byte " + std::to_string(position) +
                "): " + printable(begin == std::string_view::npos ? what : what.substr(begin + where.size())));
  }

  /// What was read. Throws Error if a list is missing.
  CocoFile finish() {
    for (const auto& [list, name] : {std::pair(List::kImages, "images"), std::pair(List::kAnnotations, "annotations"),
                                     std::pair(List::kCategories, "categories")}) {
      if (!found_.contains(list)) throw Error(std::string("it has no list \"") + name + "\"");
    }
    file_.problems = problems_.sentences();
    return std::move(file_);
  }
  /// What was read until here of a text of so many bytes.
  CocoGlance glance(std::size_t bytes) const {
    return {found_.size() - found_.count(List::kNone), !file_.images.empty(), !file_.boxes.empty(), damaged_at_ > 0,
            damaged_at_ > 0 && damaged_at_ <= bytes};
  }

 private:
  enum class List { kNone, kImages, kAnnotations, kCategories };

  void begin_list() {
    list_ = key_ == "images"        ? List::kImages
            : key_ == "annotations" ? List::kAnnotations
            : key_ == "categories"  ? List::kCategories
                                    : List::kNone;
    found_[list_] = 0;
  }
  void begin_element() {
    ++found_[list_];
    texts_.clear();
    numbers_.clear();
    box_.clear();
    has_no_number_ = false;
  }
  bool take_text(std::string value) {
    if (depth_ == 3 && list_ != List::kNone) texts_[key_] = std::move(value);
    return true;
  }
  bool take_number(double value) { return take_corner(value) && take_member(value); }
  bool take_member(double value) {
    if (depth_ == 3 && list_ != List::kNone) numbers_[key_] = value;
    return true;
  }
  bool take_corner(double value) {
    if (is_box_ && depth_ == 4 && box_.size() < 5) box_.push_back(value);
    return true;
  }
  /// Keeps the place of what stands among a box's numbers and is none, so that the next doesn't move there.
  bool take_no_number() { return take_corner(std::numeric_limits<double>::quiet_NaN()); }
  /// The text of a member that the element needs; absent, it is told.
  std::optional<std::string> needed(const char* what, const char* key) {
    const auto found = texts_.find(key);
    if (found != texts_.end()) return found->second;
    problems_.add(what, found_[list_], std::string("no \"") + key + "\"");
    return std::nullopt;
  }
  std::int64_t extent(const char* key) const {
    const auto found = numbers_.find(key);
    const bool is_extent = found != numbers_.end() && found->second >= 1 && found->second <= 1e7;
    return is_extent ? static_cast<std::int64_t>(found->second) : 0;
  }
  void end_element() {
    if (list_ == List::kImages) end_image();
    if (list_ == List::kAnnotations) end_annotation();
    if (list_ == List::kCategories) end_category();
  }
  void end_image() {
    auto id = needed("image", "id"), name = needed("image", "file_name");
    if (!id || !name) return;
    file_.images.push_back({std::move(*id), std::move(*name), extent("width"), extent("height")});
  }
  void end_annotation() {
    auto image = needed("annotation", "image_id"), category = needed("annotation", "category_id");
    if (!image || !category) return;
    const bool are_numbers = std::ranges::all_of(box_, [](double value) { return std::isfinite(value); });
    if (box_.size() != 4 || !are_numbers) {
      problems_.add("annotation", found_[list_],
                    has_no_number_ ? "NaN or Infinity in its \"bbox\"" : "no \"bbox\" of four numbers");
      return;
    }
    const auto crowd = numbers_.find("iscrowd");
    file_.boxes.push_back({std::move(*image), std::move(*category), box_[0], box_[1], box_[2], box_[3],
                           crowd != numbers_.end() && crowd->second != 0});
  }
  void end_category() {
    auto id = needed("category", "id"), name = needed("category", "name");
    if (id && name) file_.categories.push_back({std::move(*id), std::move(*name)});
  }

  CocoFile file_;
  Problems problems_;
  std::size_t damaged_at_ = 0;  // counted from 1
  std::size_t depth_ = 0;
  List list_ = List::kNone;
  std::map<List, std::size_t> found_;  // the lists, and how many elements of each were begun
  std::string key_;
  bool is_box_ = false, has_no_number_ = false;
  std::map<std::string, std::string> texts_;  // of the element that is being read
  std::map<std::string, double> numbers_;
  std::vector<double> box_;
};

void read(const std::string& text, CocoReader& reader) {
  json::sax_parse(text.begin(), text.end(), &reader, json::input_format_t::json, /*strict=*/true,
                  /*ignore_comments=*/true);
}

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

CocoGlance glance_at_coco(std::string beginning) {
  quote_words_of_python(beginning);
  CocoReader reader;
  try {
    read(beginning, reader);
  } catch (const Error&) {  // which the glance tells
  }
  return reader.glance(beginning.size());
}

CocoFile parse_coco(std::string file) {
  if (file.empty()) throw Error("it is empty");
  quote_words_of_python(file);
  CocoReader reader;
  read(file, reader);
  return reader.finish();
}

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
