// Weights of the convolutional part alone: a classifier's for a detector that is built on it, and those of TensorFlow
// Lite models, which have no batch-norms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/channel_statistics.h"
#include "data/open/samples.h"
#include "network/network.h"
#include "weights/safetensors.h"
#include "weights/tflite_file.h"

namespace evener::task {

/// The names of the layers that a detector has in common with a classifier begin so.
inline constexpr const char* kDetectorsPart = "backbone.features.";

struct Backbone {
  TensorMap state;                 // of the whole network (network::check_state)
  std::vector<std::string> notes;  // for the user: which layers have their values not from the file
};

/// Renames the file's tensors as network::adapt_names does: to the names of `network` or, where the file holds the
/// classifier that this detector is built on, to the classifier's. Returns notes for the user.
std::vector<std::string> adapt_to_network_or_backbone(const network::Network& network, weights::SafetensorsFile& file,
                                                      const std::string& source);

/// Whether `network` is a detector and `given` are the weights of the classifier that it is built on.
bool is_of_backbone(const network::Network& network, const TensorMap& given);

/// The detector's state: the classifier's tensors in all layers that have the same width in both, and random first
/// values, drawn with `seed`, in the others. Throws Error naming `source` where tensors are missing.
Backbone backbone_of_classifier(const network::Network& network, TensorMap given, const std::string& source,
                                std::uint64_t seed);

/// The state of a detector or classifier from convolutions that batch-norms were folded into; its other layers get
/// random first values, drawn with `seed`. The batch-norms only add the biases, so they compute what the file does as
/// long as they use their running statistics; estimate_norms makes them fit for training. Throws Error naming `source`
/// where a convolution has another shape than the network's.
Backbone backbone_of_folded(const network::Network& network, const std::vector<weights::FoldedConvolution>& given,
                            const std::string& source, std::uint64_t seed);

/// Gives the batch-norms of the convolutional part the statistics of their inputs on some of `samples`, and weights and
/// biases with which they compute the same as before. The engine runs in a child process, so that this process, free of
/// the engine's threads, can still fork its ranks.
void estimate_norms(const network::Network& network, TensorMap& state, const data::ChannelStatistics& normalization,
                    const data::Samples& samples, int threads);

}  // namespace evener::task
