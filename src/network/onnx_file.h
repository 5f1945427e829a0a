// Networks with their weights as ONNX files, for other software.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "network/network.h"

namespace evener::network {

struct OnnxOptions {
  /// Per channel of an image: the file takes pixels, of which its first layers make value * scale + shift, what the
  /// network takes. Empty: the file takes what the network takes.
  std::vector<float> pixel_scale = {}, pixel_shift = {};
  std::map<std::string, std::string> metadata = {};  // the model's metadata_props; UTF-8
};

/// Why the network can't become an ONNX file ("" = it can): protobuf's messages end at 2 GB.
std::string onnx_refusal(const Network& network);

/// Writes the network as it computes in evaluation: batch normalisation with its running statistics, nothing dropped.
/// The batch is a free dimension "N"; outputs have their names, parameters theirs. `state` is as check_state wants it.
/// The file is checked by the rules of ONNX before it is written, and whole or absent. Throws Error, also where the
/// module "onnx" is missing.
void write_onnx(const std::filesystem::path& path, const Network& network, const TensorMap& state,
                const OnnxOptions& options = {});

/// What the module "onnx" does for the program. No types of its libraries here.
class OnnxWriter {
 public:
  virtual ~OnnxWriter() = default;
  /// As write_onnx, of a network that isn't refused and a state that fits it.
  virtual void write(const std::filesystem::path& path, const Network& network, const TensorMap& state,
                     const OnnxOptions& options) = 0;
};

}  // namespace evener::network
