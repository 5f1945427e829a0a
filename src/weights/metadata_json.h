// Values in the metadata of a file of weights: JSON whose strings may be any bytes, such as the names of folders.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace evener::weights {

/// `value` as text that is always UTF-8 (base/utf8.h).
std::string metadata_text(const nlohmann::json& value);
/// The inverse of metadata_text(). Values that are nested deeper than any that we write become null. Throws
/// nlohmann::json::parse_error for text that is not JSON.
nlohmann::json metadata_value(const std::string& text);

}  // namespace evener::weights
