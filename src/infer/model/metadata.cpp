#include "infer/model/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/names.h"
#include "base/numbers.h"
#include "base/utf8.h"
#include "infer/model/normalization.h"
#include "weights/metadata_json.h"

namespace evener::inference {
namespace {

using nlohmann::json;

constexpr const char *kInside = "inside", *kElsewhere = "elsewhere", *kBgr = "bgr";
constexpr const char *kSigned = "s8", *kUnsigned = "u8";

/// "" where there is none.
std::string text_of(const weights::Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

json value_of(const weights::Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return {};
  try {
    return weights::metadata_value(found->second);
  } catch (const json::exception&) {
    return {};  // another program's metadata
  }
}

/// {"activations": {"layer1.0.relu": "u8", ...}, "weights": {"fc": 8, ...}}
json scheme_json(const network::QuantizationScheme& scheme) {
  json activations = json::object(), weights = json::object();
  for (const auto& [layer, is_signed] : scheme.activations) activations[layer] = is_signed ? kSigned : kUnsigned;
  for (const auto& [layer, bits] : scheme.weight_bits) weights[layer] = bits;
  return {{"activations", activations}, {"weights", weights}};
}

/// Empty for what is no scheme.
network::QuantizationScheme scheme_from(const json& value) {
  network::QuantizationScheme scheme;
  if (!value.is_object()) return {};
  const json activations = value.value("activations", json()), weights = value.value("weights", json());
  if (!activations.is_object() || !weights.is_object()) return {};
  for (const auto& [layer, type] : activations.items()) scheme.activations[layer] = type == kSigned;
  for (const auto& [layer, bits] : weights.items()) {
    scheme.weight_bits[layer] = bits.is_number_integer() ? bits.get<int>() : 0;
  }
  return scheme;
}

/// Reads names and numbers from the beginning of a text.
class NameReader {
 public:
  explicit NameReader(std::string_view text) : text_(text) {}

  static constexpr std::string_view kLine = "\n";  // ends a name that may have any other character

  /// Goes past the character, and spaces before it, if it is the next one.
  bool takes(char wanted) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool is_at_end() {
    skip_spaces();
    return at_ == text_.size();
  }

  /// What stands between quotation marks of either kind, or else before one of `ends`. Absent: neither.
  std::optional<std::string> text(std::string_view ends) {
    const char quote = takes('\'') ? '\'' : takes('"') ? '"' : '\0';
    if (quote != '\0') return quoted(quote);
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(ends, at_), text_.size());
    const std::string_view plain = trimmed(text_.substr(begin, at_ - begin));
    const bool is_unclear = ends != kLine && plain.find_first_of("'\"{[") != std::string_view::npos;
    if (plain.empty() || is_unclear) return std::nullopt;
    return std::string(plain);
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  /// A backslash and what follows are a character, as Python and JSON have it; an unknown one stays as it is.
  std::optional<std::string> quoted(char quote) {
    std::string as_json = "\"";
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == quote) {
        ++at_;
        const json value = json::parse(as_json + '"', nullptr, false);
        return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
      }
      if (c != '\\') {
        const bool is_plain = c != '"' && static_cast<unsigned char>(c) >= ' ';
        as_json += is_plain ? std::string(1, c) : fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        continue;
      }
      if (++at_ == text_.size()) break;
      c = text_[at_];
      if (c == 'U') {
        as_json += large_character();
      } else if (c == 'x') {
        as_json += "\\u00";  // two digits follow
      } else {
        constexpr std::string_view kOfJson = "\"\\/bfnrtu";
        as_json += c == '\'' ? "" : kOfJson.find(c) == std::string_view::npos ? "\\\\" : "\\";
        as_json += c;
      }
    }
    return std::nullopt;
  }

