// A runner computes the outputs of a trained network for images of one shape. Weights and shape are given when it is
// made, so that an engine can compile the network for them. On a device that works asynchronously several calls may be
// under way at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/device.h"
#include "base/precision.h"
#include "base/tensor.h"
#include "engine/trainer_options.h"

namespace evener::engine {

/// The time of a network's layer, or of several, as an engine computes them.
struct LayerTime {
  /// Names of the layers that are computed as one, in their order; for a network in a foreign file, the names used
  /// there. Empty: work that belongs to no layer, such as normalising images.
  std::vector<std::string> layers;
  std::string what;  // "Conv2d", "normalise images, loss"
  double forward_s = 0;
  std::optional<double> backward_s = {};  // in training
};

/// The type of the values that images consist of.
enum class ImageValues : std::uint8_t { kBytes, kFloats };

struct RunnerOptions {
  Device device;
  std::vector<int> cpus = {};  // CPUs that compute; empty = not pinned
  int threads = 1;             // of all runners that are made together
  Precision precision = Precision::kFp32;
  std::vector<float> mean = {}, standard_deviation = {};  // per channel, applied to value / 255, as trainers do
  std::int64_t batch = 1;                                 // number of images in each call
  bool any_size = false;  // each call has its own number and size of images (start_of_size); only for networks that
                          // consist of convolutions and pooling
  int in_flight = 1;      // calls that may be under way at once
  ImageValues values = ImageValues::kBytes;  // of the calls; the torch engine takes either
  std::filesystem::path cache = {};          // folder for compiled networks; empty = they are not kept
  bool times_layers = false;                 // enables Runner::layer_times, which makes calls slower
  /// The network is a stage after the first: calls bring the outputs of the stage before (start_stage).
  bool later_stage = false;
  TorchOptions torch = {};
};

/// Images (N, C, H, W) with values from 0 to 255: N is RunnerOptions::batch, the rest the network's input shape. For a
/// network that takes vectors: vectors (N, F), which are not normalised.
using ImageSpan = std::variant<std::span<const std::uint8_t>, std::span<const float>>;

/// Not thread-safe: one thread drives it.
class Runner {
 public:
  virtual ~Runner() = default;

  /// Starts a call. An engine may read the images where they are: their memory stays as it is until wait() has returned
  /// this call's outputs, or the runner is gone. Throws Error unless they have as many values as one batch, and when
  /// RunnerOptions::in_flight calls are under way already.
  virtual void start(const ImageSpan& images) = 0;
  /// Starts a call with images (count, C, height, width), whose memory stays as it is, too. Throws Error unless
  /// RunnerOptions::any_size is set.
  virtual void start_of_size(const ImageSpan& images, std::int64_t count, std::int64_t height, std::int64_t width);
  /// Starts a call with the float32 outputs (N, shape) of the stage before, in the order of Network::inputs(), whose
  /// memory stays as it is, too. Throws Error unless RunnerOptions::later_stage is set.
  virtual void start_stage(const std::vector<HostTensor>& received);
  /// Waits for the oldest call that was not waited for yet, and returns the network's outputs by their names: float32
  /// with the batch as the first extent. Throws Error where no call is under way.
  virtual TensorMap wait() = 0;

  /// The number of operations really computed, by kind and number format: {"Convolution bf16", 21}. Empty: the engine
  /// computes as it was asked to.
  virtual std::map<std::string, int> executed() const { return {}; }

  /// A sentence for people about how calls were computed; may be "".
  virtual std::string note() const { return ""; }

  /// The time of each layer in the call that was waited for last, in the order of computation, if
  /// RunnerOptions::times_layers is set. Throws Error where the engine can't measure it.
  virtual std::vector<LayerTime> layer_times() const;
};

}  // namespace evener::engine
