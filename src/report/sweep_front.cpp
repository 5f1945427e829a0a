#include "report/sweep_front.h"

#include <algorithm>

namespace evener::report {
namespace {

/// The mean and its ends, turned round where lower is better, so that more is better.
struct Extent {
  double low = 0, mean = 0, high = 0;
};

std::optional<Extent> extent_of(const SweepCellRuns& cell, const std::string& name) {
  const SweepFigure* figure = cell.figure(name);
  if (figure == nullptr || !figure->mean.mean) return std::nullopt;
  const auto& ends = figure->mean.interval ? figure->mean.interval : figure->mean.range;
  const Extent extent{ends->low, *figure->mean.mean, ends->high};
  if (figure->metric.better == measure::Better::kHigher) return extent;
  return Extent{-extent.high, -extent.mean, -extent.low};
}

bool is_better_beyond(const Extent& a, const Extent& b) {
  return a.low > b.high;
}

}  // namespace

std::vector<bool> front_of(const Sweep& sweep, const std::string& first, const std::string& second) {
  std::vector<std::pair<std::optional<Extent>, std::optional<Extent>>> cells;
  for (const SweepCellRuns& cell : sweep.cells) cells.emplace_back(extent_of(cell, first), extent_of(cell, second));
  std::vector<bool> front;
  for (const auto& [a, b] : cells) {
    const bool is_beaten = std::ranges::any_of(cells, [&](const auto& other) {
      if (!a || !b || !other.first || !other.second) return false;
      const bool by_first = is_better_beyond(*other.first, *a) && other.second->mean >= b->mean;
      const bool by_second = is_better_beyond(*other.second, *b) && other.first->mean >= a->mean;
      return by_first || by_second;
    });
    front.push_back(a && b && !is_beaten);
  }
  return front;
}

}  // namespace evener::report
