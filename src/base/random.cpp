// The mixing is described in the header; nothing here may change without changing every split and order of old runs.
#include "base/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace evener {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed, Purpose purpose, std::uint64_t a, std::uint64_t b) {
  std::uint64_t key = mix(seed + kGolden);
  key = mix((key ^ static_cast<std::uint64_t>(purpose)) + kGolden);
  key = mix((key ^ a) + kGolden);
  state_ = mix((key ^ b) + kGolden);
}

std::uint64_t Random::next() {
  state_ += kGolden;
  return mix(state_);
}

double Random::uniform() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

double Random::uniform(double low, double high) {
  return low + (high - low) * uniform();
}

std::uint64_t Random::below(std::uint64_t n) {
  if (n == 0) throw Error("Random::below(0): there is no number below 0");
  const std::uint64_t rejected = (0 - n) % n;  // 2^64 mod n: that many of the smallest numbers would bias the rest
  std::uint64_t x = next();
  while (x < rejected) x = next();
  return x % n;
}

double Random::normal() {
  const double u = uniform();
  const double v = uniform();
  return std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::numbers::pi * v);
}

std::vector<std::uint32_t> permutation(std::uint32_t n, Random random) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

}  // namespace evener
