// Who gets how many samples of each batch: by fixed weights, or by the speed that each replica shows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace evener::parallel {

/// Divides `samples` among replicas of these speeds (samples per second, or any weights; 0 = gets none) so that the
/// slowest finishes as early as whole samples allow.
std::vector<std::int64_t> divide(std::int64_t samples, std::span<const double> speeds);

/// Speeds as they are observed, and the division of batches that follows from them.
class Shares {
 public:
  /// Fixed weights: observations change nothing.
  static Shares fixed(std::vector<double> weights);
  /// `speeds`: a first guess, samples per second.
  static Shares measured(std::vector<double> speeds);

  bool is_measured() const { return measured_; }
  const std::vector<double>& speeds() const { return speeds_; }

  /// A division stays as it is until another one would shorten the step by more than a few percent: every change costs
  /// memory of new sizes and primitives made anew. `active[r]` = false: replica r gets nothing.
  std::vector<std::int64_t> divide_batch(std::int64_t samples, const std::vector<bool>& active);

  /// After a step: replica r computed counts[r] samples in seconds[r].
  void observe(std::span<const std::int64_t> counts, std::span<const double> seconds);

 private:
  Shares(std::vector<double> speeds, bool measured) : speeds_(std::move(speeds)), measured_(measured) {}
  double time_of(std::span<const std::int64_t> counts) const;

  std::vector<double> speeds_;
  bool measured_;
  std::vector<std::int64_t> last_;  // division of the last whole batch
};

}  // namespace evener::parallel
