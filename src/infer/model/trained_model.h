// From what a user names as a trained network to the network with its weights: a network of the zoo, the folder of a
// run, or a file of weights that says which network it is of, or that some network fits. `evener info` and all other
// commands use this, so that they agree.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/channel_statistics.h"
#include "data/preprocess.h"
#include "network/network.h"
#include "network/passes/quantize.h"
#include "network/zoo.h"
#include "weights/safetensors.h"

namespace evener::inference {

/// Converts those weights in `state` that `network` quantises to int8.
TensorMap packed(const network::Network& network, TensorMap state);

/// Converts int8 tensors "X.weight" to float32 by the scales "X.weight_scale". Other tensors stay as they are. Throws
/// Error for scales that don't fit.
void unpack(TensorMap& state);

/// The network that is quantised by `scheme`, with batch-norms folded where possible, from one as the zoo builds it. An
/// empty scheme returns the network as it is.
network::Network quantized_network(const network::Network& network, const network::QuantizationScheme& scheme);

struct WeightedNetwork {
  network::Network network;
  TensorMap state;                 // network::check_state
  std::vector<std::string> notes;  // which of the file's tensors were left out or renamed, for users
};

using NetworkBuilder = std::function<network::Network(const network::ModelOptions& options)>;

/// Makes a network by `build` and loads the file's tensors into it. The network gets as many outputs as the file has,
/// or with `keeps_classes` as many as `options` say. `seed`: for values that the file lacks. Throws Error naming
/// `source` and what doesn't fit.
WeightedNetwork with_weights(const NetworkBuilder& build, network::ModelOptions options, bool keeps_classes,
                             weights::SafetensorsFile file, const std::string& source, std::uint64_t seed);

struct FittingNetwork {
  std::string model;          // "resnet18"
  std::int64_t outputs = 0;   // of its last layer; 0 = unknown
  std::int64_t channels = 0;  // image channels, where they are not the network's usual ones; else 0
  std::vector<std::string> notes;

  /// "resnet18 --weights FILE", in a command.
  std::string usage(const std::filesystem::path& file) const;
};

/// The networks of the zoo that the file's weights fit. Families whose names have free parts (mlp:SIZES) are left out.
std::vector<FittingNetwork> fitting_networks(const weights::SafetensorsFile& file);

/// "name it, as in 'resnet18 --weights FILE'", or that none fits.
std::string fitting_text(const std::vector<FittingNetwork>& fitting, const std::filesystem::path& file);

/// The files that `evener quantize` writes into the folder of its run: for a network of ours, for a file of another
/// program, and for one that stays as it is, in OpenVINO's own format, whose weights lie beside it (.bin).
constexpr const char *kQuantizedWeights = "quantized.safetensors", *kQuantizedForeign = "quantized.onnx",
                     *kQuantizedGraph = "quantized.xml";

struct ModelRequest {
  std::string model;                   // "resnet18", "runs/a", "runs/a/best.safetensors"
  std::filesystem::path weights = {};  // of a network of the zoo; empty = none
  std::optional<std::int64_t> width = {}, height = {}, channels = {};  // absent = as trained, or the model's own
  std::optional<std::int64_t> classes = {};  // absent = as many as the weights have, or the model's own
  std::string passed_over = {};              // prefix of the names of tensors in the file that are ignored
  std::uint64_t seed = 1;                    // of random weights, where there are none
};

struct TrainedModel {
  explicit TrainedModel(network::Network described) : network(std::move(described)) {}

  network::Network network;
  TensorMap state;                     // parameters and buffers (network::check_state)
  std::filesystem::path weights;       // the file they come from; empty = they are random
  std::vector<std::string> classes;    // their names, from the weights file or from a text file beside it
                                       // (labels_beside); empty = not known
  std::filesystem::path classes_file;  // the text file, where the names are from there
  std::optional<data::ChannelStatistics> normalization;  // as it was trained with; absent = the file tells none
  std::optional<data::CropMode> crop;                    // how pictures were fitted to its input in training; absent =
                                                         // not known
  bool trained_elsewhere = false;                        // ModelFacts::trained_elsewhere
  network::QuantizationScheme quantization;              // how the network is quantised; empty = not at all
  std::filesystem::path run;                             // the run's folder; empty = none
  std::vector<std::string> notes;                        // what a user should know
};

/// Finds the weights and builds the network that they are of. A run's folder gives its best weights, or the last where
/// there are no best ones. Throws UsageError for a name that is neither a folder, a file nor a network of the zoo, and
/// where a file of weights doesn't say which network it is of; Error naming what is wrong with a file.
TrainedModel open_trained_model(const ModelRequest& request);

/// The file of a run's best weights, or the last where there are no best ones, in its folder. Throws Error where it has
/// none.
std::filesystem::path weights_in(const std::filesystem::path& run);

/// Whether `model` names a folder or a file, not a network of the zoo.
bool names_a_path(const std::string& model);

}  // namespace evener::inference
