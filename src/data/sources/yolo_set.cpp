#include "data/sources/yolo_set.h"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/plural.h"

namespace evener::data {

namespace {

constexpr std::size_t kMostNames = 100'000;

[[noreturn]] void fail_at(const YAML::Mark& mark, const std::string& what) {
  throw Error((mark.is_null() ? "" : "line " + std::to_string(mark.line + 1) + ": ") + what);
}

[[noreturn]] void fail_at(const YAML::Node& node, const std::string& what) {
  fail_at(node.Mark(), what);
}

/// The half of a character that begins there as JSON's "\\ud83d"; 0: there is none.
std::uint32_t half_at(std::string_view text) {
  std::uint32_t code = 0;
  if (!text.starts_with("\\u") || text.size() < 6) return 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, code, 16);
  return error == std::errc() && end == text.data() + 6 && code >= 0xD800 && code <= 0xDFFF ? code : 0;
}

/// JSON writes rarer characters as two escapes, "\\ud83d\\ude00", YAML as a longer one, which yaml-cpp insists on.
std::string with_long_escapes(std::string_view file) {
  std::string text;
  while (!file.empty()) {
    const std::uint32_t high = half_at(file), low = high == 0 ? 0 : half_at(file.substr(6));
    const bool is_pair = high < 0xDC00 && low >= 0xDC00;
    if (is_pair) text += fmt::format("\\U{:08x}", 0x10000 + ((high & 0x3FF) << 10 | (low & 0x3FF)));
    const std::size_t taken = is_pair ? 12 : file.starts_with("\\\\") ? 2 : 1;
    if (!is_pair) text += file.substr(0, taken);
    file.remove_prefix(taken);
  }
  return text;
}

/// The first document of a file. Aliases stay references, and nothing here follows them farther than to a list of
/// texts, so that none can grow.
YAML::Node load(std::string_view file) {
  if (file.size() > kMaxYoloSetBytes) {
    throw Error("it has " + bytes_text(file.size()) + "; the YAML file of a set has at most " +
                bytes_text(kMaxYoloSetBytes));
  }
  try {
    return YAML::Load(with_long_escapes(file));
  } catch (const YAML::DeepRecursion& error) {
    fail_at(error.mark, "it is nested too deeply");
  } catch (const YAML::Exception& error) {
    fail_at(error.mark, "it can't be read as YAML: " + printable(error.msg));
  }
}

/// Adds the values of a key, of which the last counts; those of maps that are merged in stand before the map's own.
void add_values(const YAML::Node& map, std::string_view key, bool merges, std::vector<YAML::Node>& values) {
  for (const auto& entry : map) {
    const YAML::Node& value = entry.second;
    if (!merges || !entry.first.IsScalar() || entry.first.Scalar() != "<<") continue;
    if (value.IsMap()) add_values(value, key, false, values);
    for (std::size_t i = value.IsSequence() ? value.size() : 0; i-- > 0;) {
      if (value[i].IsMap()) add_values(value[i], key, false, values);  // the first of several counts
    }
  }
  for (const auto& entry : map) {
    if (entry.first.IsScalar() && entry.first.Scalar() == key) values.push_back(entry.second);
  }
}

/// The value of a key; absent if the key is missing or has no value.
std::optional<YAML::Node> value_of(const YAML::Node& map, std::string_view key) {
  std::vector<YAML::Node> values;
  add_values(map, key, true, values);
  if (values.empty() || values.back().IsNull()) return std::nullopt;
  return values.back();
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

bool has_line_with_key(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const std::string_view before = text.substr(0, at), line = before.substr(before.rfind('\n') + 1);
    std::string_view after = text.substr(at + key.size());
    after.remove_prefix(std::min(after.find_first_not_of("\"' \t"), after.size()));
    if (line.find_first_not_of("\"'{ \t") == std::string_view::npos && after.starts_with(':')) return true;
  }
  return false;
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
    return has_all([&](std::string_view key) { return has_line_with_key(file, key); });
  }
}

}  // namespace evener::data
