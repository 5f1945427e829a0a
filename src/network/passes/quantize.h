// Quantises a network: the rule that chooses which values are quantised, and the pass that inserts FakeQuantize layers
// there. The scales are not chosen here: task/quantize/ finds them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "network/network.h"

namespace evener::network {

/// Which values are quantised, by the names of layers in the folded network (fold_batch_norm).
struct QuantizationScheme {
  std::map<std::string, bool> activations;  // layers whose results are quantised; true = with a sign
  std::map<std::string, int> weight_bits;   // convolutions and linear layers, and the bits of their weights

  bool empty() const { return activations.empty() && weight_bits.empty(); }
  bool operator==(const QuantizationScheme&) const = default;
};

/// Chooses the operands of int8 kernels on CPUs: the weights of all convolutions and linear layers but those in `kept`,
/// the inputs of these layers, and the inputs of sums and of average pooling. The term of a sum that a convolution's
/// kernel adds to its own result is left out, since OpenVINO doesn't round it. A value is quantised by the layer that
/// computes it, and passes unchanged through layers that only move values (max-pooling, concatenation, flattening). It
/// is unsigned where it can't be negative; if one part of a concatenation is signed, all are. `folded`: see
/// fold_batch_norm.
QuantizationScheme choose_quantization(const Network& folded, int weight_bits, const std::set<std::string>& kept);

/// The name of the FakeQuantize layer after the layer `name`; its scale is called "NAME.quantized.scale".
std::string quantizer_name(const std::string& name);

/// Returns `folded` with a FakeQuantize after each layer in the scheme's activations, and with quantised weights.
/// Outputs, and convolutions and linear layers that are not quantised, read the original values; all other layers read
/// the quantised ones. Throws Error where the scheme names a layer that doesn't exist or has no weights.
Network with_quantization(const Network& folded, const QuantizationScheme& scheme);

/// Whether the network has FakeQuantize layers.
bool is_quantized(const Network& network);

/// Groups of quantised layers whose results are parts of one concatenation: int8 kernels need one scale for a whole
/// group.
std::vector<std::set<std::string>> shared_scales(const Network& folded, const QuantizationScheme& scheme);

}  // namespace evener::network
