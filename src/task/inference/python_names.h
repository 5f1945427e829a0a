// Names of classes as Ultralytics writes them into files: a dictionary or list as Python prints it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evener::task {

/// The names of {0: 'person', 1: "driver's seat"} or ['person', 'car'], by their numbers from 0. Empty for anything
/// else, such as numbers that leave gaps. The text is not trusted.
std::vector<std::string> names_in_python(std::string_view text);

}  // namespace evener::task
