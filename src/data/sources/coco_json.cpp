#include "data/sources/coco_json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/plural.h"

namespace evener::data {

namespace {

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

}  // namespace evener::data
