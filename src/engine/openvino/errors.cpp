#include "engine/openvino/errors.h"

#include <sstream>

#include "base/names.h"

namespace evener::engine::openvino_engine {

std::string plain_text(const std::string& message) {
  std::istringstream lines(message);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    line = line.substr(begin);
    // "Exception from src/inference/src/cpp/core.cpp:143:", "Check 'x == y' failed at src/...:12:"
    const bool place = line.starts_with("Exception from ") || line.find(" failed at src/") != std::string::npos;
    if (!place) text += (text.empty() ? "" : " ") + line;
  }
  return text.empty() ? "no reason told" : printable(text.substr(0, 400));
}

}  // namespace evener::engine::openvino_engine
