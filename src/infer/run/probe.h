// Runs a network on some images and gives the results of its layers to an observer.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/channel_statistics.h"
#include "data/open/samples.h"
#include "engine/engine.h"
#include "infer/run/infer.h"
#include "network/network.h"

namespace evener::inference {

/// The engine that runs the networks, and how their images are normalised.
struct Probe {
  engine::Engine& engine;
  data::ChannelStatistics normalization;
  int threads = 1;
};

/// Is called with the results of one batch: tensors (images, ...) by the name of the layer or of the network's output.
/// `indices`: the batch's samples.
using ResultsObserver = std::function<void(const TensorMap& results, std::span<const std::size_t> indices)>;

/// Calls `take` with up to `images` samples and their indices, from everywhere: samples may be ordered by class. Those
/// that can't be read are skipped. Throws Interrupted after a stop request.
void each_spread_sample(const data::Samples& samples, std::size_t images,
                        const std::function<void(SampleValues sample, std::size_t index)>& take);

/// The layers among `layers` that `pattern` ('*', '?', or "first" or "last") fits, by a layer's name or its other one.
/// Throws UsageError for a pattern that fits none.
std::set<std::string> layers_named(const std::string& pattern, const std::vector<std::string>& layers,
                                   const std::map<std::string, std::string>& other_names, const std::string& model);

/// Calls `observer` with the results of `layers` and the network's outputs, for up to `images` samples spread evenly
/// over all. Samples that can't be read are skipped. Returns how many samples were run. Throws Interrupted after a stop
/// request.
std::size_t observe_results(const Probe& probe, const network::Network& network, const TensorMap& state,
                            const std::vector<std::string>& layers, const data::Samples& samples, std::size_t images,
                            const ResultsObserver& observer);

/// The values of image `index` in a tensor (images, values).
std::span<const float> values_of(const HostTensor& results, std::size_t index);

/// The accuracy: the share of the samples whose class has the network's highest output; NaN where no sample could be
/// read.
double accuracy_of(const Probe& probe, const network::Network& network, const TensorMap& state,
                   const data::Samples& samples);

}  // namespace evener::inference
