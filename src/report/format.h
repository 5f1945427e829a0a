// Numbers and texts for people and for HTML. Inside report/ only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"

namespace evener::report {

/// Three significant digits without an exponent, thousands separated: "26.9", "0.0123", "52,300".
std::string number_text(double value);
/// A share as percent: 0.972 -> "97.2 %".
std::string percent_text(double share);
/// "-" if there is none.
std::string percent_text(const std::optional<double>& share);

/// "a", "a and b", "a, b and c"; of more than `most` the first ones: "a, b and 7 more".
std::string listed(const std::vector<std::string>& words, std::size_t most = std::string::npos);

// Names of files and classes may be any bytes: what is written into pages, Markdown and CSV is UTF-8 (base/utf8.h).

/// & < > " ' as entities, control characters left out: safe between tags and in quoted attributes.
std::string escape_html(std::string_view text);
/// JSON that may stand in a <script> element: no '<', '>', '&', U+2028 or U+2029 in it.
std::string escape_json_for_script(std::string_view json);
/// A path as a relative address, whatever bytes it has: all but letters, digits, '/' and "-._~" as %XX.
std::string url_path(std::string_view path);
/// '|', newlines and HTML made harmless in a Markdown table, and what a terminal would obey replaced.
std::string escape_markdown(std::string_view text);
using evener::csv_cell;

/// Characters that a UTF-8 text takes on a terminal (one per code point).
std::size_t display_width(std::string_view text);

}  // namespace evener::report
