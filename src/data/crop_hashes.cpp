#include "data/crop_hashes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace evener::data {
namespace {

constexpr int kFrequencies = 9;  // along a side; the 60 lowest lie among these
constexpr std::size_t kIntervals = 5;
constexpr std::array<std::pair<double, double>, kIntervals> kInterval = {
    {{0, 1}, {0.025, 0.975}, {0.05, 0.95}, {0.05, 1}, {0, 0.95}}};
/// A coefficient below this share of the length of all coefficients counts as zero, lest rounding decide its sign, as
/// in symmetric images.
constexpr double kZero = 1e-3;

using Basis = std::array<std::array<double, kHashedSide>, kFrequencies>;  // cosines over cells

/// The integral of cos(pi u t) over each cell's part of the interval, in which t grows from 0 to 1.
Basis basis_of(double begin, double end) {
  Basis basis{};
  const auto position = [&](std::int64_t cell) {
    const double at = static_cast<double>(cell) / static_cast<double>(kHashedSide);
    return std::clamp((at - begin) / (end - begin), 0.0, 1.0);
  };
  for (int u = 0; u < kFrequencies; ++u) {
    for (std::int64_t i = 0; i < kHashedSide; ++i) {
      const double from = position(i), to = position(i + 1), turn = std::numbers::pi * u;
      basis[static_cast<std::size_t>(u)][static_cast<std::size_t>(i)] =
          u == 0 ? to - from : (std::sin(turn * to) - std::sin(turn * from)) / turn;
    }
  }
  return basis;
}

const std::array<Basis, kIntervals>& bases() {
  static const std::array<Basis, kIntervals> all = [] {
    std::array<Basis, kIntervals> made;
    for (std::size_t i = 0; i < kIntervals; ++i) made[i] = basis_of(kInterval[i].first, kInterval[i].second);
    return made;
  }();
  return all;
}

/// The frequencies (of rows, of columns) of the bits, lowest first.
const std::vector<std::pair<int, int>>& frequencies() {
  static const std::vector<std::pair<int, int>> all = [] {
    std::vector<std::pair<int, int>> made;
    for (int u = 0; u < kFrequencies; ++u) {
      for (int v = 0; v < kFrequencies; ++v) made.emplace_back(u, v);
    }
    std::ranges::stable_sort(made, {}, [](const auto& f) { return f.first * f.first + f.second * f.second; });
    made.erase(made.begin());  // the mean
    made.resize(kHashBits);
    return made;
  }();
  return all;
}

using Coefficients = std::array<std::array<double, kFrequencies>, kFrequencies>;

std::uint64_t signs_of(const Coefficients& coefficients) {
  double squares = 0;
  for (const auto& [u, v] : frequencies()) {
    const double value = coefficients[static_cast<std::size_t>(u)][static_cast<std::size_t>(v)];
    squares += value * value;
  }
  const double zero = kZero * std::sqrt(squares);
  std::uint64_t bits = 0;
  for (int i = 0; i < kHashBits; ++i) {
    const auto& [u, v] = frequencies()[static_cast<std::size_t>(i)];
    const bool is_set = coefficients[static_cast<std::size_t>(u)][static_cast<std::size_t>(v)] > zero;
    bits |= std::uint64_t{is_set} << (i % kBands * kBandBits + i / kBands);
  }
  return bits;
}

}  // namespace

const std::array<Crop, kCrops>& crops() {
  static const std::array<Crop, kCrops> all = [] {
    std::array<Crop, kCrops> made;
    for (std::size_t i = 0; i < kCrops; ++i) {
      const auto &rows = kInterval[i / kIntervals], &columns = kInterval[i % kIntervals];
      made[i] = {rows.first, rows.second, columns.first, columns.second};
    }
    return made;
  }();
  return all;
}

CropHashes crop_hashes(const GreyGrid& grid) {
  CropHashes hashes{};
  for (std::size_t r = 0; r < kIntervals; ++r) {
    std::array<std::array<double, kHashedSide>, kFrequencies> rows{};
    for (std::size_t u = 0; u < kFrequencies; ++u) {
      for (std::size_t y = 0; y < kHashedSide; ++y) {
        const double factor = bases()[r][u][y];
        for (std::size_t x = 0; x < kHashedSide; ++x) rows[u][x] += factor * grid.cells[y * kHashedSide + x];
      }
    }
    for (std::size_t c = 0; c < kIntervals; ++c) {
      Coefficients coefficients{};
      for (std::size_t u = 0; u < kFrequencies; ++u) {
        for (std::size_t v = 0; v < kFrequencies; ++v) {
          for (std::size_t x = 0; x < kHashedSide; ++x) coefficients[u][v] += rows[u][x] * bases()[c][v][x];
        }
      }
      hashes[r * kIntervals + c] = signs_of(coefficients);
    }
  }
  return hashes;
}

}  // namespace evener::data
