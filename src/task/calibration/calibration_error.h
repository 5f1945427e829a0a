// How far a classifier's probabilities are from how often it is right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "record/calibration.h"
#include "task/calibration/temperature.h"

namespace evener::task {

/// An answer: the probability of the class that was found, and whether that was right.
struct JudgedAnswer {
  double confidence = 0;
  bool is_right = false;
};

/// The answers at a temperature. Of equal logits the first is found.
std::vector<JudgedAnswer> answers_at(const LogitTable& table, double temperature);

/// Of Guo et al. 2017.
inline constexpr std::size_t kReliabilityBins = 15;

/// Bin k has the answers with a confidence in (k / 15, (k + 1) / 15]; the first also those of 0.
std::vector<record::ReliabilityBin> equal_width_bins(const std::vector<JudgedAnswer>& answers);
/// The answers in the order of their confidence, in up to 15 bins of equally many, give or take one. Equal confidences
/// may be parted.
std::vector<record::ReliabilityBin> equal_mass_bins(std::vector<JudgedAnswer> answers);

/// The sum over the bins of images / all images x |accuracy - confidence|; 0 without images.
double expected_calibration_error(const std::vector<record::ReliabilityBin>& bins);

/// The errors of the answers, without the likelihood. The interval is the basic bootstrap's: as few images make the
/// error look larger than it is, resamples, whose error is larger still by about as much, are mirrored at the estimate;
/// clipped at 0. Deterministic. Absent below 30 images.
record::CalibrationError calibration_error(const std::vector<JudgedAnswer>& answers);

}  // namespace evener::task
