// Linear probing: fits a new last layer to the features that a trained network computes of the images, before all
// layers are trained. A random last layer would give large first gradients that spoil the pretrained weights (Kumar et
// al. 2022).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/tensor.h"
#include "data/augment.h"
#include "data/open/open_data.h"
#include "data/open/samples.h"
#include "infer/model/fitted_calibration.h"
#include "network/network.h"

namespace evener::training {

struct LinearProbeOptions {
  data::ChannelStatistics normalization;
  data::AugmentOptions augment;  // if there is any, features are taken of each image and of a few augmented copies
  std::uint64_t seed = 1;        // of the augmentation
  int threads = 1;
};

/// The result of linear probing.
struct LinearProbe {
  std::string layer;
  std::size_t images = 0, copies = 1;  // how many images were used, and how many copies of each
  double loss = 0, accuracy = 0;       // on those images
  double begin_s = 0, seconds = 0;     // by now_s(); computing the features, and the fit
};

/// Writes into `state` the weights of the head that fit the training images best
/// (infer/run/softmax_regression.h); all other weights stay. Each image's features are computed once, in
/// evaluation mode, and kept in memory; where it has no room for all, a part of the images is used. The engine runs in
/// a child process, so that this process can still fork its ranks. Throws Error, Interrupted.
LinearProbe fit_linear_probe(const network::Network& network, const inference::LinearHead& head, TensorMap& state,
                             const data::OpenedData& data, const LinearProbeOptions& options);

/// Each training image as it is, followed by `copies` - 1 augmented copies of it, each augmented as in another epoch.
/// `data` and `options` must outlive the samples.
std::unique_ptr<data::Samples> copied_samples(const data::OpenedData& data, const LinearProbeOptions& options,
                                              std::size_t copies);

}  // namespace evener::training
