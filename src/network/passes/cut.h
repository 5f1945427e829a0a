// Divides a network into stages, each a network of its own, for pipelines whose stages compute on different devices.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "network/network.h"

namespace evener::network {

/// A stage: consecutive layers of a network, and the values that cross its borders. A value that a later stage needs (a
/// skip connection over a cut, an output that an early stage computes) is passed on by every stage between.
struct NetworkStage {
  /// Its inputs are the values from the stage before, in the order of `received` (in the first stage: the images). Its
  /// outputs are the values of `sent`; in the last stage, the whole network's outputs, with their names. Layers and
  /// parameters are named as in the whole network, and frozen parameters stay frozen.
  Network network;
  int first = 0, last = 0;          // indices of its layers in the whole network
  std::vector<int> received, sent;  // layers of the whole network whose results cross, ascending
};

/// Stage k begins with layer begins[k - 1], the first one with the images, and ends where the next one begins. Throws
/// Error unless `begins` ascend and leave every stage a layer to compute.
std::vector<NetworkStage> cut(const Network& network, std::span<const int> begins);

/// One such stage: the layers [begin, end).
NetworkStage stretch(const Network& network, int begin, int end);

/// The indices of the layers with these names, or else of the first layer whose name begins with the name and a dot:
/// "layer2" is "layer2.0.conv1". Throws UsageError for a name that matches no layer, and for names that aren't in the
/// order of the layers.
std::vector<int> begins_of(const Network& network, const std::vector<std::string>& names);

/// The costs that stages are balanced by, in seconds or any other unit: of each layer on a stage of speed 1, and of
/// each number that crosses a cut, for both the sender and the receiver.
struct StageCosts {
  /// By stage, then by layer; a single vector where all stages are of one kind.
  std::vector<std::vector<double>> of_layers;
  double of_number = 0;             // of each number of a sample that crosses a cut
  std::vector<double> speeds = {};  // of each stage
  /// Whether a stage has enough memory for the layers [begin, end); a range that contains one that doesn't fit must not
  /// fit either. Empty: every range fits.
  std::function<bool(std::size_t stage, int begin, int end)> fits = {};
};

/// The first layers of all stages but the first, chosen so that the slowest stage is as fast as possible, by dynamic
/// programming over all cuts. Stages begin with a convolution that isn't depthwise or with a linear layer, so that
/// layers that engines fuse stay together. Where no cut fits the memory of all stages, memory is ignored. Throws
/// UsageError where the network has too few such layers.
std::vector<int> balanced_begins(const Network& network, const StageCosts& costs);

}  // namespace evener::network
