// A runner computes the outputs of a trained network for images of one shape: weights and shape are given once, when it
// is made, so that an engine can compile for them. Several calls may be under way at once on a device that works on its
// own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/device.h"
#include "base/precision.h"
#include "base/tensor.h"
#include "engine/layer_times.h"
#include "engine/trainer_options.h"

namespace evener::engine {

/// What the values of images are: bytes, or floating-point numbers (also those that are no pixels at all).
enum class ImageValues : std::uint8_t { kBytes, kFloats };

struct RunnerOptions {
  Device device;
  std::vector<int> cpus = {};  // CPUs that compute; empty = not pinned
  int threads = 1;             // of all runners that are made together
  Precision precision = Precision::kFp32;
  std::vector<float> mean = {}, standard_deviation = {};  // per channel, applied to value / 255, as trainers do
  std::int64_t batch = 1;                                 // images of each call
  bool any_size = false;  // calls say how many images and of what size they bring; for networks of windows alone
  int in_flight = 1;      // calls that may be under way at once
  ImageValues values = ImageValues::kBytes;  // of the calls; the torch engine takes either
  std::filesystem::path cache = {};          // folder for what was compiled; empty = it is not kept
  bool times_layers = false;                 // for Runner::layer_times: calls take longer then
  bool later_stage = false;                  // of a network in stages: calls bring what the stage before gave
  TorchOptions torch = {};
};

/// Images (N, C, H, W) with values from 0 to 255: N is RunnerOptions::batch, the rest the network's input shape. A
/// network that takes vectors is given vectors (N, F), of which nothing is scaled.
using ImageSpan = std::variant<std::span<const std::uint8_t>, std::span<const float>>;

/// Not thread-safe: one thread drives it.
class Runner {
 public:
  virtual ~Runner() = default;

  /// Begins a call. The images are copied: their memory may be used again when this returns. Throws Error where they
  /// are not as many values as one batch has, or where RunnerOptions::in_flight calls wait already.
  virtual void start(const ImageSpan& images) = 0;
  /// The same for images (count, C, height, width), where RunnerOptions::any_size was set; otherwise throws Error.
  virtual void start_of_size(const ImageSpan& images, std::int64_t count, std::int64_t height, std::int64_t width);
  /// The same where RunnerOptions::later_stage was set: float32 values (N, shape) that the stage before gave, in the
  /// order of Network::inputs(). Otherwise throws Error.
  virtual void start_stage(const std::vector<HostTensor>& received);
  /// Waits for the call that was started first of those not waited for, and returns the network's outputs by their
  /// names: float32 with the batch as the first extent. Throws Error where none was started.
  virtual TensorMap wait() = 0;

  /// What is really computed, by kind and number format: {"Convolution bf16", 21}. Empty: the engine computes what was
  /// asked for.
  virtual std::map<std::string, int> executed() const { return {}; }

  /// How calls were computed, where there is something to say; "" otherwise.
  virtual std::string note() const { return ""; }

  /// What each layer took in the call that was waited for last, in the order in which they were computed, where
  /// RunnerOptions::times_layers was set. Throws Error where the engine doesn't tell.
  virtual std::vector<LayerTime> layer_times() const;
};

}  // namespace evener::engine
