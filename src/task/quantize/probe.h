// Runs a network on some images and looks at what its layers give.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/channel_statistics.h"
#include "data/open/samples.h"
#include "engine/engine.h"
#include "network/network.h"
#include "task/detect/detector.h"

namespace evener::task {

/// What runs networks, and how their images are normalised.
struct Probe {
  engine::Engine& engine;
  data::ChannelStatistics normalization;
  int threads = 1;
};

/// Results of one batch: (images, shape) by the name of the layer, or of the network's output. `indices`: of its
/// samples.
using ResultsObserver = std::function<void(const TensorMap& results, std::span<const std::size_t> indices)>;

/// Gives the results of `layers` for up to `images` samples, evenly spread over all, and the network's outputs too.
/// Samples that can't be read are passed over. Returns how many were run. Throws Interrupted after a stop request.
std::size_t observe_results(const Probe& probe, const network::Network& network, const TensorMap& state,
                            const std::vector<std::string>& layers, const data::Samples& samples, std::size_t images,
                            const ResultsObserver& observer);

/// Of a tensor (images, values): the values of image `index`.
std::span<const float> values_of(const HostTensor& results, std::size_t index);

/// The share of labelled samples whose class has the highest of the network's outputs; of none: NaN.
double accuracy_of(const Probe& probe, const network::Network& network, const TensorMap& state,
                   const data::Samples& samples);

/// The mAP@0.5 of a detector (COCO's rule) on `photos`, whose boxes are known; 0 where there is none to be found.
/// `detector`: tells how outputs of the network become boxes.
double precision_of(const Probe& probe, const network::Network& network, const TensorMap& state,
                    const Detector& detector, const Photos& photos);

/// 10 log10 of the power of `wanted` over that of what `found` differs by; infinite where they are equal.
class SignalToNoise {
 public:
  void add(std::span<const float> wanted, std::span<const float> found);
  double decibels() const;

 private:
  double signal_ = 0, noise_ = 0;
};

}  // namespace evener::task
