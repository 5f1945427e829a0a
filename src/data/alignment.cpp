#include "data/alignment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace evener::data {
namespace {

constexpr double kFirstStep = 0.02, kLastStep = 0.004;  // of a side
constexpr double kLeastExtent = 0.88;

/// GridSums over rectangles of a grid, of which edges may lie within cells.
class GridSums {
 public:
  explicit GridSums(const GreyGrid& grid) : edges_(grid.side + 1), sums_(static_cast<std::size_t>(edges_ * edges_)) {
    for (std::int64_t y = 1; y < edges_; ++y) {
      for (std::int64_t x = 1; x < edges_; ++x) {
        at(y, x) = at(y - 1, x) + at(y, x - 1) - at(y - 1, x - 1) + static_cast<double>(grid.at(y - 1, x - 1));
      }
    }
  }

  /// The means of a crop's side x side cells.
  GreyGrid cells_of(const Crop& crop, std::int64_t side) const {
    const auto length = static_cast<std::size_t>(side + 1);
    std::vector<double> corners(length * length);
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const auto row = static_cast<double>(i / length) / static_cast<double>(side);
      const auto column = static_cast<double>(i % length) / static_cast<double>(side);
      corners[i] = up_to(crop.top + row * (crop.bottom - crop.top), crop.left + column * (crop.right - crop.left));
    }
    const auto grid_cells = static_cast<double>((edges_ - 1) * (edges_ - 1));
    const double area =
        (crop.bottom - crop.top) * (crop.right - crop.left) * grid_cells / static_cast<double>(side * side);
    GreyGrid cells{side, {}};
    for (std::size_t y = 0; y + 1 < length; ++y) {
      for (std::size_t x = 0; x + 1 < length; ++x) {
        const std::size_t i = y * length + x;
        const double sum = corners[i + length + 1] - corners[i + length] - corners[i + 1] + corners[i];
        cells.cells.push_back(static_cast<float>(sum / area));
      }
    }
    return cells;
  }

 private:
  double& at(std::int64_t y, std::int64_t x) { return sums_[static_cast<std::size_t>(y * edges_ + x)]; }

  /// The sum over what lies above and to the left of a point, from 0 to 1 along each side.
  double up_to(double down, double right) const {
    const auto place = [&](double along) {
      const double edge = std::clamp(along, 0.0, 1.0) * static_cast<double>(edges_ - 1);
      const std::int64_t before = std::min(static_cast<std::int64_t>(edge), edges_ - 2);
      return std::pair(before, edge - static_cast<double>(before));
    };
    const auto [y, v] = place(down);
    const auto [x, h] = place(right);
    const double* const first = &sums_[static_cast<std::size_t>(y * edges_ + x)];
    const double* const second = first + edges_;
    return (1 - v) * ((1 - h) * first[0] + h * first[1]) + v * ((1 - h) * second[0] + h * second[1]);
  }

  std::int64_t edges_;
  std::vector<double> sums_;
};

double correlation(const std::vector<float>& a, const std::vector<float>& b) {
  double sum_a = 0, sum_b = 0, aa = 0, bb = 0, ab = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i], y = b[i];
    sum_a += x, sum_b += y;
    aa += x * x, bb += y * y, ab += x * y;
  }
  const auto count = static_cast<double>(a.size());
  const double norm = (aa - sum_a * sum_a / count) * (bb - sum_b * sum_b / count);
  return norm > 0 ? (ab - sum_a * sum_b / count) / std::sqrt(norm) : 0;
}

/// Means of each cell and its eight neighbours, weighted 1-2-1 along both sides; the border's are repeated.
GreyGrid blurred(const GreyGrid& grid) {
  GreyGrid rows = grid, both = grid;
  const std::int64_t last = grid.side - 1;
  for (std::int64_t y = 0; y <= last; ++y) {
    for (std::int64_t x = 0; x <= last; ++x) {
      rows.at(y, x) =
          (grid.at(std::max<std::int64_t>(0, y - 1), x) + 2 * grid.at(y, x) + grid.at(std::min(last, y + 1), x)) / 4;
    }
  }
  for (std::int64_t y = 0; y <= last; ++y) {
    for (std::int64_t x = 0; x <= last; ++x) {
      both.at(y, x) =
          (rows.at(y, std::max<std::int64_t>(0, x - 1)) + 2 * rows.at(y, x) + rows.at(y, std::min(last, x + 1))) / 4;
    }
  }
  return both;
}

std::vector<float> details_of(const GreyGrid& grid) {
  std::vector<float> details = blurred(blurred(grid)).cells;
  for (std::size_t i = 0; i < details.size(); ++i) details[i] = grid.cells[i] - details[i];
  return details;
}

double mean_of_cells(const GreyGrid& grid) {
  double sum = 0;
  for (const float cell : grid.cells) sum += cell;
  return sum / static_cast<double>(grid.cells.size());
}

bool is_allowed(const Crop& crop) {
  constexpr double kRounding = 1e-9;
  return crop.top >= -kRounding && crop.left >= -kRounding && crop.bottom <= 1 + kRounding &&
         crop.right <= 1 + kRounding && crop.bottom - crop.top >= kLeastExtent &&
         crop.right - crop.left >= kLeastExtent;
}

/// What changes of top, bottom, left and right in a step: the place, the size, or one edge.
constexpr std::array<std::array<int, 4>, 8> kMoves = {
    {{1, 1, 0, 0}, {0, 0, 1, 1}, {1, -1, 0, 0}, {0, 0, 1, -1}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};

}  // namespace

Alignment align(const GreyGrid& whole, const GreyGrid& part, const Crop& begin) {
  constexpr double kGained = 1e-5;
  const std::int64_t side = whole.side / 2;
  const GridSums sums(whole);
  const GreyGrid small = GridSums(part).cells_of({}, side);
  Alignment best{.crop = begin, .likeness = correlation(sums.cells_of(begin, side).cells, small.cells)};
  for (double step = kFirstStep; step >= kLastStep;) {
    bool has_moved = false;
    for (const auto& move : kMoves) {
      for (const double by : {step, -step}) {
        const Crop& at = best.crop;
        const Crop next{at.top + by * move[0], at.bottom + by * move[1], at.left + by * move[2],
                        at.right + by * move[3]};
        if (!is_allowed(next)) continue;
        const double likeness = correlation(sums.cells_of(next, side).cells, small.cells);
        if (likeness <= best.likeness + kGained) continue;
        best.likeness = likeness;
        best.crop = next;
        has_moved = true;
      }
    }
    if (!has_moved) step /= 2;
  }
  const GreyGrid shown = sums.cells_of(best.crop, side);
  best.details = correlation(details_of(shown), details_of(small));
  best.gain = mean_of_cells(small) / std::max(1.0, mean_of_cells(shown));
  return best;
}

}  // namespace evener::data
