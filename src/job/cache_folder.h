// Where what can be made or fetched again is kept between runs.
#pragma once

#include <filesystem>
#include <string>

namespace evener::job {

/// evener/NAME in $XDG_CACHE_HOME, or in ~/.cache; it need not exist. Empty where neither variable names a folder.
std::filesystem::path cache_folder(const std::string& name);

}  // namespace evener::job
