// Which networks a file's weights are of, and a network with them: what `evener info` says of a file is what the others
// take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "network/network.h"
#include "network/zoo.h"
#include "weights/safetensors.h"

namespace evener::task {

struct WeightedNetwork {
  network::Network network;
  TensorMap state;                 // network::check_state
  std::vector<std::string> notes;  // what became of the file's tensors, for people
};

using NetworkBuilder = std::function<network::Network(const network::ModelOptions& options)>;

/// The network that `build` makes with the file's tensors in it; it has as many outputs as the file, unless
/// `keeps_classes` says that the options' number was asked for. Throws Error naming `source` and what doesn't fit.
WeightedNetwork with_weights(const NetworkBuilder& build, network::ModelOptions options, bool keeps_classes,
                             weights::SafetensorsFile file, const std::string& source, std::uint64_t seed);

struct FittingNetwork {
  std::string model;          // "resnet18"
  std::int64_t outputs = 0;   // of its last layer; 0 = unknown
  std::int64_t channels = 0;  // of images, where they are others than the network's usual ones; else 0
  std::vector<std::string> notes;

  /// "resnet18 --weights FILE", in a command.
  std::string usage(const std::filesystem::path& file) const;
};

/// The networks of the zoo that the file's weights are of; those with open names (mlp) are left out.
std::vector<FittingNetwork> fitting_networks(const weights::SafetensorsFile& file);

/// "name it, as in 'resnet18 --weights FILE'", or that none fits.
std::string fitting_text(const std::vector<FittingNetwork>& fitting, const std::filesystem::path& file);

}  // namespace evener::task
