// Weights of the convolutional part alone: a classifier's, for a detector that is built on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "network/network.h"
#include "weights/safetensors.h"

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

}  // namespace evener::task
