// Who gets how many samples of each batch: by fixed weights, or by the speed that each replica shows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace evener::parallel {

/// Divides `samples` among replicas of these speeds (samples per second, or any weights; 0 = gets none) so that the
/// slowest finishes as early as whole samples allow.
std::vector<std::int64_t> divide(std::int64_t samples, std::span<const double> speeds);

/// Speeds as they are observed, and the division of batches that follows from them. A replica's time varies from step
/// to step, and all wait for the last; so a division is judged by what its steps last on average, in which a small
/// share that is a sample too large counts for more than one that is too small.
class Shares {
 public:
  /// Fixed weights: observations change nothing. Whoever would get fewer than `least` samples of a batch, or of a
  /// micro-batch, gets none of it.
  static Shares fixed(std::vector<double> weights, std::int64_t least = 1);
  /// `speeds`: a first guess, samples per second.
  static Shares measured(std::vector<double> speeds, std::int64_t least = 1);

  bool is_measured() const { return measured_; }
  const std::vector<double>& speeds() const { return speeds_; }

  /// A division stays as it is until the time that better ones would have saved comes to what a change costs: the
  /// first step of a new size makes primitives and memory that later ones reuse. `active[r]` = false: replica r gets
  /// nothing.
  std::vector<std::int64_t> divide_batch(std::int64_t samples, const std::vector<bool>& active);

  /// The same for a batch that is made of micro-batches of these sizes: who gets how many of each. All together each
  /// replica gets what divide_batch() gives it of the whole batch, as nearly as its least allows.
  std::vector<std::vector<std::int64_t>> divide_micro_batches(std::span<const std::int64_t> sizes,
                                                              const std::vector<bool>& active);

  /// After a step: replica r computed counts[r] samples in seconds[r]. The first step of a size tells what a change
  /// costs, and not how fast the replica is.
  void observe(std::span<const std::int64_t> counts, std::span<const double> seconds);

  /// How long a step of this division lasts on average, until the slowest has done its samples.
  double expected_s(std::span<const std::int64_t> counts) const;

 private:
  Shares(std::vector<double> speeds, bool measured, std::int64_t least)
      : speeds_(std::move(speeds)), measured_(measured), least_(least), pasts_(speeds_.size()) {}

  /// How batches of one size are divided.
  struct Division {
    std::vector<std::int64_t> counts;
    double passed_up_s = 0;  // what better divisions would have saved, had they been taken
  };

  /// What a replica did.
  struct Past {
    bool observed = false;                   // its speed is no mere guess any more
    double variance = 0;                     // of its time, as a share of the expected one
    std::map<std::int64_t, double> first_s;  // by size: what the first step took; 0 once compared with another
  };

  void fold_small(std::vector<std::int64_t>& counts) const;

  std::vector<double> speeds_;
  bool measured_;
  std::int64_t least_;
  std::map<std::int64_t, Division> last_;  // by the samples of a batch: the last of an epoch may have fewer
  std::vector<Past> pasts_;                // of each replica
  double change_s_ = 0;                    // how much longer first steps of new sizes take
  std::optional<double> last_change_s_;    // that of the last ones
};

}  // namespace evener::parallel
