// Record -> JSON, in the order of design.md section 7.
#include <cmath>
#include <nlohmann/json.hpp>

#include "record/record_fields.h"
#include "record/record_json.h"

namespace evener::record {
namespace {

using Json = nlohmann::ordered_json;

class Writer {
 public:
  template <typename T>
  void value(const char* key, const T& member) {
    json_[key] = json_of(member);
  }
  void text(const char* key, const std::string& member) { json_[key] = member.empty() ? Json(nullptr) : Json(member); }
  void not_negative(const char* key, const std::optional<double>& member) { value(key, member); }
  void share(const char* key, const std::optional<double>& member) { value(key, member); }
  void square(const char* key, const std::vector<std::vector<std::int64_t>>& rows) { json_[key] = rows; }
  void schema(const char* key) { json_[key] = kRecordSchema; }
  template <typename Members>
  void group(const char* key, Members members) {
    Writer inner;
    members(inner);
    json_[key] = std::move(inner.json_);
  }
  template <typename T>
  void null_if(bool absent, const char* key, const T& member) {
    json_[key] = absent ? Json(nullptr) : json_of(member);
  }
  template <typename T>
  void left_out_if_empty(const char* key, const T& member) {
    if (!member.empty()) value(key, member);
  }
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

  Json take() { return std::move(json_); }

 private:
  template <typename T>
  static Json json_of(const T& member) {
    if constexpr (requires(Writer & writer) { describe(writer, member); }) {
      Writer inner;
      describe(inner, member);
      return inner.take();
    } else {
      return member;
    }
  }
  static Json json_of(const Status& status) { return status_name(status); }
  static Json json_of(const EnergyClass& kind) { return energy_class_name(kind); }
  static Json json_of(const Covers& covers) { return covers_name(covers); }
  static Json json_of(const Better& better) { return better_name(better); }
  static Json json_of(const MetricRole& role) { return role_name(role); }
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

}  // namespace

nlohmann::ordered_json to_json(const Record& record) {
  Writer writer;
  describe(writer, record);
  return writer.take();
}

std::map<std::string, std::string> config_from_json(const nlohmann::json& object) {
  std::map<std::string, std::string> config;
  for (const auto& [name, value] : object.items()) {
    config[name] = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return config;
}

}  // namespace evener::record
