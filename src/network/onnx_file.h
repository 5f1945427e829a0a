// Networks with their weights as ONNX files, for other software.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "network/network.h"

namespace evener::network {

/// A further output of a file, (N, 1): the distance of a layer's result from the nearest of some points, as a share of
/// a limit. With u = x / |x|: min over the points m of |W u - m|^2 / limit.
struct OnnxDistance {
  std::string output;            // its name
  int layer = 0;                 // x
  std::vector<float> whitening;  // W, (values, values), row-major
  std::vector<float> points;     // (points, values), row-major
  double limit = 1;
};

struct OnnxOptions {
  /// One number per channel: the file takes pixels from 0 to 255, and its first nodes compute value * scale + shift,
  /// the network's input. Empty: the file takes the network's input itself.
  std::vector<float> pixel_scale = {}, pixel_shift = {};
  std::optional<OnnxDistance> distance = {};
  std::map<std::string, std::string> metadata = {};  // the model's metadata_props; UTF-8
};

/// Why the network can't become an ONNX file ("" = it can): protobuf's messages end at 2 GB.
std::string onnx_refusal(const Network& network);

/// Writes the network in evaluation mode: batch normalisation uses its running statistics, and dropout does nothing.
/// The batch is a free dimension "N"; outputs and parameters keep their names. `state` must pass check_state(). The
/// model is validated by ONNX's checker before it is written; the file is whole or absent. Throws Error, also where the
/// module "onnx" is missing.
void write_onnx(const std::filesystem::path& path, const Network& network, const TensorMap& state,
                const OnnxOptions& options = {});

/// The interface of the module "onnx"; no types of its libraries appear here.
class OnnxWriter {
 public:
  virtual ~OnnxWriter() = default;
  /// As write_onnx(), for a network that onnx_refusal() doesn't refuse and a state that fits it.
  virtual void write(const std::filesystem::path& path, const Network& network, const TensorMap& state,
                     const OnnxOptions& options) = 0;
};

}  // namespace evener::network
