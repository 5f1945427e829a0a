// What the system shows of NVIDIA's driver, without asking that.
#pragma once

#include <filesystem>

namespace evener {

/// Whether the driver of NVIDIA GPUs may be loaded, by the files under `root` that are there only with it. Another root
/// than "/" is for tests.
bool shows_nvidia_driver(const std::filesystem::path& root = "/");

}  // namespace evener
