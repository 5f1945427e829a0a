// The options of the training that made a network, as its record has them.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace evener::cli {

class RunConfig {
 public:
  /// `run`: the folder of the training; nothing is known where it is empty or has no record.
  explicit RunConfig(const std::filesystem::path& run);

  /// Absent where the option isn't there, or has another type: the record may be an older program's.
  template <class T>
  std::optional<T> get(const std::string& key) const {
    const auto found = config_.find(key);
    if (found == config_.end()) return std::nullopt;
    const auto value = nlohmann::json::parse(found->second, nullptr, false);
    try {
      return value.is_discarded() || value.is_null() ? std::nullopt : std::optional(value.get<T>());
    } catch (const nlohmann::json::exception&) {
      return std::nullopt;
    }
  }

 private:
  std::map<std::string, std::string> config_;
};

}  // namespace evener::cli
