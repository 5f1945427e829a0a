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

/// What the names of the layers begin with that a detector has in common with a classifier.
inline constexpr const char* kDetectorsPart = "backbone.features.";

struct Backbone {
  TensorMap state;                 // of the whole network (network::check_state)
  std::vector<std::string> notes;  // what is not from the file, for people
};

/// See network::adapt_names; of a detector's or of its classifier's names, whichever the file has.
std::vector<std::string> adapt_to_network_or_backbone(const network::Network& network, weights::SafetensorsFile& file,
                                                      const std::string& source);

/// Whether `given` are a classifier's, where `network` is a detector on the same layers.
bool is_of_backbone(const network::Network& network, const TensorMap& given);

/// The detector with the classifier's tensors, wherever the layers are as wide, and first values from `seed` elsewhere.
/// Throws Error naming `source` where tensors are missing.
Backbone backbone_of_classifier(const network::Network& network, TensorMap given, const std::string& source,
                                std::uint64_t seed);

/// The detector, or classifier, with convolutions that batch-norms were folded into, and first values from `seed` in
/// its other layers. Its batch-norms only add the biases: they compute what the file does as long as they use their
/// running statistics; estimate_norms makes them fit for training. Throws Error naming `source` where a convolution has
/// another shape than the network's.
Backbone backbone_of_folded(const network::Network& network, const std::vector<weights::FoldedConvolution>& given,
                            const std::string& source, std::uint64_t seed);

/// Gives the batch-norms of the convolutional part the statistics that they see on some of `samples`, and weights and
/// biases by which they compute what they did before. The engine that looks works in a child process: this one can fork
/// its ranks afterwards.
void estimate_norms(const network::Network& network, TensorMap& state, const data::ChannelStatistics& normalization,
                    const data::Samples& samples, int threads);

}  // namespace evener::task
