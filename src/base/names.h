// Offering the nearest known name for a misspelt one, texts from foreign files, and units for people.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace evener {

/// The known name with the smallest edit distance (Damerau-Levenshtein, case-insensitive), or "" if none is near:
/// within a third of the longer name's length, at least 1.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

/// "unknown model 'resnet43'; did you mean 'resnet34'? Known: a, b, c"
std::string unknown_name_message(std::string_view what, std::string_view name, const std::vector<std::string>& known);

/// The name of an enum's value, whose values count from 0; "?" for a number that is none of them.
template <typename Enum, std::size_t N>
constexpr const char* name_in(const char* const (&names)[N], Enum value) {
  return static_cast<std::size_t>(value) < N ? names[static_cast<std::size_t>(value)] : "?";
}

/// The value of that name. Throws UsageError with unknown_name_message().
template <typename Enum, std::size_t N>
Enum value_named(const char* const (&names)[N], std::string_view what, std::string_view name) {
  const auto* const found = std::ranges::find(names, name);
  if (found != std::end(names)) return static_cast<Enum>(found - names);
  throw UsageError(unknown_name_message(what, name, {std::begin(names), std::end(names)}));
}

/// `text` from a foreign file for a message: cut after 100 bytes, what a terminal would obey replaced by '?'.
std::string printable(std::string_view text);
/// printable() in single quotes.
std::string quoted_text(std::string_view text);

/// `text` without the blanks, tabs and line breaks at both ends.
std::string_view trimmed(std::string_view text);

/// "1.5 GB" (powers of 1000, three significant digits).
std::string bytes_text(std::uint64_t bytes);
/// "3.6 GFLOP", "21.3 M": value with an SI prefix and three significant digits, then `unit`.
std::string si_text(double value, std::string_view unit = "");
/// "850 ms", "12.3 s", "4 min 05 s", "2 h 10 min".
std::string duration_text(double seconds);

}  // namespace evener
