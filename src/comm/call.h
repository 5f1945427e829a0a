// The collective that a rank has called, packed into one word that other ranks can read: ranks that call different
// collectives get an error instead of each other's data.
#pragma once

#include <cstdint>
#include <string>

namespace evener::comm {

struct Call {
  enum class Kind : std::uint8_t { kNone, kAllReduceFloat32, kAllReduceBFloat16, kAllReduceFloat64, kBroadcast };

  Kind kind = Kind::kNone;
  int root = 0;             // of a broadcast; below 4096
  std::uint64_t count = 0;  // of values or bytes; below 2^48

  std::uint64_t packed() const;
  static Call unpacked(std::uint64_t word);
  /// "an all_reduce of 10 float32 values"
  std::string text() const;
};

}  // namespace evener::comm
