// Scaling with the number of workers: Amdahl's law fitted to measurements, and related figures.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "record/repeats.h"
#include "record/statistics.h"

namespace evener::record {

/// The time that `workers` workers take for the same work.
struct ScalingPoint {
  int workers = 1;
  double seconds = 0;
};

/// T(n) = T(1) (s + (1 - s) / n): the share s of the work is serial, the rest is divided by n workers (Amdahl, Validity
/// of the single processor approach to achieving large scale computing capabilities, 1967).
struct AmdahlFit {
  double one_worker_s = 0;
  double serial_share = 0;  // from 0 to 1

  /// T(1) / T(n).
  double speedup(int workers) const;
};

/// Fits by least squares of relative errors. Absent for fewer than two different numbers of workers.
std::optional<AmdahlFit> fit_amdahl(std::span<const ScalingPoint> points);

/// The Karp-Flatt metric: the serial share that would explain `speedup` with `workers` workers, at least 2 (Karp and
/// Flatt, Measuring parallel processor performance, 1990). If it grows with their number, working together costs time.
double karp_flatt(double speedup, int workers);

/// Gustafson's scaled speedup: how many times as much work `workers` workers do in the same time, if the parallel part
/// grows with their number and `serial_share` of the time is serial (Gustafson, Reevaluating Amdahl's law, 1988).
double gustafson(double serial_share, int workers);

/// The times of repeated runs with `workers` workers, in blocks (record/repeats.h).
struct WorkersRuns {
  int workers = 1;
  std::vector<BlockValue> seconds;
};

/// A mean over blocks with its 95 % interval, which is absent for fewer than three blocks.
struct BlockMean {
  double mean = 0;
  std::optional<Interval> interval;
};

struct WorkersScaling {
  int workers = 1;
  std::optional<BlockMean> speedup, efficiency;  // against the fewest workers; absent for those
  std::optional<BlockMean> karp_flatt;           // absent without runs of one worker
};

struct Scaling {
  std::vector<WorkersScaling> workers;     // in ascending order
  std::optional<AmdahlFit> fit;            // over all runs
  std::optional<Interval> share_interval;  // 95 % interval of the serial share, from a fit for each block
};

/// Computes all figures; each number of workers occurs once in `runs`.
Scaling scaling_of(std::vector<WorkersRuns> runs);

}  // namespace evener::record
