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
  /// `json` must outlive the reader. `path`: where it stands in the file ("" = top). Null reads as an empty object.
  JsonReader(const nlohmann::json& json, std::string source, std::string path = "");

  /// The object under `key`; an empty one if it is missing or null.
  JsonReader object(const char* key) const;
  /// Calls `element` with a reader for each object of the array under `key`.
  void each(const char* key, const std::function<void(const JsonReader&)>& element) const;
  /// The names of the values that are not null.
  std::vector<std::string> keys() const;
  /// The value itself, or nullptr if it is missing or null.
  const nlohmann::json* find(const char* key) const;

  /// Leave the target as it is where the key is missing or null.
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

/// The options of a JSON object as Record::config holds them: name -> value as JSON.
std::map<std::string, std::string> config_from_json(const nlohmann::json& object);

/// Its text, in lines with so many spaces an inner level, or in one line. Names of files may not be UTF-8: what can't
/// be told is shown as a replacement character rather than failing at the very end.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace evener::record
