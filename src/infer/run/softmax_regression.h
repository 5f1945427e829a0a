// Multinomial logistic regression: finds the linear layer that best tells classes apart by fixed features.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace evener::inference {

/// Features of samples whose classes are known.
struct FeatureTable {
  std::size_t values = 0;       // of each sample
  std::vector<float> features;  // (samples, values), row-major
  std::vector<std::int32_t> labels;

  std::size_t samples() const { return labels.size(); }
};

/// y = x weight^T + bias.
struct LinearFit {
  std::vector<float> weight;      // (classes, values), row-major
  std::vector<float> bias;        // (classes)
  double loss = 0, accuracy = 0;  // over the table: mean cross-entropy, and the share of right answers
};

/// Minimises the mean cross-entropy plus decay / 2 times the sum of squared weights, where each feature is brought to
/// mean 0 and deviation 1 first; the result is for features as they were given. Accelerated gradient descent (Nesterov
/// 1983) that starts its momentum again where the loss rises (O'Donoghue and Candes 2015). The result depends on the
/// table alone, not on `threads`. Throws Error for a label outside of 0..classes-1 and for a table without samples.
LinearFit fit_softmax(FeatureTable table, std::size_t classes, double decay, int threads);

/// The mean cross-entropy of a table plus decay / 2 times the sum of squared weights, of (classes, values + 1) numbers,
/// row-major; the bias, which doesn't decay, is the last of each row. Features are taken as they are. The table must
/// outlive the objective.
class SoftmaxObjective {
 public:
  /// Sums are made of the sums of so many parts of the rows, whatever the number of threads, so that rounding is always
  /// the same.
  static constexpr std::size_t kParts = 8;

  SoftmaxObjective(const FeatureTable& table, std::size_t classes, double decay, int threads);

  std::size_t size() const { return classes_ * row_; }
  /// The value at `x`; its gradient is written into `gradient`, which has size() numbers.
  double value(const std::vector<float>& x, std::vector<float>& gradient);
  /// An upper bound of the curvature: half the largest eigenvalue of the features' second moments (Bohning 1992), found
  /// by power iteration, plus the decay.
  double curvature() const;

  // Of the last value():
  double accuracy() const { return accuracy_; }
  double loss() const { return loss_; }  // the mean cross-entropy alone

 private:
  struct Part {
    std::vector<float> gradient, scores;
    double loss = 0, correct = 0;
  };

  const float* features(std::size_t sample) const { return table_.features.data() + sample * table_.values; }
  void sum(std::size_t number, const std::vector<float>& x);

  const FeatureTable& table_;
  const std::size_t classes_, row_;
  const double decay_;
  const int threads_;
  std::array<Part, kParts> parts_;
  double loss_ = 0, accuracy_ = 0;
};

}  // namespace evener::inference
