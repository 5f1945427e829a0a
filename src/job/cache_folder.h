// Where what can be made or fetched again is kept between runs.
#pragma once

#include <filesystem>
#include <string>

namespace evener::job {

/// evener/NAME in $XDG_CACHE_HOME, or in ~/.cache; it need not exist. Empty where neither variable names a folder.
std::filesystem::path cache_folder(const std::string& name);

/// Where compiled networks are kept between runs.
std::filesystem::path compile_cache();

}  // namespace evener::job
