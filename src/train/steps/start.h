// The start of a run: initial weights, random or from a file, which parameters are frozen, and how images are
// normalised.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/open/open_data.h"
#include "infer/model/metadata.h"
#include "network/network.h"
#include "train/steps/train.h"
#include "weights/safetensors.h"

namespace evener::training {

/// The network that the options name, for the images and classes of `dataset`.
network::Network build_network(const TrainOptions& options, const data::Dataset& dataset);

/// Reads the metadata of a weights file: its network and the images that it was trained with. Empty where another
/// program wrote the file.
inference::ModelFacts facts_in(const std::filesystem::path& file);

/// How the network is quantised at the start of a new or resumed run: as its weights file says, or as
/// options.quantize_bits asks for. Sets quantize_bits to 0 where the file's weights have scales already. Empty = not
/// quantised. Throws UsageError.
network::QuantizationScheme quantization_of(TrainOptions& options, const data::Dataset& dataset);

/// Names of the network's trained parameters that match any of `patterns` ('*', '?', '[...]'), in the network's order.
/// Throws UsageError for a pattern that matches none, offering near names.
std::vector<std::string> matching_parameters(const network::Network& network, const std::vector<std::string>& patterns);

/// Names of the trained parameters of the backbone: of a detector the part that its classifier has too, of a classifier
/// all layers but the last.
std::vector<std::string> backbone_parameters(const network::Network& network);

/// "5 of 62 parameters are trained (650 of 11181642 values)"; "" when all are.
std::string freeze_text(const network::Network& network);

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

/// The first state of a new run. Adds the normalisation, the fit of a new last layer, and notes to `setup`. `progress`:
/// of reading the images for their mean. Throws Error or UsageError when the weights don't fit.
TensorMap make_start(const TrainOptions& options, TrainSetup& setup, const data::OpenedData& data,
                     const data::Progress& progress);

}  // namespace evener::training
