#include "cli/data_options.h"

#include "base/error.h"

namespace evener::cli {

void add_class_option(CLI::App& command, std::vector<std::string>& classes) {
  command
      .add_option("--class", classes,
                  "Files of a class by their path below the folder, as bream='Bream GT/**'; once for each class "
                  "(default: a folder per class)")
      ->type_name("NAME=GLOB")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

std::vector<data::ClassFiles> parse_classes(const std::vector<std::string>& words) {
  std::vector<data::ClassFiles> classes;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == word.size()) {
      throw UsageError("--class '" + word + "' is not NAME=GLOB, as in --class bream='Bream GT/**'");
    }
    classes.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return classes;
}

}  // namespace evener::cli
