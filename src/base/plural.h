// Numbers of things in sentences.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace evener {

/// "1 epoch", "2 epochs".
template <std::integral Count>
std::string counted(Count count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

}  // namespace evener
