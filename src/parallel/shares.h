// How work is divided among replicas and workers of unequal speed: the samples of a batch, its micro-batches, and
// calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace evener::parallel {

/// Divides `samples` among replicas in proportion to `speeds` (samples per second, or any weights; 0 = gets none),
/// rounded so that the last replica finishes as early as possible.
std::vector<std::int64_t> divide(std::int64_t samples, std::span<const double> speeds);

/// Tracks the replicas' speeds and divides batches by them. A replica's time varies from step to step, and all replicas
/// wait for the slowest. A division is therefore judged by the mean over the slowest replica's time, expected_s(), and
/// not by the mean times alone.
class Shares {
 public:
  /// Shares by fixed weights, which observe() doesn't change. A replica that would get fewer than `least` samples of a
  /// batch or micro-batch gets none of it.
  static Shares fixed(std::vector<double> weights, std::int64_t least = 1) {
    return {std::move(weights), false, least};
  }
  /// `speeds`: a first guess, samples per second.
  static Shares measured(std::vector<double> speeds, std::int64_t least = 1) {
    return {std::move(speeds), true, least};
  }

  bool is_measured() const { return measured_; }
  const std::vector<double>& speeds() const { return speeds_; }

  /// Divides a batch of `samples`; active[r] = false: replica r gets nothing. Keeps the last division until the time
  /// that better ones would have saved exceeds the cost of a change: the first step with a new share is slower, as it
  /// prepares primitives and memory.
  std::vector<std::int64_t> divide_batch(std::int64_t samples, const std::vector<bool>& active);

  /// The same for a batch of micro-batches of these sizes; the result has the counts of each replica for each
  /// micro-batch. Their sums over the micro-batches are those of divide_batch(), as nearly as `least` allows.
  std::vector<std::vector<std::int64_t>> divide_micro_batches(std::span<const std::int64_t> sizes,
                                                              const std::vector<bool>& active);

  /// Takes in a step in which replica r computed counts[r] samples in seconds[r]. A replica's first step with a new
  /// count measures the cost of a change rather than its speed.
  void observe(std::span<const std::int64_t> counts, std::span<const double> seconds);

  /// The expected time of a step with this division, until the slowest replica is done.
  double expected_s(std::span<const std::int64_t> counts) const;

 private:
  Shares(std::vector<double> speeds, bool measured, std::int64_t least)
      : speeds_(std::move(speeds)), measured_(measured), least_(least), pasts_(speeds_.size()) {}

  /// How batches of one size are divided.
  struct Division {
    std::vector<std::int64_t> counts;
    double passed_up_s = 0;  // time that better divisions would have saved so far
  };

  /// What was observed of a replica.
  struct Past {
    bool observed = false;                   // its speed was measured, no mere guess
    double variance = 0;                     // of its time, as a share of the expected one
    std::map<std::int64_t, double> first_s;  // by count: time of the first step; 0 once compared with a later one
  };

  void fold_small(std::vector<std::int64_t>& counts) const;

  std::vector<double> speeds_;
  bool measured_;
  std::int64_t least_;
  std::map<std::int64_t, Division> last_;  // by batch size: an epoch's last batch may be smaller
  std::vector<Past> pasts_;                // of each replica
  double change_s_ = 0;                    // how much longer a first step with a new count takes
  std::optional<double> last_change_s_;    // the same, as last measured
};

/// The sizes of the micro-batches of a batch of `samples`, if a whole batch of `batch` samples has `accumulate`
/// micro-batches. Sizes differ by one at most. A short batch (the last of an epoch) has fewer micro-batches, not
/// smaller ones. No micro-batch is a single sample, for which batch-norm may have no variance, unless `samples` is 1 or
/// a whole batch has such micro-batches too.
std::vector<std::int64_t> micro_batches(std::int64_t samples, std::int64_t batch, std::int64_t accumulate);

/// Decides which of several workers of unequal speed takes the next call. A free worker takes it, except near the end:
/// if the others can finish all remaining calls before a slow worker would finish one, the slow worker stops. Otherwise
/// everybody would wait for its last call, and several workers could take longer than the fastest alone. Thread-safe.
class Dealing {
 public:
  /// `call_s`: a first guess of the seconds that each worker takes for a call, above 0. `calls`: the number of calls.
  Dealing(std::vector<double> call_s, std::int64_t calls);

  /// Whether `worker`, idle at `now_s`, takes the next call. After false it must not ask again. The fastest worker gets
  /// false only once all calls are taken.
  bool takes(std::size_t worker, double now_s);
  /// Reports that the worker's call took `seconds` and ended at `now_s`.
  void gave(std::size_t worker, double seconds, double now_s);

 private:
  struct Worker {
    double call_s = 0;
    double free_s = 0;  // end of its last call, expected or actual
    bool done = false;
  };

  bool others_are_sooner(const Worker& worker, double now_s) const;

  mutable std::mutex mutex_;
  std::vector<Worker> workers_;
  std::int64_t calls_;  // not taken yet
};

}  // namespace evener::parallel
