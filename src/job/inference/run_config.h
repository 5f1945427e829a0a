// The options of the training that made a network, as its record has them, and where its data is.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "record/record.h"

namespace evener::job {

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

  /// The data that the run was made with: as it was named, or by its whole path where that names nothing, or something
  /// else, in this working folder. Empty = not known.
  std::string data_location() const;

  /// Empty = there is none.
  const std::filesystem::path& folder() const { return folder_; }
  /// How many images each part of the training's data had.
  const record::DataRecord& data() const { return data_; }

 private:
  std::filesystem::path folder_;
  record::DataRecord data_;
  std::map<std::string, std::string> config_;
};

/// Adds the whole path of `data`, where that is on disk: RunConfig::data_location() finds it again by that.
void add_data_path(const std::string& data, nlohmann::json& config);

}  // namespace evener::job
