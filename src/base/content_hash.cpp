#include "base/content_hash.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace evener {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

constexpr std::uint64_t kWord = 0xA0761D6478BD642F, kEnd = 0xE7037ED1A0B428DB;

std::uint64_t mum(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
}

std::uint64_t step(std::uint64_t hash, const char* pair) {
  std::uint64_t words[2];
  std::memcpy(words, pair, sizeof words);
  return mum(words[0] ^ kWord, words[1] ^ hash);
}

}  // namespace

std::uint64_t content_hash(std::string_view bytes) {
  constexpr std::size_t kPair = 16;
  const std::size_t size = bytes.size();
  std::uint64_t hash = size;
  while (bytes.size() >= kPair) {
    hash = step(hash, bytes.data());
    bytes.remove_prefix(kPair);
  }
  if (!bytes.empty()) {
    char rest[kPair] = {};
    std::memcpy(rest, bytes.data(), bytes.size());
    hash = step(hash, rest);
  }
  return mum(hash ^ kEnd, size ^ kWord);
}

}  // namespace evener
