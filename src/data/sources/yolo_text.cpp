#include "data/sources/yolo_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "data/sources/boxed_images.h"

namespace evener::data {

namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr std::size_t kMostNames = 100'000;

/// Takes the first line off a text.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The numbers of a line; nothing if a word is none.
std::optional<std::vector<double>> numbers_in(std::string_view line) {
  std::vector<double> numbers;
  for (line = trimmed(line); !line.empty(); line = trimmed(line)) {
    double value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    const auto length = static_cast<std::size_t>(end - line.data());
    if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
    if (length < line.size() && kBlank.find(line[length]) == std::string_view::npos) return std::nullopt;
    numbers.push_back(value);
    line.remove_prefix(length);
  }
  return numbers;
}

/// The box of a line's numbers after the first.
YoloBox box_of(const std::vector<double>& numbers) {
  YoloBox box;
  if (numbers.size() <= 6) {
    box.x1 = numbers[1] - numbers[3] / 2, box.x2 = numbers[1] + numbers[3] / 2;
    box.y1 = numbers[2] - numbers[4] / 2, box.y2 = numbers[2] + numbers[4] / 2;
    return box;
  }
  box.x1 = box.x2 = numbers[1], box.y1 = box.y2 = numbers[2];
  for (std::size_t i = 3; i + 1 < numbers.size(); i += 2) {
    box.x1 = std::min(box.x1, numbers[i]), box.x2 = std::max(box.x2, numbers[i]);
    box.y1 = std::min(box.y1, numbers[i + 1]), box.y2 = std::max(box.y2, numbers[i + 1]);
  }
  return box;
}

/// What stands behind a key of a YAML file.
struct YamlValue {
  std::string text;
  std::vector<std::string> items;
  std::vector<std::pair<std::string, std::string>> entries;
};

/// The first place outside of quotes that is `wanted`; npos: none. A quote begins where a text may begin.
template <class Wanted>
std::size_t find_unquoted(std::string_view text, const Wanted& wanted) {
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quote != 0) {
      const bool is_doubled = quote == '\'' && text.substr(i, 2) == "''";
      if (is_doubled || (quote == '"' && text[i] == '\\')) {
        ++i;
      } else if (text[i] == quote) {
        quote = 0;
      }
      continue;
    }
    const bool may_begin = i == 0 || std::string_view(" \t[{,:").find(text[i - 1]) != std::string_view::npos;
    if (may_begin && (text[i] == '\'' || text[i] == '"')) {
      quote = text[i];
    } else if (wanted(i)) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::size_t find_unquoted(std::string_view text, char wanted) {
  return find_unquoted(text, [&](std::size_t i) { return text[i] == wanted; });
}

std::string_view without_comment(std::string_view line) {
  return line.substr(0, find_unquoted(line, [&](std::size_t i) {
                       return line[i] == '#' && (i == 0 || kBlank.find(line[i - 1]) != std::string_view::npos);
                     }));
}

/// Between double quotes YAML has JSON's escapes, and more that nobody writes names with; between single ones a quote
/// is written twice.
std::string unquoted(std::string_view text) {
  text = trimmed(text);
  if (text.size() < 2 || (text[0] != '\'' && text[0] != '"') || text.back() != text[0]) return std::string(text);
  const std::string_view inner = text.substr(1, text.size() - 2);
  if (text[0] == '"') {
    const auto read = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    return read.is_string() ? read.get<std::string>() : std::string(inner);
  }
  std::string plain;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    plain += inner[i];
    if (inner.substr(i, 2) == "''") ++i;
  }
  return plain;
}

/// "a: b" in two; nothing if there is no colon.
std::optional<std::pair<std::string, std::string>> entry_in(std::string_view text) {
  const std::size_t colon = find_unquoted(text, ':');
  if (colon == std::string_view::npos) return std::nullopt;
  return std::pair(unquoted(text.substr(0, colon)), std::string(trimmed(text.substr(colon + 1))));
}

/// Reads "[a, b]" or "{0: a, 1: b}".
void read_inline(std::string_view text, YamlValue& value) {
  const bool is_map = text.front() == '{';
  text.remove_prefix(1);
  text.remove_suffix(1);
  while (!trimmed(text).empty()) {
    const std::size_t comma = std::min(find_unquoted(text, ','), text.size());
    const std::string_view word = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const auto entry = is_map ? entry_in(word) : std::nullopt;
    if (entry) {
      value.entries.emplace_back(entry->first, unquoted(entry->second));
    } else if (!word.empty()) {
      value.items.push_back(unquoted(word));
    }
  }
}

bool is_open(std::string_view text) {
  return (text.starts_with('[') && !text.ends_with(']')) || (text.starts_with('{') && !text.ends_with('}'));
}

/// Whether a key's value is the head of a text that stands in the lines below it, as "|" or ">-".
bool begins_block(std::string_view value) {
  if (!value.starts_with('|') && !value.starts_with('>')) return false;
  return value.size() <= 3 && value.find_first_not_of("+-123456789", 1) == std::string_view::npos;
}

