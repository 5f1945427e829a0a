// A network in another program's file, as an engine that reads such files shows it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "engine/pixel_scale.h"
#include "engine/runner.h"
#include "network/network.h"

namespace evener::engine {

/// What a model takes or gives, with its name in the file.
struct ModelPort {
  std::string name;
  std::vector<std::int64_t> shape;  // whole, with the batch first; -1 = any extent. Empty: not even the rank is known
  std::string type;                 // of its values: "f32", "u8", "i8"
};

/// A step of a model's graph, as the engine reads it.
struct ModelLayer {
  std::string name, kind;
  std::vector<std::int64_t> shape;  // of its first result; -1 = any extent
  std::int64_t parameters = 0;      // values of constants that it alone is given
};

/// Where a model's input has the channels of an image: (N, C, H, W) or (N, H, W, C).
enum class ChannelPlace : std::uint8_t { kFirst, kLast };

/// How a model's input is fed. Whoever gives images gives them as (N, C, H, W).
struct ModelInput {
  std::vector<std::int64_t> shape;  // of one sample: (C, H, W) of an image, any other as the model has it
  ChannelPlace channels = ChannelPlace::kFirst;
  bool is_image = true;           // whether values are scaled by mean and deviation, and moved to where channels are
  bool reverse_channels = false;  // the model takes blue, green, red
  /// An output that is one value for each sample, which is to become two: how likely the first and the second of two
  /// classes are, or scores of them. "" = none.
  std::string two_classes_of = {};
  bool one_is_probability = false;  // that value, also where the graph doesn't make it by a sigmoid
};

/// A file's network in our own description.
struct DescribedNetwork {
  network::Network network;
  TensorMap state = {};
  /// How the file's network scales its input, bytes as values from 0 to 255; the description leaves that to others.
  std::optional<PixelScale> pixels = {};
  bool was_quantized = false;  // the file rounds values, which the description doesn't
};

/// Not thread-safe.
class ModelFile {
 public:
  virtual ~ModelFile() = default;

  virtual const std::vector<ModelPort>& inputs() const = 0;
  virtual const std::vector<ModelPort>& outputs() const = 0;
  /// In the order of computation, without constants.
  virtual std::vector<ModelLayer> layers() const = 0;
  /// What the file says of itself (metadata_props of ONNX).
  virtual const std::map<std::string, std::string>& metadata() const = 0;

  /// As Engine::make_runners. Outputs bear the names of outputs(). Throws Error where the input can't have that shape,
  /// or where an output has not the batch as its first extent.
  virtual std::vector<std::unique_ptr<Runner>> make_runners(const ModelInput& input, const RunnerOptions& options,
                                                            int count) const = 0;

  /// The network as one of ours, in float32, of images or vectors of that shape: what was rounded in the file is what
  /// it stands for, and a softmax at its end is left out. Throws Error naming the first layer that ours don't have.
  virtual DescribedNetwork describe(const ModelInput& input) const = 0;
};

}  // namespace evener::engine
