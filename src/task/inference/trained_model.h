// From what a user names as a trained network to the network with its weights: a network of the zoo, the folder of a
// run, or a file of weights that says which network it is of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "data/channel_statistics.h"
#include "data/preprocess.h"
#include "network/network.h"
#include "network/passes/quantize.h"

namespace evener::task {

/// The files that `evener quantize` writes into the folder of its run: for a network of ours, and for a file of another
/// program.
constexpr const char *kQuantizedWeights = "quantized.safetensors", *kQuantizedForeign = "quantized.onnx";

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

/// Whether `model` names a folder or a file, not a network of the zoo.
bool names_a_path(const std::string& model);

}  // namespace evener::task
