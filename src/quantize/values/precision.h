// How close a quantised network stays to the network that it was made of.
#pragma once

#include <span>

#include "detect/detector.h"
#include "infer/run/probe.h"

namespace evener::quantization {

/// The mAP@0.5 of a detector (COCO's rule) on `photos`, whose boxes are known; 0 where the photos have no boxes.
/// `detector`: turns outputs of the network into boxes.
double precision_of(const inference::Probe& probe, const network::Network& network, const TensorMap& state,
                    const detection::Detector& detector, const detection::Photos& photos);

/// The signal-to-noise ratio in decibels: 10 log10 of the sum of wanted^2 over that of (wanted - found)^2; infinite
/// where they are equal.
class SignalToNoise {
 public:
  void add(std::span<const float> wanted, std::span<const float> found);
  double decibels() const;

 private:
  double signal_ = 0, noise_ = 0;
};

}  // namespace evener::quantization
