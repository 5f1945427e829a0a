// Counts with their nouns, for sentences.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace evener {

/// "1 epoch", "2 epochs"; `several` is the plural that isn't made by an s: "2 classes".
template <std::integral Count>
std::string counted(Count count, std::string_view thing, std::string_view several = "") {
  const std::string plural = several.empty() ? std::string(thing) + "s" : std::string(several);
  return std::to_string(count) + " " + (count == 1 ? std::string(thing) : plural);
}

}  // namespace evener
