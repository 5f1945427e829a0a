// Typed reading of a JSON object from a file: missing and null are fine, a wrong type is an Error naming file and key.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace evener::record {

class JsonReader {
 public:
  /// Reads from `json`, which must outlive the reader; null counts as an empty object. `path`: its place in the file
  /// ("" = top), for errors.
  JsonReader(const nlohmann::json& json, std::string source, std::string path = "");

  /// The object under `key`; an empty one if it is missing or null.
  JsonReader object(const char* key) const;
  /// Calls `element` with a reader for each object of the array under `key`.
  void each(const char* key, const std::function<void(const JsonReader&)>& element) const;
  /// The keys whose values are not null.
  std::vector<std::string> keys() const;
  /// The value itself, or nullptr if it is missing or null.
  const nlohmann::json* find(const char* key) const;

  /// These leave `target` unchanged if the key is missing or null.
  void read(const char* key, std::string& target) const;
  void read(const char* key, double& target) const;
  void read(const char* key, std::int64_t& target) const;
  void read(const char* key, std::uint64_t& target) const;
  void read(const char* key, int& target) const;
  void read(const char* key, bool& target) const;
  template <typename T>
  void read(const char* key, std::optional<T>& target) const {
    if (find(key) == nullptr) return;
    T value{};
    read(key, value);
    target = value;
  }
  template <typename T>
  void read(const char* key, std::vector<T>& target) const;
  template <typename T>
  void read(const char* key, std::map<std::string, T>& target) const;

  /// A number that must lie in [low, high].
  void read_within(const char* key, double low, double high, std::optional<double>& target) const;

  /// "FILE: key 'a.b': <what>".
  [[noreturn]] void fail(const char* key, const std::string& what) const;

 private:
  template <typename T>
  T whole_number(const char* key) const;
  std::string path_of(const char* key) const;

  const nlohmann::json* json_;
  std::string source_;
  std::string path_;
};

template <typename T>
void JsonReader::read(const char* key, std::vector<T>& target) const {
  const nlohmann::json* list = find(key);
  if (list == nullptr) return;
  if (!list->is_array()) fail(key, "expected a list");
  target.clear();
  for (const nlohmann::json& element : *list) {
    if (element.is_null()) fail(key, "expected a list without null");
    const nlohmann::json wrapped{{key, element}};
    T value{};
    JsonReader(wrapped, source_, path_).read(key, value);
    target.push_back(std::move(value));
  }
}

template <typename T>
void JsonReader::read(const char* key, std::map<std::string, T>& target) const {
  const nlohmann::json* table = find(key);
  if (table == nullptr) return;
  const JsonReader inner = object(key);
  for (const auto& [name, unused] : table->items()) {
    if (inner.find(name.c_str()) != nullptr) inner.read(name.c_str(), target[name]);
  }
}

/// A JSON object's members as Record::config has them: name -> value as JSON text.
std::map<std::string, std::string> config_from_json(const nlohmann::json& object);

/// JSON text, with `indent` spaces per level, or on one line if negative. Bytes that aren't UTF-8, as names of files
/// may have, become replacement characters: an exception here would lose the record at the end of a run.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace evener::record
