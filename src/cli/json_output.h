// Writes the output of --json FILE and --json -.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace evener::cli {

/// Writes `text` to the file `target`, or to stdout for "-"; "" = nowhere. Returns true where it went to stdout, to
/// which nothing else may be written then. Throws Error where the file can't be written.
bool write_json_text(const std::string& target, const std::string& text);

/// The same for JSON. Invalid UTF-8, as in file names, is replaced.
template <class Json>
bool write_json(const std::string& target, const Json& json) {
  return !target.empty() && write_json_text(target, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace evener::cli
