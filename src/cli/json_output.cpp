#include "cli/json_output.h"

#include <cstdio>

#include "base/files.h"

namespace evener::cli {

bool write_json_text(const std::string& target, const std::string& text) {
  if (target == "-") {
    std::fputs(text.c_str(), stdout);
    return true;
  }
  if (!target.empty()) write_file_atomically(target, text);
  return false;
}

}  // namespace evener::cli
