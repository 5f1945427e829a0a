// How times fall with the number of workers: Amdahl's law, fitted to measurements.
#pragma once

#include <optional>
#include <span>

#include "measure/statistics.h"

namespace evener::measure {

/// The same work, done by so many workers.
struct ScalingPoint {
  int workers = 1;
  double seconds = 0;
};

/// T(n) = T(1) (s + (1 - s) / n): a share s of the work is done by one at a time, however many there are (Amdahl,
/// Validity of the single processor approach to achieving large scale computing capabilities, 1967).
struct AmdahlFit {
  double one_worker_s = 0;
  double serial_share = 0;           // from 0 to 1
  std::optional<Interval> interval;  // of 95 %, of the share; absent for fewer than three points

  /// T(1) / T(n).
  double speedup(int workers) const;
};

/// Least squares of the relative errors. Absent where there are fewer than two numbers of workers.
std::optional<AmdahlFit> fit_amdahl(std::span<const ScalingPoint> points);

/// The share of serial work that alone would explain a speedup by so many workers, at least 2 (Karp and Flatt,
/// Measuring parallel processor performance, 1990). Grows with their number where working together costs time.
double karp_flatt(double speedup, int workers);

}  // namespace evener::measure
