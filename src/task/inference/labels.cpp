#include "task/inference/labels.h"

#include <fmt/format.h>

#include <cstdint>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"

namespace evener::task {

namespace fs = std::filesystem;

constexpr std::size_t kMostLabels = 1'000'000;
constexpr std::uint64_t kMostBytes = 1 << 28;

std::vector<std::string> read_labels(const fs::path& path) {
  std::istringstream text;
  try {
    text.str(text_without_byte_order_mark(read_file(path, kMostBytes)));
  } catch (const Error& error) {
    throw Error(fmt::format("the labels '{}' can't be read ({}); give a text file with a name on each line",
                            path.string(), error.what()));
  }
  std::vector<std::string> labels;
  for (std::string line; std::getline(text, line) && labels.size() < kMostLabels;) {
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
