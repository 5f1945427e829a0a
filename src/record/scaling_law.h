// How times fall with the number of workers: Amdahl's law, fitted to measurements.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "record/repeats.h"
#include "record/statistics.h"

namespace evener::record {

/// The same work, done by so many workers.
struct ScalingPoint {
  int workers = 1;
  double seconds = 0;
};

/// T(n) = T(1) (s + (1 - s) / n): a share s of the work is done by one at a time, however many there are (Amdahl,
/// Validity of the single processor approach to achieving large scale computing capabilities, 1967).
struct AmdahlFit {
  double one_worker_s = 0;
  double serial_share = 0;  // from 0 to 1

  /// T(1) / T(n).
  double speedup(int workers) const;
};

/// Least squares of the relative errors. Absent where there are fewer than two numbers of workers.
std::optional<AmdahlFit> fit_amdahl(std::span<const ScalingPoint> points);

/// The share of serial work that alone would explain a speedup by so many workers, at least 2 (Karp and Flatt,
/// Measuring parallel processor performance, 1990). Grows with their number where working together costs time.
double karp_flatt(double speedup, int workers);

/// How many times as much work so many workers would do in the time of one, if the parallel part of the work grows with
/// their number and `serial_share` of that time stays serial (Gustafson, Reevaluating Amdahl's law, 1988).
double gustafson(double serial_share, int workers);

/// The seconds that so many workers took for the same work, of repeated runs in blocks (record/repeats.h).
struct WorkersRuns {
  int workers = 1;
  std::vector<BlockValue> seconds;
};

/// A mean over blocks; the interval of 95 % is absent for fewer than three.
struct BlockMean {
  double mean = 0;
  std::optional<Interval> interval;
};

struct WorkersScaling {
  int workers = 1;
  std::optional<BlockMean> speedup, efficiency;  // against the fewest workers, per worker more; absent for those
  std::optional<BlockMean> karp_flatt;           // against one worker; absent where none has been alone
};

struct Scaling {
  std::vector<WorkersScaling> workers;     // rising
  std::optional<AmdahlFit> fit;            // of all runs
  std::optional<Interval> share_interval;  // of 95 %, of its serial share: over the blocks, as they drift together
};

/// Of runs by different numbers of workers, each number once.
Scaling scaling_of(std::vector<WorkersRuns> runs);

}  // namespace evener::record
