// Whether NVIDIA's driver is there, without opening it.
#pragma once

#include <filesystem>

namespace evener {

/// Whether NVIDIA's kernel driver seems to be loaded: it looks for files under `root` that only exist with it. A root
/// other than "/" is for tests.
bool shows_nvidia_driver(const std::filesystem::path& root = "/");

}  // namespace evener
