// A hash of file contents, to recognise a file that was seen before.
#pragma once

#include <cstdint>
#include <string_view>

namespace evener {

/// A stable 64-bit hash of bytes, not a cryptographic one. The chance that any two of a million contents collide is one
/// in 37 million. Let mum(a, b) be the upper xor the lower half of the 128-bit product, and the bytes be little-endian
/// words of 64 bits, the last pair filled up with zeros:
///   h = size;  for each pair of words  h = mum(a ^ 0xA0761D6478BD642F, b ^ h);  mum(h ^ 0xE7037ED1A0B428DB, size ^
///   0xA0761D6478BD642F)
std::uint64_t content_hash(std::string_view bytes);

}  // namespace evener
