// A record as JSON: for files, for stdout, and between processes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "record/json_reader.h"
#include "record/record.h"

namespace evener::record {

/// Keys in the order of record_fields.h.
nlohmann::ordered_json to_json(const Record& record);
/// Reads a record; keys may be missing or unknown. Throws Error naming `source` and the key for a wrong type, a wrong
/// schema or an impossible number (negative counts, an accuracy of 7).
Record from_json(const nlohmann::json& json, const std::string& source);

}  // namespace evener::record
