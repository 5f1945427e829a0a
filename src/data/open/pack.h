// Decoded images in one safetensors file, which is mapped into memory instead of being decoded again:
//   images U8 (N, C, H, W), labels I32 (N), parts U8 (N): 0 train, 1 val, 2 test, 3 in no part.
// Data with boxes has, instead of labels, box_counts I32 (N), and of all boxes one after the other: corners F32 (M, 4):
// x1, y1, x2, y2; box_labels I32 (M); box_flags U8 (M): 1 difficult + 2 truncated + 4 crowd. Metadata: format, source,
// classes, mean, deviation (JSON lists; the last two of the training part).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "data/open/open_data.h"
#include "data/sources/source.h"

namespace evener::data {

/// The approximate size in bytes of a packed file.
std::uint64_t packed_bytes(std::size_t images, const ImageShape& shape);

/// Throws Error if such a packed file can't be written: no permission, or not enough disk space.
void require_room_for_pack(std::size_t images, const ImageShape& shape, const std::filesystem::path& file);

/// Writes opened data into `file`, which is afterwards whole or absent. `source`: stored in it for people. Throws
/// Error, Interrupted.
void write_packed(const OpenedData& data, const std::string& source, const std::filesystem::path& file, int threads);

}  // namespace evener::data
