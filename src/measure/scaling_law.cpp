#include "measure/scaling_law.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace evener::measure {
namespace {

/// Student's t: 95 % lie within as many standard errors on both sides.
double t_quantile(std::size_t degrees) {
  constexpr double kOf[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                            2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
  return degrees <= std::size(kOf) ? kOf[degrees - 1] : 1.96 + 2.5 / static_cast<double>(degrees);
}

}  // namespace

double AmdahlFit::speedup(int workers) const {
  return 1 / (serial_share + (1 - serial_share) / workers);
}

std::optional<AmdahlFit> fit_amdahl(std::span<const ScalingPoint> points) {
  // seconds = serial + parallel / workers, each equation divided by its seconds: u serial + v parallel = 1.
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (const ScalingPoint& point : points) {
    if (point.workers < 1 || !(point.seconds > 0)) return std::nullopt;
    const double u = 1 / point.seconds, v = u / point.workers;
    uu += u * u;
    uv += u * v;
    vv += v * v;
    u1 += u;
    v1 += v;
  }
  const double determinant = uu * vv - uv * uv;
  if (!(determinant > 1e-12 * uu * vv)) return std::nullopt;
  const double serial = (u1 * vv - v1 * uv) / determinant, parallel = (v1 * uu - u1 * uv) / determinant;
  const double all = serial + parallel;
  AmdahlFit fit{all, std::clamp(serial / all, 0.0, 1.0), std::nullopt};
  if (points.size() < 3) return fit;
  double squares = 0;
  for (const ScalingPoint& point : points) {
    const double error = (serial + parallel / point.workers) / point.seconds - 1;
    squares += error * error;
  }
  const std::size_t degrees = points.size() - 2;
  // The variance of serial / all, by its derivatives and the covariance of both.
  const double by_serial = parallel / (all * all), by_parallel = -serial / (all * all);
  const double variance =
      squares / static_cast<double>(degrees) / determinant *
      (by_serial * by_serial * vv - 2 * by_serial * by_parallel * uv + by_parallel * by_parallel * uu);
  const double off = t_quantile(degrees) * std::sqrt(std::max(0.0, variance));
  fit.interval = Interval{std::clamp(serial / all - off, 0.0, 1.0), std::clamp(serial / all + off, 0.0, 1.0)};
  return fit;
}

double karp_flatt(double speedup, int workers) {
  return (1 / speedup - 1.0 / workers) / (1 - 1.0 / workers);
}

}  // namespace evener::measure
