// A perceptron on an accelerator: its arrays in device memory, and the kernel launches of a step, a gradient or an
// evaluation.
#pragma once

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/native_mlp/cpu/mlp.h"
#include "engine/native_mlp/device/accelerator.h"
#include "engine/native_mlp/device/kernels.h"

namespace evener::engine::native_mlp {

/// A batch as a block of work on the device (kernels.h).
struct DeviceBatch {
  std::int64_t count = 0;
  bool mixed = false;                    // with second labels
  const DeviceMemory* block = nullptr;   // Header, indices, labels; pixels where the data isn't resident
  const DeviceMemory* images = nullptr;  // of resident data; null: in the block
};

class DeviceMlp {
 public:
  /// `parameters`: the layout of arrays (Layout::kColumnMajor). Throws OutOfMemory.
  DeviceMlp(Accelerator& accelerator, const std::vector<Dense>& layers, const Parameters& parameters,
            const TrainerOptions& options, const PixelScale& pixel_scale);

  /// Indices of results: those below kStepResults are for steps (Header::result), kOtherResult is for anything else.
  static constexpr int kStepResults = 64, kOtherResult = kStepResults;

  /// Makes room for batches of `samples` samples. Throws OutOfMemory, naming how many would fit. Returns whether memory
  /// was reallocated, which invalidates recorded steps.
  bool grow(std::int64_t samples);

  /// Forward pass and loss; the result goes to results() at Header::result, the predicted classes to predicted().
  /// `purpose`: kLossOnly (in an evaluation), kLossAndSlopes or kLossOfStep.
  void forward(const DeviceBatch& batch, int purpose);
  /// Backward pass down to the lowest trained layer, after a forward() with slopes. `mode`: kUpdateAtOnce (changes
  /// nothing if a loss was not finite), kWriteGradient or kAddGradient. `on_layer` is called for each layer when its
  /// work was enqueued, last layer first.
  void backward(const DeviceBatch& batch, int mode, const std::function<void(std::size_t layer)>& on_layer);
  /// Updates the trained parameters with gradients(), at the learning rate in the block's header.
  void update(const DeviceMemory& block);
  /// Moves the average towards the weights, by the factor in the block's header.
  void follow(const DeviceMemory& block);
  void swap_average() { values_.swap(average_); }

  DeviceMemory& values() const { return *values_; }
  DeviceMemory& momentum() const { return *momentum_; }  // only where the optimiser has one
  DeviceMemory& average() const { return *average_; }    // only where one is kept
  DeviceMemory& gradients() const { return *gradients_; }
  DeviceMemory& results() const { return *results_; }  // DeviceResult [kStepResults + 1]
  DeviceMemory& predicted() const { return *predicted_; }
  /// float32 (1): not 0 from the first step on whose loss was not finite.
  DeviceMemory& stopped() const { return *stopped_; }

  std::uint64_t allocated_bytes() const { return allocated_bytes_; }

 private:
  struct Launchable {
    std::unique_ptr<Kernel> gather, forward, add_parts, input_gradient, weight_gradient, update, follow, loss;
  };
  std::unique_ptr<DeviceMemory> allocate(std::size_t values);
  std::int64_t activations(std::int64_t samples) const;
  Grid tiles(std::int64_t rows, std::int64_t columns) const;
  void forward_layer(std::size_t layer, std::int64_t samples);
  std::int32_t place_of(std::size_t parameter) const;
  std::int32_t trained_place_of(std::size_t parameter, bool exists) const;
  std::size_t lowest_trained_layer() const;
  void upload(DeviceMemory& to, const std::vector<float>& values);

  Accelerator& accelerator_;
  const std::vector<Dense>& layers_;
  const Parameters& parameters_;
  const OptimizerOptions optimizer_;
  const ClassLoss loss_;
  const std::int64_t plane_;
  const TileShape tile_;
  Launchable kernels_;
  std::unique_ptr<DeviceMemory> values_, momentum_, average_, gradients_, results_, stopped_, scale_, shift_, parts_;
  // For capacity_ samples: the inputs of each layer and the outputs of the last; derivatives with respect to the inputs
  // of each layer's activation function.
  std::int64_t capacity_ = 0;
  std::vector<std::unique_ptr<DeviceMemory>> x_, slopes_;
  std::unique_ptr<DeviceMemory> predicted_;
  std::uint64_t allocated_bytes_ = 0, fixed_bytes_ = 0;
};

/// Why this engine can't train the perceptron on an accelerator; "" if it can. Whether the device exists is only found
/// out when a trainer is made.
std::string why_not_on_device(const network::Network& network, const TrainerOptions& options);

/// A trainer on an accelerator, whose weights, momentum and images stay on the device.
std::unique_ptr<Trainer> make_device_trainer(const network::Network& network, const TrainerOptions& options);

}  // namespace evener::engine::native_mlp
