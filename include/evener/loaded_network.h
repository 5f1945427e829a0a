// A trained network that is kept in memory and run on images in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "evener/error.h"
#include "evener/observer.h"
#include "evener/options.h"

namespace evener {

/// A dense row-major array: `values` has as many elements as the product of the extents in `shape`.
struct FloatArray {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// The outputs of a network by their names; the first extent of each is the number of images. Scores of a network that
/// was calibrated (`evener train`, `evener calibrate`) are divided by its temperature, and it has an output "unknown",
/// (images, 1): above 1 an image is like nothing that it was trained on. The option "uncalibrated" leaves both out.
using Outputs = std::map<std::string, FloatArray>;

/// Pixels of pictures of one size, in memory that the caller owns: rows from top to bottom, the channels of each pixel
/// side by side.
struct PictureSpan {
  const std::uint8_t* pixels = nullptr;  // (count, height, width, channels), dense
  std::int64_t count = 0;                // with 0 pictures the outputs have shapes (0, ...)
  std::int64_t height = 0, width = 0;
  std::int64_t channels = 3;  // 1 grey, 3 RGB
};

/// Samples in the network's own input shape, as .npy files for `evener infer` have them: images (count, channels,
/// height, width) with values from 0 to 255, or vectors (count, features). Floats for another program's file (.onnx,
/// .tflite, .xml) are fed to its input as they are, unless the option "normalize" was given. Exactly one of the two
/// pointers is set.
struct SampleSpan {
  const std::uint8_t* bytes = nullptr;
  const float* floats = nullptr;
  std::vector<std::int64_t> shape;  // with the count first
};

/// A network that is loaded once and run many times. The same code computes it as in `evener infer`, in the same
/// batches, so the outputs are equal bit by bit where the options batch, streams and engine are. With the engine "auto"
/// calls of more images than a batch may be computed by another one than smaller calls, which rounds otherwise. Calls
/// from several threads are done one after the other.
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

  /// The model's name, such as "resnet18" or "model.onnx".
  const std::string& name() const;
  /// The shape of one sample: (channels, height, width) of an image; -1 for an extent that the file leaves open.
  const std::vector<std::int64_t>& input_shape() const;
  bool takes_images() const;
  /// Names of the classes, in the order of the scores; empty where the model has none.
  const std::vector<std::string>& classes() const;
  /// The name of a class: "ants", or "class 3" where the model has no names. Throws UsageError where the network tells
  /// no classes, such as a detector, saying what does.
  std::string class_name(std::size_t index) const;
  /// The name of the output that has the classes' scores.
  const std::string& main_output() const;
  /// Sentences for people about how the network was loaded.
  const std::vector<std::string>& notes() const;

  /// Runs the network on pictures of any size, each brought to the network's input size as `evener infer` does with
  /// files. `observer` is only asked whether to stop. Throws Error where the pictures don't fit the network, and
  /// Interrupted after a stop.
  Outputs run(const PictureSpan& pictures, Observer* observer = nullptr);
  /// Runs the network on samples that have its input shape already. Throws as above.
  Outputs run(const SampleSpan& samples, Observer* observer = nullptr);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace evener
