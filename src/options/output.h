// What commands write: to stdout, into the files of --json and --csv, and about pages.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace evener {

/// Writes to stdout, before what stderr says next.
void put(const std::string& text);
/// Writes `text` to the file `place`, or to stdout for "-". Tells the name of the file.
void put_to(const std::string& place, const std::string& text);

/// The width that tables may have: that of the terminal, or 200 where the output goes elsewhere.
std::size_t table_width();

/// Where a page about `folders` goes: to `html`, what --html says; if that is empty as `name` into the only folder, or
/// for several into the current one.
std::filesystem::path page_path(const std::string& html, const std::vector<std::string>& folders, const char* name);
/// Tells where a page was written, and why it has no plots; `hint`: "" = it has them.
void put_written(const std::filesystem::path& page, const std::string& hint);

/// Writes `text` to the file `target`, or to stdout for "-"; "" = nowhere. Returns true where it went to stdout, to
/// which nothing else may be written then. Throws Error where the file can't be written.
bool write_json_text(const std::string& target, const std::string& text);

/// As files have it. Invalid UTF-8, as in file names, is replaced.
template <class Json>
std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// As write_json_text().
template <class Json>
bool write_json(const std::string& target, const Json& json) {
  return !target.empty() && write_json_text(target, json_text(json));
}

}  // namespace evener
