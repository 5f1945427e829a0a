#include "weights/metadata_json.h"

#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace evener::weights {
namespace {

using nlohmann::json;

// The greatest depth of nested lists and objects: ours have three levels, and deeper ones of a malicious file must not
// overflow the stack.
constexpr int kDeepest = 16;

/// Applies `change` to every string in `value`, keys included; parts nested deeper than `deepest` become null.
json with_strings(const json& value, std::string (*change)(std::string_view), int deepest = kDeepest) {
  if (value.is_string()) return change(value.get_ref<const std::string&>());
  if (value.is_structured() && deepest == 0) return nullptr;
  if (value.is_array()) {
    json array = json::array();
    for (const json& item : value) array.push_back(with_strings(item, change, deepest - 1));
    return array;
  }
  if (value.is_object()) {
    json object = json::object();
    for (const auto& [key, item] : value.items()) object[change(key)] = with_strings(item, change, deepest - 1);
    return object;
  }
  return value;
}

}  // namespace

std::string metadata_text(const json& value) {
  return with_strings(value, to_utf8_text).dump();
}

json metadata_value(const std::string& text) {
  return with_strings(json::parse(text), from_utf8_text);
}

}  // namespace evener::weights
