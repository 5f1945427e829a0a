#include "engine/openvino/errors.h"

#include <sstream>

#include "base/terminal_text.h"

namespace evener::engine::openvino_engine {

/// Longer texts are cut: some list every operator of a large network.
constexpr std::size_t kLongest = 400;

std::string plain_text(const std::string& message) {
  std::istringstream lines(message);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    line = line.substr(begin);
    // "Exception from src/inference/src/cpp/core.cpp:143:", "Check 'x == y' failed at src/...:12:"
    const bool place = line.starts_with("Exception from ") || line.find(" failed at src/") != std::string::npos;
    const bool heading = line.starts_with("FrontEnd API failed with ") || line == "Summary:";
    if (line.starts_with("-- ")) line.erase(0, 3);
    if (!place && !heading) text += (text.empty() ? "" : " ") + line;
  }
  return text.empty() ? "no reason told" : one_line(text.substr(0, kLongest));
}

}  // namespace evener::engine::openvino_engine
