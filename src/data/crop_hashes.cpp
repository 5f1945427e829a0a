#include "data/crop_hashes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace evener::data {

const std::array<Orientation, 8>& orientations() {
  static const std::array<Orientation, 8> all = [] {
    std::array<Orientation, 8> made;
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = {(i & 4) != 0, (i & 1) != 0, (i & 2) != 0};
    return made;
  }();
  return all;
}

namespace {

/// Where a pixel of a row or column lies: `share` of it in a cell, and the rest in the next one.
struct CellOfPixel {
  std::int64_t cell = 0;
  double share = 1;
};

std::vector<CellOfPixel> cells_of(std::int64_t pixels, std::int64_t cells) {
  std::vector<CellOfPixel> all;
  for (std::int64_t i = 0; i < pixels; ++i) {
    const std::int64_t cell = i * cells / pixels;
    const double begin = static_cast<double>(i * cells) / static_cast<double>(pixels);
    const double width = static_cast<double>(cells) / static_cast<double>(pixels);
    all.push_back({cell, std::min(1.0, (static_cast<double>(cell + 1) - begin) / width)});
  }
  return all;
}

/// Adds `value` to the one or two cells that a pixel lies in. What is left for a cell after the last is rounding.
void spread_pixel(double value, const CellOfPixel& of, std::span<double> cells) {
  cells[static_cast<std::size_t>(of.cell)] += value * of.share;
  if (static_cast<std::size_t>(of.cell) + 1 < cells.size()) {
    cells[static_cast<std::size_t>(of.cell) + 1] += value * (1 - of.share);
  }
}

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

GreyGrid grey_grid(std::span<const std::uint8_t> chw, const ImageShape& shape, std::int64_t side) {
  const std::vector<CellOfPixel> rows = cells_of(shape.height, side), columns = cells_of(shape.width, side);
  const auto length = static_cast<std::size_t>(side);
  std::vector<std::uint32_t> line(static_cast<std::size_t>(shape.width));
  std::vector<double> row_cells(length), sums(length * length);
  for (std::int64_t y = 0; y < shape.height; ++y) {
    std::ranges::fill(line, 0);
    std::ranges::fill(row_cells, 0);
    for (std::int64_t c = 0; c < shape.channels; ++c) {
      const std::uint8_t* const in = chw.data() + (c * shape.height + y) * shape.width;
      for (std::size_t x = 0; x < line.size(); ++x) line[x] += in[x];
    }
    for (std::size_t x = 0; x < line.size(); ++x) spread_pixel(line[x], columns[x], row_cells);
    const CellOfPixel& row = rows[static_cast<std::size_t>(y)];
    for (std::size_t i = 0; i < length; ++i) {
      const auto cell = static_cast<std::size_t>(row.cell);
      sums[cell * length + i] += row_cells[i] * row.share;
      if (cell + 1 < length) sums[(cell + 1) * length + i] += row_cells[i] * (1 - row.share);
    }
  }
  const double pixels_of_cell = static_cast<double>(shape.bytes()) / static_cast<double>(side * side);
  GreyGrid grid{side, {}};
  for (const double sum : sums) grid.cells.push_back(static_cast<float>(sum / pixels_of_cell));
  return grid;
}

GreyGrid oriented(const GreyGrid& grid, const Orientation& orientation) {
  GreyGrid turned{grid.side, std::vector<float>(grid.cells.size())};
  const std::int64_t last = grid.side - 1;
  for (std::int64_t row = 0; row <= last; ++row) {
    for (std::int64_t column = 0; column <= last; ++column) {
      const std::int64_t y = orientation.is_flipped ? last - row : row;
      const std::int64_t x = orientation.is_mirrored ? last - column : column;
      turned.at(row, column) = orientation.is_transposed ? grid.at(x, y) : grid.at(y, x);
    }
  }
  return turned;
}

double deviation(const GreyGrid& grid) {
  double sum = 0, squares = 0;
  for (const float cell : grid.cells) {
    sum += cell;
    squares += static_cast<double>(cell) * cell;
  }
  const auto count = static_cast<double>(grid.cells.size());
  return std::sqrt(std::max(0.0, squares / count - (sum / count) * (sum / count)));
}

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
