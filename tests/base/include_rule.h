// The include rule of the source tree: who may include whom, and where vendors' headers may stand.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace evener::test {

struct Violation {
  int line = 0;
  std::string what;
};

/// Checks one source file. `path` is relative to src/, with '/': "task/training/train.cpp".
std::vector<Violation> check_includes(const std::string& path, std::string_view text);

/// Folders that include each other in a circle, each circle in the words of one line: "job/plan, job/train". `files`:
/// text of each, by its path.
std::vector<std::string> folder_circles(const std::map<std::string, std::string>& files);

/// Names of all rooms, the folders directly in src/.
std::vector<std::string> known_rooms();

}  // namespace evener::test
