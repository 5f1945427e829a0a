#include "network/zoo/blocks.h"

namespace evener::network {

int add_convolution(Network& network, const std::string& prefix, const Conv2d& convolution,
                    const ConvolutionStyle& style) {
  network.add(prefix + "0", convolution);
  const int normalized = network.add(prefix + "1", style.normalization);
  return style.activation ? network.add(prefix + "2", Activation{*style.activation}) : normalized;
}

int add_squeeze_excitation(Network& network, const std::string& prefix, std::int64_t squeezed,
                           ActivationKind activation, ActivationKind scale_activation, double first_deviation) {
  const int image = static_cast<int>(network.layers().size()) - 1;
  const std::int64_t channels = network.layers().back().shape.front();
  network.add(prefix + "pool", GlobalAveragePool{});
  network.add(prefix + "fc1", Conv2d{.out_channels = squeezed, .bias = true, .first_deviation = first_deviation});
  network.add(prefix + "act1", Activation{activation});
  network.add(prefix + "fc2", Conv2d{.out_channels = channels, .bias = true, .first_deviation = first_deviation});
  const int factors = network.add(prefix + "act2", Activation{scale_activation});
  return network.add(prefix + "scale", Multiply{}, {image, factors});
}

}  // namespace evener::network
