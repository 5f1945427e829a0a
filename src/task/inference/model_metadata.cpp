#include "task/inference/model_metadata.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/utf8.h"
#include "task/inference/normalization.h"
#include "weights/metadata_json.h"

namespace evener::task {
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

/// Reads a text from its beginning.
class PythonReader {
 public:
  explicit PythonReader(std::string_view text) : text_(text) {}

  /// Goes past the character, and spaces before it, if it is the next one.
  bool takes(char wanted) {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool takes_number(std::size_t number) {
    takes('\0');  // spaces alone
    const std::string digits = std::to_string(number);
    const bool quoted = at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"');
    if (quoted) return string() == digits;
    if (text_.substr(at_, digits.size()) != digits) return false;
    at_ += digits.size();
    return true;
  }

  /// A string between quotation marks of either kind. A backslash stands for the character after it.
  std::optional<std::string> string() {
    const char quote = takes('\'') ? '\'' : takes('"') ? '"' : '\0';
    if (quote == '\0') return std::nullopt;
    std::string value;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote) {
        ++at_;
        return value;
      }
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      value += text_[at_];
    }
    return std::nullopt;
  }

 private:
  const std::string_view text_;
  std::size_t at_ = 0;
};

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
  if (facts.classes.empty()) facts.classes = names_in_python(text_of(metadata, "names"));
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

std::vector<std::string> names_in_python(std::string_view text) {
  PythonReader reader(text);
  const bool numbered = reader.takes('{');
  if (!numbered && !reader.takes('[')) return {};
  const char end = numbered ? '}' : ']';
  std::vector<std::string> names;
  while (!reader.takes(end)) {
    if (numbered && (!reader.takes_number(names.size()) || !reader.takes(':'))) return {};
    const auto name = reader.string();
    if (!name) return {};
    names.push_back(*name);
    if (reader.takes(',')) continue;
    return reader.takes(end) ? names : std::vector<std::string>();
  }
  return names;
}

}  // namespace evener::task
