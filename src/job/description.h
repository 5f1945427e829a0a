// What a job tells of something that it looked at.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace evener::job {

/// The same twice: for people, and for programs.
struct Description {
  std::string text;
  nlohmann::ordered_json json;
};

}  // namespace evener::job
