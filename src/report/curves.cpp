#include "report/curves.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace evener::report {
namespace {

using record::EpochRecord;

/// A marker's size, as a share of the plot's height.
constexpr double kMarker = 0.02;

/// A value's height in the plot: losses have a logarithmic axis, so only positive ones have a height.
std::optional<double> height(const std::optional<double>& value, Curve curve) {
  if (!value || !std::isfinite(*value)) return std::nullopt;
  if (curve == Curve::kAccuracy) return value;
  return *value > 0 ? std::optional(std::log(*value)) : std::nullopt;
}

/// Training and validation of all epochs.
std::vector<std::optional<double>> heights(const record::Record& record, Curve curve) {
  std::vector<std::optional<double>> all;
  for (const EpochRecord& epoch : record.training.epochs) {
    const bool accuracy = curve == Curve::kAccuracy;
    all.push_back(height(accuracy ? epoch.train_accuracy : epoch.train_loss, curve));
    all.push_back(height(accuracy ? epoch.val_accuracy : epoch.val_loss, curve));
  }
  return all;
}

bool same_epochs(const record::Record& a, const record::Record& b) {
  return std::ranges::equal(a.training.epochs, b.training.epochs, {}, &EpochRecord::epoch, &EpochRecord::epoch);
}

}  // namespace

std::vector<std::vector<std::size_t>> coinciding(std::span<const Run> runs, const std::vector<std::size_t>& job,
                                                 Curve curve) {
  std::optional<double> least, most;
  for (const std::size_t n : job) {
    for (const std::optional<double>& value : heights(runs[n].record, curve)) {
      if (!value) continue;
      least = std::min(least.value_or(*value), *value);
      most = std::max(most.value_or(*value), *value);
    }
  }
  const double apart = least ? kMarker * (*most - *least) : 0;
  const auto coincide = [&](std::size_t a, std::size_t b) {
    if (!same_epochs(runs[a].record, runs[b].record)) return false;
    return std::ranges::equal(
        heights(runs[a].record, curve), heights(runs[b].record, curve),
        [&](const auto& x, const auto& y) { return x && y ? std::abs(*x - *y) <= apart : x == y; });
  };
  std::vector<std::vector<std::size_t>> groups;
  for (const std::size_t n : job) {
    const auto found = std::ranges::find_if(groups, [&](const auto& group) { return coincide(group.front(), n); });
    if (found == groups.end()) {
      groups.push_back({n});
    } else {
      found->push_back(n);
    }
  }
  return groups;
}

}  // namespace evener::report
