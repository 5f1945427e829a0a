// Random numbers keyed by what they are for, never by who draws them: (seed, purpose, epoch, sample).
// Any replica, thread or process that needs the numbers of a sample gets the same ones.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace evener {

/// What a stream of random numbers decides. Part of the key, so streams never share numbers.
enum class Purpose : std::uint64_t { kSplit = 1, kOrder, kInit, kDropout, kAugment, kSynthetic, kBootstrap, kMixup };

/// A small counter-based generator, cheap to make (one per sample is fine) and easy to write again elsewhere.
/// All arithmetic is modulo 2^64, G = 0x9E3779B97F4A7C15, and mix is the finaliser of SplitMix64
/// (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014):
///   mix(z):  z ^= z >> 30;  z *= 0xBF58476D1CE4E5B9;  z ^= z >> 27;  z *= 0x94D049BB133111EB;  z ^= z >> 31
///   key = mix(seed + G);  key = mix((key ^ purpose) + G);  key = mix((key ^ a) + G);  key = mix((key ^ b) + G)
///   next(), the i-th call (i = 1, 2, ...) = mix(key + i * G)
class Random {
 public:
  Random(std::uint64_t seed, Purpose purpose, std::uint64_t a = 0, std::uint64_t b = 0);

  std::uint64_t next();
  /// Uniform in [0, 1), 53 bits: (next() >> 11) / 2^53.
  double uniform();
  /// low + (high - low) * uniform().
  double uniform(double low, double high);
  /// Uniform in [0, n), without modulo bias: x % n of the first x = next() with x >= 2^64 mod n. n > 0.
  std::uint64_t below(std::uint64_t n);
  /// Standard normal (Box-Muller, no state kept): sqrt(-2 ln(1 - u)) * cos(2 pi v), u and then v from uniform().
  double normal();

 private:
  std::uint64_t state_;
};

/// A permutation of 0..n-1 (Fisher-Yates): for i = n-1 down to 1 swap element i with element below(i + 1).
std::vector<std::uint32_t> permutation(std::uint32_t n, Random random);

/// Stable 64-bit hash of a text, to key numbers by a name. FNV-1a: h = 0xCBF29CE484222325, then for each byte
/// h = (h ^ byte) * 0x100000001B3.
std::uint64_t hash_text(std::string_view text);

}  // namespace evener
