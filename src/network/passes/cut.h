// Divides a network into stages, each a network of its own: for pipelines, whose stages compute on different devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "network/network.h"

namespace evener::network {

/// A stretch of a network's layers, with the values that cross its borders. Values that a later stage needs are handed
/// on by each stage between (a skip connection over a cut, an output that an early stage computes).
struct NetworkStage {
  /// Its inputs are the values that come from the stage before, in the order of `received` (of the first stage: the
  /// images); its outputs those of `sent`, or of the last stage the whole network's, by their names. Layers and
  /// parameters are named as in the whole network, and parameters that aren't trained there aren't here.
  Network network;
  int first = 0, last = 0;          // indices of its layers in the whole network
  std::vector<int> received, sent;  // layers of the whole network whose results cross, ascending
};

/// Stage k begins with layer begins[k - 1], the first one with the images, and ends where the next one begins. Throws
/// Error unless `begins` ascend and leave every stage a layer to compute.
std::vector<NetworkStage> cut(const Network& network, std::span<const int> begins);

/// One of these stages: the layers from `begin` to `end`, without it.
NetworkStage stretch(const Network& network, int begin, int end);

/// The layers that bear these names, or the first ones whose names begin with them and a dot: "layer2" is
/// "layer2.0.conv1". Throws UsageError for a name of no layer, and for names that don't follow one another.
std::vector<int> begins_of(const Network& network, const std::vector<std::string>& names);

/// What stages take: of a layer, seconds (or any unit of work) on a stage of speed 1; of a value that crosses a cut, so
/// much for each of its numbers, on both sides.
struct StageCosts {
  std::vector<std::vector<double>> of_layers;  // by index: on each stage, or once where all are of one kind
  double of_number = 0;                        // of one sample's value
  std::vector<double> speeds = {};             // of each stage
  /// Whether a stage has memory for the layers from `begin` to `end`, without it; a longer stretch takes no less.
  /// Empty: for any.
  std::function<bool(std::size_t stage, int begin, int end)> fits = {};
};

/// Where stages have to begin so that the slowest of them is as fast as can be, by dynamic programming over all cuts.
/// Stages begin with a convolution or a linear layer, so that what engines compute as one stays together. Where no cut
/// fits all stages' memories, it is as if there were memory for any. Throws UsageError where the network has too few of
/// these layers.
std::vector<int> balanced_begins(const Network& network, const StageCosts& costs);

}  // namespace evener::network
