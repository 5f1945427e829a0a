// Temperature scaling: one number by which logits are divided, so that probabilities are as high as the answers are
// right (Guo et al., On calibration of modern neural networks, 2017).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace evener::task {

/// What a network said of images whose classes are known: logits (images, classes), row-major.
struct LogitTable {
  std::size_t classes = 0;
  std::vector<float> logits;
  std::vector<std::int32_t> labels;

  std::size_t images() const { return labels.size(); }
  const float* row(std::size_t image) const { return logits.data() + image * classes; }
  /// The rows of these images.
  LogitTable rows(const std::vector<std::uint32_t>& images) const;
};

/// The temperature that minimises the mean negative log-likelihood of the labels, between 1/50 and 50, found by Newton
/// steps on the inverse temperature, in which that is convex, within a shrinking bracket. As in Platt's (1999) scaling,
/// the true class counts as certain only up to 1 / (images + 2), and the rest goes to all classes alike: where each
/// image is recognised, the likelihood alone would make the network ever surer. 1 without images.
double fit_temperature(const LogitTable& table);

/// The mean negative log-likelihood of the labels at a temperature, without that allowance.
double negative_log_likelihood(const LogitTable& table, double temperature);

}  // namespace evener::task
