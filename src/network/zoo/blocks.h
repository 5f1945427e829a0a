// Inside network/zoo: groups of layers that several models are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "network/network.h"

namespace evener::network {

/// Normalisation and activation that a model puts behind its convolutions.
struct ConvolutionStyle {
  BatchNorm normalization = {};
  std::optional<ActivationKind> activation = {};  // absent: none
};

/// A convolution of the layer before, normalised, with an activation: layers PREFIX0, PREFIX1 and, if any, PREFIX2, as
/// torchvision's Conv2dNormActivation numbers them. Returns the last layer.
int add_convolution(Network& network, const std::string& prefix, const Conv2d& convolution,
                    const ConvolutionStyle& style);

/// Multiplies each channel of the layer before by a factor that two 1x1 convolutions, PREFIXfc1 to `squeezed` channels
/// and PREFIXfc2 back, compute from the means of all channels (Hu et al., Squeeze-and-Excitation Networks, 2018).
/// `first_deviation`: as Conv2d's. Returns the last layer.
int add_squeeze_excitation(Network& network, const std::string& prefix, std::int64_t squeezed,
                           ActivationKind activation, ActivationKind scale_activation, double first_deviation = 0);

}  // namespace evener::network
