// The name of the format, and the values of "parts" and "box_flags", in a packed file (data/open/pack.h).
#pragma once

#include <cstdint>

#include "data/targets.h"

namespace evener::data {

constexpr const char* kPackFormat = "evener-pack-1";

constexpr std::uint8_t kPackedTrain = 0, kPackedVal = 1, kPackedTest = 2, kPackedUnused = 3;

/// The flags of a box as one number, and back.
constexpr std::uint8_t packed_flags(const LabelledBox& box) {
  return static_cast<std::uint8_t>((box.is_difficult ? 1 : 0) + (box.is_truncated ? 2 : 0) + (box.is_crowd ? 4 : 0));
}
constexpr void set_packed_flags(std::uint8_t flags, LabelledBox& box) {
  box.is_difficult = (flags & 1) != 0;
  box.is_truncated = (flags & 2) != 0;
  box.is_crowd = (flags & 4) != 0;
}

}  // namespace evener::data
