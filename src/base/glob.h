// Matching paths against patterns, as shells and .gitignore do.
#pragma once

#include <string_view>

namespace evener {

/// True if the whole of `path` ('/' between its parts) fits `pattern`:
///   *  any characters but '/'      ?  one character but '/'      [a-z] [!a-z]  one of a set
///   ** any characters, also '/'; a part of its own ("a/**/b") also stands for no folder at all
/// A '[' without its ']' stands for itself. The cost is at most the product of both lengths.
bool glob_matches(std::string_view pattern, std::string_view path);

}  // namespace evener
