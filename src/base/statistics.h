// Quantiles of samples, and of distributions. This is the only definition of the median in the program.
#pragma once

#include <optional>
#include <span>

namespace evener {

/// Linear interpolation between order statistics (R's type 7) of samples in any order. `q` in [0, 1]; absent for no
/// samples.
std::optional<double> quantile(std::span<const double> samples, double q);
/// The same for at least one sample, sorted in ascending order.
double sorted_quantile(std::span<const double> sorted, double q);

/// The middle sample, or the mean of the two middle ones; absent for no samples.
std::optional<double> median(std::span<const double> samples);

/// The regularised incomplete beta function I(x; a, b): for whole numbers the chance of at most b - 1 failures among
/// a + b - 1 trials that succeed with probability x. 0 <= x <= 1, a and b above 0.
double incomplete_beta(double x, double a, double b);

/// The two-sided p-value: the probability that Student's t with `degrees` degrees of freedom is at least as far from 0
/// as `t`.
double student_two_sided(double t, double degrees);
/// The quantile of Student's distribution with `degrees` degrees of freedom: the t below which it lies with the
/// probability `share`, between 0.5 and 1.
double student_quantile(double share, double degrees);

}  // namespace evener
