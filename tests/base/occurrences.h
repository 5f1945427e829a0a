// How often a text holds another. Header only, so that the tests of every room can use it.
#pragma once

#include <cstddef>
#include <string>

namespace evener::test {

inline std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

}  // namespace evener::test