/// Takes the lines off `file` that belong to a text under a key at `indent`: those farther in, and empty ones. Returns
/// how many.
int skip_block(std::string_view& file, std::size_t indent) {
  int lines = 0;
  while (!file.empty()) {
    std::string_view rest = file;
    const std::string_view line = take_line(rest);
    if (!trimmed(line).empty() && line.find_first_not_of(kBlank) <= indent) break;
    file = rest;
    ++lines;
  }
  return lines;
}

/// Whether a set's file is read for that key.
bool is_needed(std::string_view key) {
  return key == "names" || key == "path" || key == "train" || key == "val" || key == "valid" || key == "test";
}

/// The keys of a file that stand at the beginning of a line, and what belongs to them.
std::map<std::string, YamlValue> read_yaml(std::string_view file) {
  std::map<std::string, YamlValue> values;
  YamlValue* current = nullptr;
  bool is_current_needed = false;
  for (int number = 1; !file.empty(); ++number) {
    const std::string_view line = without_comment(take_line(file));
    std::string text(trimmed(line));
    if (text.empty() || text == "---" || text == "...") continue;
    const auto fail = [&] { throw Error("line " + std::to_string(number) + " can't be read: " + quoted_text(text)); };
    const bool is_item = text.starts_with("- ") || text == "-";
    if (is_item) {
      if (current == nullptr) fail();
      current->items.push_back(unquoted(std::string_view(text).substr(1)));
      continue;
    }
    const std::size_t indent = line.find_first_not_of(kBlank);
    const bool is_inner = indent > 0;
    const auto entry = entry_in(text);
    if (!entry && is_inner && current != nullptr && !is_current_needed) continue;
    if (!entry || (is_inner && current == nullptr)) fail();
    if (begins_block(entry->second)) number += skip_block(file, indent);
    if (is_inner) {
      current->entries.emplace_back(entry->first, unquoted(entry->second));
      continue;
    }
    current = &values[entry->first];
    is_current_needed = is_needed(entry->first);
    std::string value = entry->second;
    for (; is_open(value) && !file.empty(); ++number)
      value += " " + std::string(trimmed(without_comment(take_line(file))));
    while (!value.empty() && kBlank.find(value.back()) != std::string_view::npos) value.pop_back();
    if (is_open(value)) fail();
    if (value.starts_with('[') || value.starts_with('{')) {
      read_inline(value, *current);
    } else {
      current->text = unquoted(value);
    }
  }
  return values;
}

std::optional<std::size_t> whole_number(const std::string& text) {
  const auto value = to_number<std::size_t>(text);
  return value && *value < kMostNames ? value : std::nullopt;
}

std::vector<std::string> names_of(const std::map<std::string, YamlValue>& values) {
  const auto found = values.find("names");
  if (found == values.end()) throw Error("it has no \"names\" of classes");
  std::vector<std::string> names = found->second.items;
  for (const auto& [key, name] : found->second.entries) {
    const std::optional<std::size_t> number = whole_number(key);
    if (!number) throw Error("the class " + quoted_text(name) + " has no number, but " + quoted_text(key));
    if (names.size() <= *number) names.resize(*number + 1);
    names[*number] = name;
  }
  if (names.empty()) throw Error("it has no \"names\" of classes");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) throw Error("class " + std::to_string(i) + " has no name");
  }
  return names;
}

std::vector<std::string> places_of(const std::map<std::string, YamlValue>& values, const char* key) {
  const auto found = values.find(key);
  if (found == values.end()) return {};
  if (!found->second.text.empty()) return {found->second.text};
  return found->second.items;
}

}  // namespace

YoloLabels parse_yolo_labels(std::string_view file) {
  YoloLabels labels;
  for (int number = 1; !file.empty(); ++number) {
    const std::string_view line = trimmed(take_line(file));
    if (line.empty()) continue;
    const auto problem = [&](const std::string& what) {
      labels.problems.push_back("line " + std::to_string(number) + " " + what);
    };
    const auto numbers = numbers_in(line);
    const bool is_outline = numbers && numbers->size() >= 7 && numbers->size() % 2 == 1;
    if (!numbers || (numbers->size() != 5 && numbers->size() != 6 && !is_outline)) {
      problem("is not a class and four numbers: " + quoted_text(line));
      continue;
    }
    const double index = numbers->front();
    if (index < 0 || index != std::floor(index) || index >= static_cast<double>(kMostNames)) {
      problem("begins with what is no class's number: " + quoted_text(line));
      continue;
    }
    YoloBox box = box_of(*numbers);
    box.class_index = static_cast<std::int32_t>(index);
    const std::string refusal = corners_refusal(box.x1, box.y1, box.x2, box.y2);
    if (!refusal.empty()) {
      problem(refusal);
      continue;
    }
    labels.boxes.push_back(box);
  }
  return labels;
}

YoloSet parse_yolo_set(std::string_view file) {
  const std::map<std::string, YamlValue> values = read_yaml(file);
  YoloSet set;
  set.names = names_of(values);
  if (const auto path = values.find("path"); path != values.end()) set.path = path->second.text;
  set.train = places_of(values, "train");
  set.val = places_of(values, "val");
  if (set.val.empty()) set.val = places_of(values, "valid");
  set.test = places_of(values, "test");
  return set;
}

}  // namespace evener::data
