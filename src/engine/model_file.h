// A network in another program's file (ONNX, TensorFlow Lite, OpenVINO), read by an engine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "engine/runner.h"
#include "engine/trainer_options.h"
#include "network/network.h"

namespace evener::engine {

/// What computes an output, passing over what only moves, rounds or converts it. kProduct: a convolution or a product
/// with weights, with or without a bias.
enum class MadeBy : std::uint8_t { kOther, kSoftmax, kSigmoid, kProduct };

/// An input or output of a model, with its name in the file.
struct ModelPort {
  std::string name;
  std::vector<std::int64_t> shape;  // whole, with the batch first; -1 = any extent. Empty: not even the rank is known
  std::string type;                 // of its values: "f32", "u8", "i8"
  MadeBy made_by = MadeBy::kOther;  // of an output
};

/// An operation of a model's graph, as the engine reads it.
struct ModelLayer {
  std::string name, kind;
  std::vector<std::int64_t> shape;  // of its first result; -1 = any extent
  std::int64_t parameters = 0;      // number of values in constants that no other operation reads
};

/// Where a model's input has the channels of an image: (N, C, H, W) or (N, H, W, C).
enum class ChannelPlace : std::uint8_t { kFirst, kLast };

/// How a model's input is fed. Callers always give images as (N, C, H, W).
struct ModelInput {
  std::vector<std::int64_t> shape;  // of one sample: (C, H, W) for an image, otherwise as in the model
  ChannelPlace channels = ChannelPlace::kFirst;
  bool is_image = true;  // whether values are normalised by mean and deviation, and transposed to the model's layout
  bool reverse_channels = false;  // the model takes channels in the order blue, green, red
  /// The name of an output with one value per sample that tells two classes apart; it is replaced by two values, the
  /// probabilities or scores of the first and the second class. "" = none.
  std::string two_classes_of = {};
  /// The value is a probability even where the graph computes it by something else than a sigmoid.
  bool one_is_probability = false;
};

/// A file's network, converted to our own description.
struct DescribedNetwork {
  network::Network network;
  TensorMap state = {};
  /// How the file's network normalises its input (bytes from 0 to 255): this is left out of `network`, whose caller has
  /// to do it.
  std::optional<PixelScale> pixels = {};
  bool was_quantized = false;  // the file's network is quantised, `network` is not
};

/// Not thread-safe.
class ModelFile {
 public:
  virtual ~ModelFile() = default;

  virtual const std::vector<ModelPort>& inputs() const = 0;
  virtual const std::vector<ModelPort>& outputs() const = 0;
  /// The operations in the order of computation, without constants.
  virtual std::vector<ModelLayer> layers() const = 0;
  /// The file's own metadata (metadata_props of ONNX).
  virtual const std::map<std::string, std::string>& metadata() const = 0;
  /// Whether what it does first brings pixels from 0 to 255 to small values, as by a division by 255.
  virtual bool scales_pixels() const = 0;

  /// As Engine::make_runners. The runners' outputs have the names of outputs(). Throws Error where the input can't have
  /// that shape, or where the first extent of an output isn't the batch.
  virtual std::vector<std::unique_ptr<Runner>> make_runners(const ModelInput& input, const RunnerOptions& options,
                                                            int count) const = 0;

  /// Converts the network to our own description, in float32, for images or vectors of that shape. Quantised weights
  /// are dequantised, and a softmax at the end is left out. Throws Error naming the first operation that has no
  /// counterpart among our layers.
  virtual DescribedNetwork describe(const ModelInput& input) const = 0;
};

/// The least and the greatest of some values.
struct ValueExtent {
  float least = 0, most = 0;
};

struct FileQuantization {
  std::map<std::string, ValueExtent> extents;     // of values, by the names that a range runner gives them
  int weight_bits = 8;                            // 4 to 8
  std::vector<std::string> kept = {};             // layers that stay in float
  std::map<std::string, std::string> facts = {};  // metadata that is added to the file's own
};

/// What a ModelFile may be, too: it quantises a network as it stands. Whatever its operations are, it stays what it is,
/// and the inputs of its convolutions and matrix products get 8 bits.
class QuantizableFile {
 public:
  virtual ~QuantizableFile() = default;

  /// The layers that can be quantised, by name, in the order of computation.
  virtual std::vector<std::string> quantizable_layers() const = 0;
  /// A runner of single images whose outputs are the values that such layers read: each (1, 2), the least and the most.
  virtual std::unique_ptr<Runner> make_range_runner(const ModelInput& input, const RunnerOptions& options) const = 0;
  /// Writes the quantised network as `xml`, with its weights beside it (.bin). Throws Error.
  virtual void write_quantized(const FileQuantization& how, const std::filesystem::path& xml) const = 0;
};

}  // namespace evener::engine
