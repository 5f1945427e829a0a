// Which layers stay in float so that a quantised network loses little accuracy.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "task/quantize/quantizer.h"

namespace evener::task {

/// Measures a network with its weights: the accuracy of a classifier or the mAP of a detector, from 0 to 1.
using Quality = std::function<double(const network::Network& network, const TensorMap& state)>;

struct KeptLayers {
  std::set<std::string> layers;
  double float_quality = 0, quality = 0;
  int trials = 0;  // quantised networks that were evaluated
};

/// Keeps as few layers in float as are needed for a quality at most `most_lost` below the float network's. Takes them
/// in the order of by_sensitivity(): doubles their number until it suffices, and then finds the least number by
/// bisection. `kept`: layers that stay in float anyway.
KeptLayers keep_sensitive(const Quantizer& quantizer, const Quality& quality, const std::set<std::string>& kept,
                          double most_lost);

}  // namespace evener::task
