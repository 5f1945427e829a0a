// Converts any struct that has describe() (base/described.h) to JSON and back: described_json() and read_described().
// Each file that uses these templates compiles their code anew, so for a large struct only one file should.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/described.h"
#include "record/json_reader.h"
#include "record/statistics.h"

namespace evener::record {

/// The words that stand for an enum's values in files. An overload words_of(Enum) in the enum's namespace returns them.
template <typename Enum>
struct Words {
  const char* (*name)(Enum);
  Enum last, first = {};  // of those that files may contain
};
template <typename T>
concept HasWords = requires(T value) {
  words_of(value).name(value);
};

/// A visitor for describe() that writes a struct's members into a JSON object. Absent values become null, and so do
/// numbers that JSON can't hold (the loss of a training that diverged).
class JsonWriter : public PlainVisitor<JsonWriter> {
  using Json = nlohmann::ordered_json;

 public:
  void value(const char* key, const auto& member) { json_[key] = json_of(member); }
  void text(const char* key, const std::string& member) { json_[key] = member.empty() ? Json(nullptr) : Json(member); }
  void schema(const char* key, const char* schema) { json_[key] = schema; }
  void group(const char* key, auto members) {
    JsonWriter inner;
    members(inner);
    json_[key] = std::move(inner.json_);
  }
  void null_if(bool absent, const char* key, const auto& member) {
    json_[key] = absent ? Json(nullptr) : json_of(member);
  }
  void left_out_if(bool is_so, const char* key, const auto& member) {
    if (!is_so) value(key, member);
  }
  void left_out_if_empty(const char* key, const auto& member) { left_out_if(member.empty(), key, member); }
  void fixed(const char* key, const std::string& text) { json_[key] = text; }
  void interval(const char* key, const std::optional<Interval>& member) {
    json_[key] = nullptr;
    if (member) json_[key] = {member->low, member->high};
  }
  template <typename T>
  void named(const char* key, const std::vector<T>& members, double T::*number) {
    json_[key] = Json::object();
    for (const T& member : members) json_[key][member.name] = member.*number;
  }
  void why_absent(const char* key, bool present, const std::string& reason) {
    if (!present) json_[key] = reason.empty() ? "not measured" : reason;
  }
  void reason_of(const char* path, const std::string& reason) {
    if (!reason.empty()) json_["missing"][path] = reason;
  }
  void config(const char* key, const std::map<std::string, std::string>& options) {
    json_[key] = Json::object();
    for (const auto& [name, option] : options) json_[key][name] = Json::parse(option);
  }

  nlohmann::ordered_json take() { return std::move(json_); }

 private:
  template <typename T>
  static Json json_of(const T& member) {
    if constexpr (Describes<JsonWriter, const T>) {
      JsonWriter inner;
      describe(inner, member);
      return inner.take();
    } else if constexpr (HasWords<T>) {
      return words_of(member).name(member);
    } else {
      return member;
    }
  }
  /// Null for a missing value; for a number that JSON can't hold (a diverged loss) too.
  template <typename T>
  static Json json_of(const std::optional<T>& member) {
    if (!member) return nullptr;
    if constexpr (std::is_same_v<T, double>) {
      if (!std::isfinite(*member)) return nullptr;
    }
    return json_of(*member);
  }
  template <typename T>
  static Json json_of(const std::vector<T>& list) {
    Json json = Json::array();
    for (const T& element : list) json.push_back(json_of(element));
    return json;
  }
  /// {} rather than null for an empty map.
  template <typename T>
  static Json json_of(const std::map<std::string, T>& map) {
    Json json = Json::object();
    for (const auto& [key, entry] : map) json[key] = json_of(entry);
    return json;
  }

  Json json_ = Json::object();
};

/// A visitor for describe() that reads a struct's members from a JSON object. Since files may come from other versions
/// or other people, types and ranges are checked; missing and null members keep their defaults. Throws Error naming
/// file and key.
class JsonFields : public PlainVisitor<JsonFields> {
 public:
  explicit JsonFields(JsonReader json) : json_(std::move(json)) {}

