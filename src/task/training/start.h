// The start of a run: initial weights, random or from a file, which parameters are frozen, and how images are
// normalised.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/open/open_data.h"
#include "network/network.h"
#include "task/inference/model_metadata.h"
#include "task/training/train.h"

namespace evener::task {

/// The network that the options name, for the images and classes of `dataset`.
network::Network build_network(const TrainOptions& options, const data::Dataset& dataset);

/// Reads the metadata of a weights file: its network and the images that it was trained with. Empty where another
/// program wrote the file.
ModelFacts facts_in(const std::filesystem::path& file);

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

struct Start {
  TensorMap state;
  data::ChannelStatistics normalization;
  std::string normalized_by;       // "data", "weights" or "given"
  std::vector<std::string> notes;  // what a user should know, and the record says
  bool has_new_head = false;       // the last layer has first values: the file has none that fits
  std::optional<LinearProbe> linear_probe;
};

/// The start of a new run. `progress`: of reading the images for their mean. Throws Error or UsageError
/// when the weights don't fit.
Start make_start(const TrainOptions& options, const TrainSetup& setup, const data::OpenedData& data,
                 const data::Progress& progress);

}  // namespace evener::task
