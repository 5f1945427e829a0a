// The folders for caches, whose content can be made or downloaded again.
#pragma once

#include <filesystem>
#include <string>

namespace evener::job {

/// The folder evener/NAME in $XDG_CACHE_HOME, or else in $HOME/.cache; it need not exist. Empty where neither variable
/// names a folder.
std::filesystem::path cache_folder(const std::string& name);

/// The folder in which compiled networks are kept between runs.
std::filesystem::path compile_cache();

}  // namespace evener::job
