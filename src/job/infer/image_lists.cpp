#include "job/infer/image_lists.h"

#include <filesystem>
#include <iostream>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"

namespace evener::job {
namespace {

std::vector<std::string> lines_of(std::istream& stream) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::vector<std::string> with_lists(const std::vector<std::string>& words) {
  std::vector<std::string> locations;
  const auto append = [&](const std::vector<std::string>& more) {
    locations.insert(locations.end(), more.begin(), more.end());
  };
  for (const std::string& word : words) {
    if (word == "-") {
      append(lines_of(std::cin));
    } else if (word.ends_with(".txt") && std::filesystem::is_regular_file(word)) {
      std::istringstream file(text_without_byte_order_mark(read_file(word)));
      append(lines_of(file));
    } else {
      locations.push_back(word);
    }
  }
  if (locations.empty()) throw UsageError("the list of images is empty");
  return locations;
}

}  // namespace evener::job
