// Which layers stay in float so that a quantised network loses little accuracy.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "task/quantize/quantizer.h"

namespace evener::task {

/// How good a network with that state is: a share, such as the accuracy of a classifier or the mAP of a detector.
using Quality = std::function<double(const network::Network& network, const TensorMap& state)>;

struct KeptLayers {
  std::set<std::string> layers;
  double float_quality = 0, quality = 0;
  int trials = 0;  // quantised networks that were evaluated
};

/// As few layers as are needed for a quality that is at most `most_lost` below the float network's: those of
/// by_sensitivity(), the most sensitive first, of which twice as many are kept in each trial, and then the least number
/// that suffices is sought between the last two. `kept`: those that stay anyway.
KeptLayers keep_sensitive(const Quantizer& quantizer, const Quality& quality, const std::set<std::string>& kept,
                          double most_lost);

}  // namespace evener::task
