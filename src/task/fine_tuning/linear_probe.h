// A new last layer fitted to the features that a trained network has of images: where training begins with the weights
// of other classes, so that the first gradients don't spoil what is known already (Kumar et al. 2022).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/tensor.h"
#include "data/augment.h"
#include "data/open/open_data.h"
#include "network/network.h"

namespace evener::task {

/// A linear layer that alone decides the network's one output.
struct LinearHead {
  std::string layer;     // its name
  std::string features;  // the layer whose result it reads, a dropout between left out
  std::int64_t values = 0, classes = 0;
  bool has_bias = true;
};
/// Absent where the output is made in another way.
std::optional<LinearHead> linear_head(const network::Network& network);

struct LinearProbeOptions {
  data::ChannelStatistics normalization;
  data::AugmentOptions augment;  // each image is then looked at as it is, and changed in a few ways
  std::uint64_t seed = 1;        // of the changes
  int threads = 1;
};

/// What fitting came to.
struct LinearProbe {
  std::string layer;
  std::size_t images = 0, copies = 1;  // features of so many images, each in so many copies
  double loss = 0, accuracy = 0;       // on those
  double seconds = 0;
};

/// Gives the head the weights that fit the training images best (task/fine_tuning/softmax_regression.h); the others of
/// `state` stay. Each image's features are computed once, in evaluation mode, and kept; of more images than memory has
/// room for some are taken. The engine works in a child process: this one can fork its ranks afterwards. Throws Error,
/// Interrupted.
LinearProbe fit_linear_probe(const network::Network& network, const LinearHead& head, TensorMap& state,
                             const data::OpenedData& data, const LinearProbeOptions& options);

}  // namespace evener::task
