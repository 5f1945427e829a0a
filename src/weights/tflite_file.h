// Reader of the weights in TensorFlow Lite models (.tflite): the convolutions of the first graph, dequantised.
// Format: FlatBuffers, with the tables of TensorFlow's schema.fbs. Files are untrusted: every offset is checked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"

namespace evener::weights {

/// A convolution that its batch-norm has been folded into, as such models have it.
struct FoldedConvolution {
  std::string name;   // of the tensor of its weights; whatever the file calls it
  HostTensor weight;  // float32 (out_channels, in_channels / groups, kernel height, kernel width)
  HostTensor bias;    // float32 (out_channels)
};

bool is_tflite(std::string_view bytes);

/// In the order of computation: those of the operators CONV_2D and DEPTHWISE_CONV_2D whose weights are stored. Throws
/// Error saying what is wrong, without the file's name.
std::vector<FoldedConvolution> parse_tflite_convolutions(std::string_view bytes);

}  // namespace evener::weights
