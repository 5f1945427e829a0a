// The values of "parts" in a packed file (data/pack.h).
#pragma once

#include <cstdint>

namespace evener::data {

constexpr std::uint8_t kPackedTrain = 0, kPackedVal = 1, kPackedTest = 2, kPackedUnused = 3;

}  // namespace evener::data
