// A trained network that is ready to answer for images in memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "evener/error.h"
#include "evener/observer.h"
#include "evener/options.h"

namespace evener {

/// Numbers with a shape, rows last.
struct FloatArray {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// The outputs of a network by their names; the first extent of each is the number of images.
using Outputs = std::map<std::string, FloatArray>;

/// Pixels of pictures of one size, in memory that somebody else owns: rows from top to bottom, of each pixel its
/// channels beside each other.
struct PictureSpan {
  const std::uint8_t* pixels = nullptr;  // (count, height, width, channels), dense
  std::int64_t count = 0;                // of 0 the outputs have shapes (0, ...)
  std::int64_t height = 0, width = 0;
  std::int64_t channels = 3;  // 1 grey, 3 RGB
};

/// Values in the network's own shape, as .npy files for `evener infer` have them: (count, channels, height, width) of
/// images with values from 0 to 255, or (count, features). Floats for a file of another program (.onnx, .tflite, .xml)
/// are what its input takes, unless the option "normalize" was given. One of the two pointers is set.
struct SampleSpan {
  const std::uint8_t* bytes = nullptr;
  const float* floats = nullptr;
  std::vector<std::int64_t> shape;  // with the count first
};

/// Loaded once, asked often. It is computed by the same code as in `evener infer`, in the same batches, so that the
/// outputs are equal bit by bit where batch, streams and engine are. Calls from several threads wait for each other.
class LoadedNetwork {
 public:
  /// `model`: the folder of a training, a file (.safetensors, .onnx, .tflite, .xml), or a network of the zoo.
  /// `options`: those of options_of("load"), as `evener infer` has them. {"batch", 1} with {"streams", 1} answers
  /// single images soonest; a call of fewer images than a batch costs a whole one. Without "streams" all threads of a
  /// CPU share a call of a batch or less, as with {"streams", 1}, and the batches of a larger one are divided among
  /// them, for which the network is compiled a second time. Throws UsageError and Error.
  explicit LoadedNetwork(const std::string& model, const Options& options = {});
  ~LoadedNetwork();
  LoadedNetwork(LoadedNetwork&&) noexcept;
  LoadedNetwork& operator=(LoadedNetwork&&) noexcept;

  /// "resnet18", "model.onnx".
  const std::string& name() const;
  /// Of one sample: channels, height, width of images; -1 where a file leaves it open.
  const std::vector<std::int64_t>& input_shape() const;
  bool takes_images() const;
  /// Names of the classes; empty where nobody gave them.
  const std::vector<std::string>& classes() const;
  /// The name of the output that classes are told by.
  const std::string& main_output() const;
  /// Sentences about what the network was made of.
  const std::vector<std::string>& notes() const;

  /// Pictures of any size, each brought to the network's as `evener infer` does with files. `observer` is only asked
  /// whether to stop. Throws Error for what doesn't fit, and Interrupted.
  Outputs run(const PictureSpan& pictures, Observer* observer = nullptr);
  /// Samples as they are.
  Outputs run(const SampleSpan& samples, Observer* observer = nullptr);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace evener
