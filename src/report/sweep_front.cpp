#include "report/sweep_front.h"

#include <algorithm>

namespace evener::report {
namespace {

/// How the cell stands to another by a figure, above 1 where it is better; absent where one of them has none.
std::optional<record::RunComparison> stands(const Sweep& sweep, const SweepCellRuns& to, const SweepCellRuns& cell,
                                            const std::string& name) {
  const SweepFigure *base = to.figure(name), *figure = cell.figure(name);
  if (base == nullptr || figure == nullptr) return std::nullopt;
  return compare_figures(*base, *figure, sweep.record.first_stage());
}

bool is_better(const record::RunComparison& comparison) {
  return comparison.interval && comparison.interval->low > 1;
}

}  // namespace

std::vector<bool> front_of(const Sweep& sweep, const std::string& first, const std::string& second) {
  const auto has = [](const SweepCellRuns& cell, const std::string& name) {
    return cell.figure(name) != nullptr && !cell.figure(name)->values.empty();
  };
  std::vector<bool> front;
  for (const SweepCellRuns& cell : sweep.cells) {
    const bool is_beaten = std::ranges::any_of(sweep.cells, [&](const SweepCellRuns& other) {
      const auto by_first = stands(sweep, cell, other, first), by_second = stands(sweep, cell, other, second);
      if (!by_first || !by_second) return false;
      return (is_better(*by_first) && by_second->ratio >= 1) || (is_better(*by_second) && by_first->ratio >= 1);
    });
    front.push_back(has(cell, first) && has(cell, second) && !is_beaten);
  }
  return front;
}

}  // namespace evener::report
