#include "job/cache_folder.h"

#include <cstdlib>

namespace evener::job {

std::filesystem::path cache_folder(const std::string& name) {
  const auto absolute = [](const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value == '/' ? std::filesystem::path(value) : std::filesystem::path();
  };
  std::filesystem::path cache = absolute("XDG_CACHE_HOME");
  if (cache.empty() && !absolute("HOME").empty()) cache = absolute("HOME") / ".cache";
  return cache.empty() ? cache : cache / "evener" / name;
}

std::filesystem::path compile_cache() {
  return cache_folder("openvino");
}

}  // namespace evener::job
