// A hash by which files are known again.
#pragma once

#include <cstdint>
#include <string_view>

namespace evener {

/// Stable 64-bit hash of bytes, for telling contents apart (a million of them meet by chance once in 37 million times),
/// not against those who forge. With mum(a, b) the upper xor the lower half of the 128-bit product, and the bytes as
/// little-endian words of 64 bits, the last ones filled up with zeros:
///   h = size;  for each pair of words  h = mum(a ^ 0xA0761D6478BD642F, b ^ h);  mum(h ^ 0xE7037ED1A0B428DB, size ^
///   0xA0761D6478BD642F)
std::uint64_t content_hash(std::string_view bytes);

}  // namespace evener
