// Which layers stay in float so that a quantised network loses little accuracy.
#pragma once

#include <set>
#include <string>

#include "task/quantize/quantizer.h"

namespace evener::task {

struct KeptLayers {
  std::set<std::string> layers;
  double float_accuracy = 0, accuracy = 0;  // shares of the labelled samples
  int trials = 0;                           // quantised networks that were evaluated
};

/// As few layers as are needed for an accuracy on `samples` that is at most `most_lost` (a share) below the float
/// network's: those of by_sensitivity(), the most sensitive first, of which twice as many are kept in each trial, and
/// then the least number that suffices is sought between the last two. `kept`: those that stay anyway.
KeptLayers keep_sensitive(const Quantizer& quantizer, const Probe& probe, const data::Samples& samples,
                          const std::set<std::string>& kept, double most_lost);

}  // namespace evener::task