  /// Goes past the eight digits of \U0001F431. As two of JSON's, which are none where there is no such character.
  std::string large_character() {
    std::uint32_t code = 0;
    const std::string_view digits = text_.substr(at_ + 1, 8);
    std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    at_ += digits.size();
    code -= 0x10000;
    return code > 0xFFFFF ? "\\u" : fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

/// Notes the name of a class. False where `number` is none of a class.
bool note_name(std::string_view number, const std::string& name, std::vector<std::string>& names) {
  constexpr std::size_t kMostNames = 100'000;
  const auto at = to_number<std::size_t>(number);
  if (!at || *at >= kMostNames) return false;
  names.resize(std::max(names.size(), *at + 1));
  names[*at] = name;
  return true;
}

/// Lines as YAML has them ("0: cat" or "- cat"), or names alone; or names between commas.
std::vector<std::string> names_in_lines(std::string_view text) {
  const char separator = text.find('\n') == std::string_view::npos ? ',' : '\n';
  std::vector<std::string> names;
  for (std::size_t end = 0; !text.empty(); text.remove_prefix(std::min(end + 1, text.size()))) {
    end = std::min(text.find(separator), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    if (line.empty()) continue;
    if (line.starts_with("- ")) line.remove_prefix(2);
    const std::size_t colon = line.find(':');
    const bool is_numbered = colon < line.size() && to_number<std::size_t>(line.substr(0, colon));
    NameReader reader(is_numbered ? line.substr(colon + 1) : line);
    const auto name = reader.text(NameReader::kLine);
    const std::string next = std::to_string(names.size());
    if (!name || !reader.is_at_end() || !note_name(is_numbered ? line.substr(0, colon) : next, *name, names)) return {};
  }
  const bool is_number = names.size() == 1 && to_number<double>(names.front());
  return is_number ? std::vector<std::string>() : names;
}

}  // namespace

weights::Metadata model_metadata(const ModelFacts& facts) {
  weights::Metadata metadata = {{"model", to_utf8_text(facts.model)}};
  if (!facts.classes.empty()) metadata["classes"] = weights::metadata_text(facts.classes);
  if (facts.input) metadata["input"] = json(*facts.input).dump();
  if (facts.normalization) {
    metadata["mean"] = json(facts.normalization->mean).dump();
    metadata["standard_deviation"] = json(facts.normalization->standard_deviation).dump();
  }
  if (facts.crop) metadata["crop"] = data::crop_mode_name(*facts.crop);
  if (facts.normalizes_inside) metadata["normalization"] = kInside;
  if (facts.reverses_channels) metadata["channel_order"] = kBgr;
  if (facts.unknown_inside) metadata["unknown"] = kInside;
  if (facts.trained_elsewhere) metadata["trained"] = kElsewhere;
  if (!facts.quantization.empty()) metadata["quantization"] = scheme_json(facts.quantization).dump();
  return metadata;
}

ModelFacts model_facts(const weights::Metadata& metadata) {
  ModelFacts facts;
  facts.model = from_utf8_text(text_of(metadata, "model"));
  if (const json classes = value_of(metadata, "classes"); classes.is_array()) {
    for (const json& name : classes) {
      if (name.is_string()) facts.classes.push_back(name.get<std::string>());
    }
  }
  for (const char* const key : {"names", "classes", "class_names", "labels", "id2label"}) {
    const std::string text = text_of(metadata, key);
    if (facts.classes.empty()) facts.classes = names_in_text(text);
    const bool has_text = !text.empty() && !to_number<double>(text) && text != "{}" && text != "[]";
    if (facts.unread_names.empty() && has_text) facts.unread_names = text;
  }
  if (!facts.classes.empty()) facts.unread_names.clear();
  json input = value_of(metadata, "input");
  if (const json sides = value_of(metadata, "imgsz"); input.is_null() && sides.is_array() && sides.size() == 2) {
    input = json::array({3U, sides[0], sides[1]});
  }
  const bool shape = input.is_array() && input.size() == 3 &&
                     std::ranges::all_of(input, [](const json& extent) { return extent.is_number_unsigned(); });
  if (shape) facts.input = input.get<network::Shape>();
  if (facts.input) facts.normalization = normalization_of(metadata, facts.input->front());
  facts.crop = data::find_crop_mode(text_of(metadata, "crop"));  // absent for another program's name
  facts.normalizes_inside = text_of(metadata, "normalization") == kInside;
  facts.reverses_channels = text_of(metadata, "channel_order") == kBgr;
  facts.trained_elsewhere = text_of(metadata, "trained") == kElsewhere;
  facts.unknown_inside = text_of(metadata, "unknown") == kInside;
  facts.quantization = scheme_from(value_of(metadata, "quantization"));
  return facts;
}

std::vector<std::string> names_in_text(std::string_view text) {
  NameReader reader(text);
  const bool is_map = reader.takes('{');
  const char end = is_map ? '}' : reader.takes('[') ? ']' : reader.takes('(') ? ')' : '\0';
  if (end == '\0') return names_in_lines(text);
  std::vector<std::string> names;
  bool is_open = true;
  while (is_open && !reader.takes(end)) {
    const auto key = is_map ? reader.text(":") : std::to_string(names.size());
    if (is_map && !reader.takes(':')) return {};
    const auto name = reader.text(std::string{',', end});
    // Some have names first, and their numbers as values.
    if (!key || !name || !(note_name(*key, *name, names) || note_name(*name, *key, names))) return {};
    is_open = reader.takes(',');
    if (!is_open && !reader.takes(end)) return {};
  }
  return reader.is_at_end() ? names : std::vector<std::string>();
}

std::vector<std::string> names_of_classes(std::vector<std::string> names, std::size_t count) {
  std::vector<std::string> named = names;
  std::erase(named, "");
  if (named.size() == count) return named;
  if (names.size() != count) return {};
  for (std::size_t i = 0; i < count; ++i) {
    if (names[i].empty()) names[i] = "class " + std::to_string(i);
  }
  return names;
}

}  // namespace evener::inference
