// Multinomial logistic regression: finds the linear layer that best tells classes apart by fixed features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace evener::task {

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

}  // namespace evener::task
