// Quantiles of a set of numbers: the one place that says what a median is.
#pragma once

#include <optional>
#include <span>

namespace evener {

/// Linear interpolation between order statistics (R's type 7) of samples in any order. `q` in [0, 1]; absent for no
/// samples.
std::optional<double> quantile(std::span<const double> samples, double q);
/// The same of samples that are sorted already, of which there is at least one.
double sorted_quantile(std::span<const double> sorted, double q);

/// The middle sample, or the mean of the two middle ones; absent for no samples.
std::optional<double> median(std::span<const double> samples);

}  // namespace evener
