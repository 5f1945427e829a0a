// Where compiled networks are kept between runs.
#pragma once

#include <filesystem>

namespace evener::job {

/// $XDG_CACHE_HOME/evener/openvino, or the same below ~/.cache; empty where neither is known.
std::filesystem::path compile_cache();

}  // namespace evener::job
