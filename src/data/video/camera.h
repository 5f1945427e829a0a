// A camera by the kernel's interface for video (V4L2): its frames as JPEG files, or as pairs of pixels (YUYV).
#pragma once

#include <filesystem>
#include <memory>

#include "data/video/video.h"

namespace evener::data {

/// Opens a camera such as /dev/video0 and makes it give frames: 1280x720 or the nearest size it has. Throws Error where
/// it is none, is in use, or gives pixels of no known kind. The reader's next() throws Error where it was unplugged.
std::unique_ptr<VideoReader> open_camera(const std::filesystem::path& path);

/// YUYV (ITU-R BT.601, 16 to 235) to RGB: two pixels of 4 bytes (luma, blue, luma, red), rows `row_bytes` apart.
/// Throws Error where `bytes` has too few.
Picture from_yuyv(std::string_view bytes, std::int64_t width, std::int64_t height, std::size_t row_bytes);

}  // namespace evener::data
