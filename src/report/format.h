// Formats numbers and texts for people and for HTML.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "record/statistics.h"

namespace evener::report {

/// Three significant digits without an exponent, thousands separated: "26.9", "0.0123", "52,300".
std::string number_text(double value);
/// A share as percent: 0.972 -> "97.2 %".
std::string percent_text(double share);
/// The same; "-" if absent.
std::string percent_text(const std::optional<double>& share);

/// Joins words: "a", "a and b", "a, b and c"; with more than `most` words "a, b and 7 more".
std::string listed(const std::vector<std::string>& words, std::size_t most = std::string::npos);

// Names of files and classes may be any bytes; the functions below make them valid UTF-8 (base/utf8.h).

/// Escapes & < > " ' and drops control characters: safe between tags and in quoted attributes.
std::string escape_html(std::string_view text);
/// Escapes '<', '>', '&', U+2028 and U+2029 in JSON, so that it may stand in a <script> element.
std::string escape_json_for_script(std::string_view json);
/// A path of any bytes as a relative URL: all but letters, digits, '/' and "-._~" become %XX.
std::string url_path(std::string_view path);
/// Escapes '|', newlines and HTML for a Markdown table, and replaces terminal control characters.
std::string escape_markdown(std::string_view text);
using evener::csv_cell;

/// The width of a UTF-8 text on a terminal: one per code point.
std::size_t display_width(std::string_view text);

/// null for an absent value; numbers that aren't finite are written as null too.
template <typename T>
nlohmann::ordered_json value_or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

/// [low, high] or null.
inline nlohmann::ordered_json ends_or_null(const std::optional<record::Interval>& interval) {
  if (!interval) return nullptr;
  return nlohmann::ordered_json::array({interval->low, interval->high});
}

}  // namespace evener::report
