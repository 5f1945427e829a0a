// How far a classifier's probabilities are from how often it is right; and temperature scaling, which brings them
// nearer: one number by which logits are divided (Guo et al., On calibration of modern neural networks, 2017).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "record/calibration.h"

namespace evener::inference {

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

/// An answer: the probability of the class that was found, and whether that was right.
struct JudgedAnswer {
  double confidence = 0;
  bool is_right = false;
};

/// The answers at a temperature. Of equal logits the first is found.
std::vector<JudgedAnswer> answers_at(const LogitTable& table, double temperature);

/// Of Guo et al. 2017.
inline constexpr std::size_t kReliabilityBins = 15;

/// Of 15 bins bin k has the answers with a confidence in (k / 15, (k + 1) / 15]; the first also those of 0.
std::vector<record::ReliabilityBin> equal_width_bins(const std::vector<JudgedAnswer>& answers,
                                                     std::size_t bins = kReliabilityBins);
/// The answers in the order of their confidence, in up to 15 bins of equally many, give or take one. Equal confidences
/// may be parted.
std::vector<record::ReliabilityBin> equal_mass_bins(std::vector<JudgedAnswer> answers);

/// The sum over the bins of images / all images x |accuracy - confidence|; 0 without images.
double expected_calibration_error(const std::vector<record::ReliabilityBin>& bins);

/// The errors of the answers, without the likelihood. Few images make an error of a perfectly calibrated network, too,
/// and no interval around it holds in 95 %: 36 to 55 % by bootstrap, as the error is one-sided there. So the answers'
/// being right is drawn anew from their own confidences, 1000 times: what comes is by chance (consistency resampling:
/// Bröcker and Smith, Increasing the reliability of reliability diagrams, 2007). Deterministic.
record::CalibrationError calibration_error(const std::vector<JudgedAnswer>& answers,
                                           std::size_t bins = kReliabilityBins);

}  // namespace evener::inference
