// Where a network is quantised: the pass that puts FakeQuantize layers there, and the rule that chooses the places.
// Which scales they have is not known here: task/quantize/ finds them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "network/network.h"

namespace evener::network {

/// By the names of layers in a network without the batch-norms that can be folded.
struct QuantizationScheme {
  std::map<std::string, bool> activations;  // layers whose results are quantised; true = with a sign
  std::map<std::string, int> weight_bits;   // convolutions and linear layers, and the bits of their weights

  bool empty() const { return activations.empty() && weight_bits.empty(); }
  bool operator==(const QuantizationScheme&) const = default;
};

/// Quantises what int8 kernels of CPUs compute with: the weights of all convolutions and linear layers but those in
/// `kept`, with what these layers read, what sums read, and what is averaged. The term of a sum that a convolution's
/// kernel adds up in the same go stays as it is: OpenVINO doesn't round it. A value is quantised where it is made,
/// and passes through layers that only move values (pooling by the largest, concatenation, flattening). It has no sign
/// where it can't be negative. All parts of a concatenation have a sign where one has. `folded`: see fold_batch_norm.
QuantizationScheme choose_quantization(const Network& folded, int weight_bits, const std::set<std::string>& kept);

/// The name of the layer that quantises what the layer `name` gives; its scale is "NAME.quantized.scale".
std::string quantizer_name(const std::string& name);

/// `folded` with a FakeQuantize after each layer that the scheme names, and with quantised weights. Convolutions and
/// linear layers that are not quantised read the values as they were, and so do outputs; all others read the quantised
/// ones. Throws Error where the scheme names a layer that isn't there or has no weights.
Network with_quantization(const Network& folded, const QuantizationScheme& scheme);

/// Whether it has such layers.
bool is_quantized(const Network& network);

/// Names of quantised results that are parts of one concatenation, which int8 kernels compute with one scale.
std::vector<std::set<std::string>> shared_scales(const Network& folded, const QuantizationScheme& scheme);

}  // namespace evener::network
