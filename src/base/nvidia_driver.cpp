#include "base/nvidia_driver.h"

#include <algorithm>
#include <system_error>

namespace evener {

bool shows_nvidia_driver(const std::filesystem::path& root) {
  constexpr const char* kFiles[] = {"dev/nvidiactl", "proc/driver/nvidia", "dev/dxg"};  // the last one is WSL2's
  return std::ranges::any_of(kFiles, [&](const char* file) {
    std::error_code ignored;
    return std::filesystem::exists(root / file, ignored);
  });
}

}  // namespace evener
