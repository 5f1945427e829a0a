// Reader of the weights in TensorFlow Lite models (.tflite): the convolutions of the first graph, dequantised.
// Format: FlatBuffers, with the tables of TensorFlow's schema.fbs. Files are untrusted: every offset is checked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/tensor.h"

namespace evener::weights {

/// A convolution with its batch-norm folded into it, as TensorFlow Lite models have them.
struct FoldedConvolution {
  std::string name;   // the name of its weight tensor in the file
  HostTensor weight;  // float32 (out_channels, in_channels / groups, kernel height, kernel width)
  HostTensor bias;    // float32 (out_channels)
};

bool is_tflite(std::string_view bytes);

/// The convolutions (operators CONV_2D and DEPTHWISE_CONV_2D) whose weights are stored in the file, in the order of
/// computation. Throws Error saying what is wrong, without the file's name.
std::vector<FoldedConvolution> parse_tflite_convolutions(std::string_view bytes);

}  // namespace evener::weights
