// Writes the output of --json FILE and --json -.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"

namespace evener::cli {

/// Writes `text` to the file `target`, or to stdout for "-"; "" = nowhere. Returns true where it went to stdout, to
/// which nothing else may be written then. Throws Error where the file can't be written.
inline bool write_json_text(const std::string& target, const std::string& text) {
  if (target == "-") {
    std::fputs(text.c_str(), stdout);
    return true;
  }
  if (!target.empty()) write_file_atomically(target, text);
  return false;
}

/// The same for JSON. Invalid UTF-8, as in file names, is replaced.
template <class Json>
bool write_json(const std::string& target, const Json& json) {
  return !target.empty() && write_json_text(target, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace evener::cli
