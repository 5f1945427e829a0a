// Finds the networks that a file's weights fit, and loads the weights into one. `evener info` and all other commands
// use this, so that they agree.
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

}  // namespace evener::task
