// What --json FILE and --json - ask for.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace evener::cli {

/// Writes `text` to the file `target`, or to stdout for "-"; "" = nowhere. True where it went to stdout, which then has
/// nothing else. Throws Error where the file can't be written.
bool write_json_text(const std::string& target, const std::string& text);

/// Bytes of names that are not UTF-8 are replaced.
template <class Json>
bool write_json(const std::string& target, const Json& json) {
  return !target.empty() && write_json_text(target, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace evener::cli
