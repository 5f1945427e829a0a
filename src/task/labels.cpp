#include "task/labels.h"

#include <fmt/format.h>

#include <fstream>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace evener::task {

namespace fs = std::filesystem;

constexpr std::size_t kMostLabels = 1'000'000;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // that editors of Windows begin a file with

std::vector<std::string> read_labels(const fs::path& path) {
  std::ifstream file(path);
  if (!file)
    throw Error(fmt::format("the labels '{}' can't be read; give a text file with a name on each line", path.string()));
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line) && labels.size() < kMostLabels;) {
    if (labels.empty() && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    if (line.ends_with('\r')) line.pop_back();
    labels.push_back(std::move(line));
  }
  while (!labels.empty() && labels.back().empty()) labels.pop_back();
  return labels;
}

fs::path labels_beside(const fs::path& weights) {
  return fs::path(weights).replace_extension(".classes.txt");
}

}  // namespace evener::task
