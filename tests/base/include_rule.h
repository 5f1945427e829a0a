// The include rule of the source tree: who may include whom, and where vendors' headers may stand.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace evener::test {

struct Violation {
  int line = 0;
  std::string what;
};

/// Checks one source file. `path` is relative to src/, with '/': "train/steps/train.cpp".
std::vector<Violation> check_includes(const std::string& path, std::string_view text);

/// Folders that include each other in a circle, each circle in the words of one line: "train, train/steps". `files`:
/// text of each, by its path.
std::vector<std::string> folder_circles(const std::map<std::string, std::string>& files);

/// Which rooms each room includes, of `files`: text of each, by its path.
std::map<std::string, std::set<std::string>> room_arrows(const std::map<std::string, std::string>& files);

/// Those arrows that no way over other rooms implies.
std::size_t drawn_arrows(const std::map<std::string, std::set<std::string>>& arrows);

/// The lines of a file, by number, that print, where it isn't a command's or one that prints for all of them.
std::vector<int> printing_lines(const std::string& path, std::string_view text);

/// Names of all rooms, the folders directly in src/.
std::vector<std::string> known_rooms();

}  // namespace evener::test
