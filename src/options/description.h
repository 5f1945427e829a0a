// The result of a command that describes something.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace evener {

/// A description as text for people, and as JSON for programs.
struct Description {
  std::string text;
  nlohmann::ordered_json json;
};

}  // namespace evener
