// Fits the distance by which images of none of the classes are known (infer/model/fitted_calibration.h).
#pragma once

#include <vector>

#include "infer/model/fitted_calibration.h"
#include "infer/run/softmax_regression.h"

namespace evener::inference {

struct FeatureFit {
  FeatureStatistics statistics;  // without a threshold
  double shrinkage = 0;          // share of the covariance that is that of a sphere
};

/// The means of the classes, and the covariance of features around them, of features brought to length 1. The
/// covariance is shrunk towards a sphere, S -> (1 - s) S + s trace(S) / D I, by the share s of Ledoit and Wolf (A
/// well-conditioned estimator for large-dimensional covariance matrices, 2004), so that it can be inverted for any
/// number of images. Throws Error where all features of a class are equal, so that there is no distance.
FeatureFit fit_features(FeatureTable table);

/// The threshold that an image of the training's classes exceeds with a chance of at most `share`, by the distances of
/// such images that weren't trained on: the k-th smallest, k = ceil((n + 1) (1 - share)) (split conformal prediction);
/// the largest where there are fewer. At least one distance.
double threshold_of(std::vector<float> distances, double share);

/// The chance that an unlike image has a larger distance than a known one; ties count half.
double area_under_roc(const std::vector<float>& known, const std::vector<float>& unlike);
/// The share of unlike images whose distance is not above that within which 95 % of the known ones lie.
double false_positives_at_95(const std::vector<float>& known, const std::vector<float>& unlike);

}  // namespace evener::inference
