// Names a device that computes: its kind, and its index among those of the kind.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>

namespace evener {

enum class DeviceKind : std::uint8_t { kCpu, kCuda, kOpencl, kIntel, kNpu };

const char* device_kind_name(DeviceKind kind);

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;  // always 0 for the CPU

  auto operator<=>(const Device&) const = default;
};

/// "cpu" or "cuda:1".
std::string device_text(Device device);

/// Whether NVIDIA's kernel driver seems to be loaded: it looks for files under `root` that only exist with it. A root
/// other than "/" is for tests.
bool shows_nvidia_driver(const std::filesystem::path& root = "/");

}  // namespace evener
