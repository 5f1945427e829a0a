#include "record/json_reader.h"

#include <fmt/format.h>

#include <limits>

namespace evener::record {
namespace {

const nlohmann::json kEmpty = nlohmann::json::object();

}  // namespace

JsonReader::JsonReader(const nlohmann::json& json, std::string source, std::string path)
    : json_(json.is_null() ? &kEmpty : &json), source_(std::move(source)), path_(std::move(path)) {
  if (!json_->is_object()) {
    throw Error(fmt::format("{}: {} must be an object {{...}}, but is a {}", source_,
                            path_.empty() ? "the file" : "key '" + path_ + "'", json_->type_name()));
  }
}

std::string JsonReader::path_of(const char* key) const {
  return path_.empty() ? key : path_ + "." + key;
}

void JsonReader::fail(const char* key, const std::string& what) const {
  const nlohmann::json* value = find(key);
  std::string shown = value == nullptr ? "null" : value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
  throw Error(fmt::format("{}: key '{}': {}, but it is {}", source_, path_of(key), what, shown));
}

const nlohmann::json* JsonReader::find(const char* key) const {
  const auto found = json_->find(key);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

JsonReader JsonReader::object(const char* key) const {
  const nlohmann::json* value = find(key);
  return JsonReader(value == nullptr ? kEmpty : *value, source_, path_of(key));
}

std::vector<std::string> JsonReader::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json_->items()) {
    if (!value.is_null()) keys.push_back(key);
  }
  return keys;
}

void JsonReader::each(const char* key, const std::function<void(const JsonReader&)>& element) const {
  const nlohmann::json* list = find(key);
  if (list == nullptr) return;
  if (!list->is_array()) fail(key, "expected a list");
  for (std::size_t n = 0; n < list->size(); ++n) {
    element(JsonReader((*list)[n], source_, fmt::format("{}[{}]", path_of(key), n)));
  }
}

void JsonReader::read(const char* key, std::string& target) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return;
  if (!value->is_string()) fail(key, "expected a text");
  target = value->get<std::string>();
}

void JsonReader::read(const char* key, double& target) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return;
  if (!value->is_number()) fail(key, "expected a number");
  target = value->get<double>();
}

template <typename T>
T JsonReader::whole_number(const char* key) const {
  const nlohmann::json& value = *find(key);
  if (!value.is_number_integer()) fail(key, "expected a whole number");
  if (!value.is_number_unsigned() && value.get<std::int64_t>() < 0) {
    const auto number = value.get<std::int64_t>();
    if (std::is_unsigned_v<T>) fail(key, "expected a number that isn't negative");
    if (number < static_cast<std::int64_t>(std::numeric_limits<T>::min())) fail(key, "expected a larger number");
    return static_cast<T>(number);
  }
  const auto number = value.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) fail(key, "expected a smaller number");
  return static_cast<T>(number);
}

void JsonReader::read(const char* key, std::int64_t& target) const {
  if (find(key) == nullptr) return;
  target = whole_number<std::int64_t>(key);
  if (target < 0) fail(key, "expected a number that isn't negative");
}

void JsonReader::read(const char* key, std::uint64_t& target) const {
  if (find(key) != nullptr) target = whole_number<std::uint64_t>(key);
}

void JsonReader::read(const char* key, int& target) const {
  if (find(key) != nullptr) target = whole_number<int>(key);
}

void JsonReader::read(const char* key, bool& target) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return;
  if (!value->is_boolean()) fail(key, "expected true or false");
  target = value->get<bool>();
}

void JsonReader::read_within(const char* key, double low, double high, std::optional<double>& target) const {
  read(key, target);
  if (target && !(*target >= low && *target <= high)) {
    fail(key, fmt::format("expected a number from {} to {}", low, high));
  }
}

std::map<std::string, std::string> config_from_json(const nlohmann::json& object) {
  std::map<std::string, std::string> config;
  for (const auto& [name, value] : object.items()) {
    config[name] = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return config;
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace evener::record
