// Quantiles of a set of numbers (the one place that says what a median is), and of distributions.
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

/// The regularised incomplete beta function I(x; a, b): for whole numbers the chance of at most b - 1 failures among
/// a + b - 1 trials that succeed with probability x. 0 <= x <= 1, a and b above 0.
double incomplete_beta(double x, double a, double b);

/// How likely Student's t with so many degrees of freedom lies as far from 0 as `t`, on either side.
double student_two_sided(double t, double degrees);
/// The t below which Student's distribution lies with this probability, of more than a half and less than 1.
double student_quantile(double share, double degrees);

}  // namespace evener
