// A record as JSON: for files, for stdout, and between processes.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "record/record.h"

namespace evener::record {

/// Keys in the order of design.md.
nlohmann::ordered_json to_json(const Record& record);
/// Keys may be missing or unknown; a value of the wrong type, a wrong schema, or a number that can't be (negative
/// counts, an accuracy of 7) throws Error naming `source` and the key.
Record from_json(const nlohmann::json& json, const std::string& source);

/// The options of a JSON object as Record::config holds them: name -> value as JSON.
std::map<std::string, std::string> config_from_json(const nlohmann::json& object);

}  // namespace evener::record