  template <typename T>
  void value(const char* key, T& member) {
    if constexpr (Describes<JsonFields, T>) {
      JsonFields inner(json_.object(key));
      describe(inner, member);
    } else if constexpr (HasWords<T>) {
      word(key, member);
    } else if constexpr (requires { json_.read(key, member); }) {
      json_.read(key, member);
    } else {
      convert(key, member);
    }
  }
  template <typename T>
  void value(const char* key, std::optional<T>& member) {
    if (json_.find(key) == nullptr) return;
    T found{};
    value(key, found);
    member = std::move(found);
  }
  template <typename T>
  void value(const char* key, std::vector<T>& members) {
    if constexpr (Describes<JsonFields, T>) {
      json_.each(key, [&](const JsonReader& element) {
        JsonFields inner(element);
        describe(inner, members.emplace_back());
      });
    } else {
      json_.read(key, members);
    }
  }
  /// An object whose keys are the `name` members of the map's values.
  template <typename T>
  void by_name(const char* key, std::map<std::string, T>& members) {
    const JsonReader table = json_.object(key);
    for (const std::string& name : table.keys()) {
      JsonFields inner(table.object(name.c_str()));
      T& member = members[name];
      member.name = name;
      describe(inner, member);
    }
  }
  void required(const char* key, auto& member) {
    if (json_.find(key) == nullptr) json_.fail(key, "expected a value");
    value(key, member);
  }
  void not_negative(const char* key, std::optional<double>& member) {
    json_.read_within(key, 0, std::numeric_limits<double>::infinity(), member);
  }
  void column_if_known(const char* key, std::optional<double>& member) { not_negative(key, member); }
  void share(const char* key, std::optional<double>& member) { json_.read_within(key, 0, 1, member); }
  void square(const char* key, std::vector<std::vector<std::int64_t>>& rows) {
    json_.read(key, rows);
    for (const auto& row : rows) {
      if (row.size() != rows.size()) json_.fail(key, "expected as many columns as rows");
    }
  }
  void schema(const char* key, const char* schema) {
    std::string found;
    json_.read(key, found);
    if (found == schema) return;
    json_.fail(key, "expected \"" + std::string(schema) + "\", as this version of the program writes it");
  }
  void group(const char* key, auto members) {
    JsonFields inner(json_.object(key));
    members(inner);
  }
  void check(const char* key, bool holds, const char* expected) {
    if (!holds) json_.fail(key, expected);
  }
  void interval(const char* key, std::optional<Interval>& member) {
    std::vector<double> ends;
    json_.read(key, ends);
    if (ends.size() == 2) {
      member = {ends[0], ends[1]};
    } else if (!ends.empty()) {
      json_.fail(key, "expected two numbers");
    }
  }
  template <typename T>
  void named(const char* key, std::vector<T>& members, double T::*number) {
    std::map<std::string, double> numbers;
    json_.read(key, numbers);
    for (const auto& [name, entry] : numbers) {
      members.emplace_back().name = name;
      members.back().*number = entry;
    }
  }
  void reason_of(const char* path, std::string& reason) { json_.object("missing").read(path, reason); }
  void config(const char* key, std::map<std::string, std::string>& options) {
    json_.object(key);  // throws if it isn't an object
    if (const nlohmann::json* object = json_.find(key)) options = config_from_json(*object);
  }

 private:
  template <typename Enum>
  void word(const char* key, Enum& member) {
    const auto words = words_of(member);
    std::string word = words.name(member);
    json_.read(key, word);
    std::string expected;
    for (int n = static_cast<int>(words.first); n <= static_cast<int>(words.last); ++n) {
      const auto each = static_cast<Enum>(n);
      if (word == words.name(each)) {
        member = each;
        return;
      }
      expected += (expected.empty() ? "\"" : " or \"") + std::string(words.name(each)) + "\"";
    }
    json_.fail(key, "expected " + expected);
  }
  /// Reads a type that the JSON library can convert.
  void convert(const char* key, auto& member) {
    const nlohmann::json* found = json_.find(key);
    if (found == nullptr) return;
    try {
      found->get_to(member);
    } catch (const nlohmann::json::exception& problem) {
      json_.fail(key, problem.what());
    }
  }

  JsonReader json_;
};

/// `value` as a JSON object.
nlohmann::ordered_json described_json(const auto& value) {
  JsonWriter writer;
  describe(writer, value);
  return writer.take();
}

/// Reads `json` into `value`; `source` names the file in errors.
void read_described(const nlohmann::json& json, const std::string& source, auto& value) {
  JsonFields fields(JsonReader(json, source));
  describe(fields, value);
}

}  // namespace evener::record
