// The options of the training that made a network, from its record, and the location of its data.
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
  /// Reads the record in `run`, the folder of the training. Nothing is known where `run` is empty or has no record.
  explicit RunConfig(const std::filesystem::path& run);

  /// The value of an option by its key in records. Absent where the record lacks it or has another type.
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

  /// The location of the run's data: as the user named it, or its absolute path where the name means nothing, or
  /// something else, in this working folder. Empty = not known.
  std::string data_location() const;

  /// The folder of the run; empty = none.
  const std::filesystem::path& folder() const { return folder_; }
  /// How many images each part of the training's data had.
  const record::DataRecord& data() const { return data_; }

 private:
  std::filesystem::path folder_;
  record::DataRecord data_;
  std::map<std::string, std::string> config_;
};

/// Adds the absolute path of `data`, where it is on disk, to a record's config, by which RunConfig::data_location()
/// finds it again.
void add_data_path(const std::string& data, nlohmann::json& config);

}  // namespace evener::job
