#include "engine/native_mlp/device/mlp.h"

#include <algorithm>
#include <string>

#include "base/names.h"
#include "engine/engine.h"

namespace evener::engine::native_mlp {
namespace {

Grid items_for(std::int64_t count) {
  return {{groups_for(count, kItems), 1}, {kItems, 1}};
}

std::int32_t number(std::int64_t value) {
  return static_cast<std::int32_t>(value);
}

template <class... Values>
void launch(Accelerator& accelerator, Kernel& kernel, const Grid& grid, const Values&... values) {
  const Argument arguments[] = {Argument(values)...};
  accelerator.launch(kernel, grid, arguments);
}

}  // namespace

DeviceMlp::DeviceMlp(Accelerator& accelerator, const std::vector<Dense>& layers, const Parameters& parameters,
                     const TrainerOptions& options, const PixelScale& pixel_scale)
    : accelerator_(accelerator),
      layers_(layers),
      parameters_(parameters),
      optimizer_(options.optimizer),
      loss_(class_loss_of(options.criterion)),
      plane_(layers.front().inputs / static_cast<std::int64_t>(pixel_scale.scale.size())),
      tile_(tile_shape_for(accelerator.facts())),
      x_(layers.size() + 1),
      slopes_(layers.size()) {
  build_device_kernels(accelerator_, tile_);
  kernels_ = {accelerator_.kernel("gather"),          accelerator_.kernel("forward"),
              accelerator_.kernel("add_parts"),       accelerator_.kernel("input_gradient"),
              accelerator_.kernel("weight_gradient"), accelerator_.kernel("update"),
              accelerator_.kernel("follow"),          accelerator_.kernel("loss")};
  const std::size_t count = parameters_.size();
  values_ = allocate(count);
  gradients_ = allocate(count);
  if (optimizer_.momentum != 0) momentum_ = allocate(count);
  if (optimizer_.average_decay != 0) average_ = allocate(count);
  results_ = allocate((kStepResults + 1) * sizeof(DeviceResult) / sizeof(float));
  stopped_ = allocate(1);
  scale_ = allocate(pixel_scale.scale.size());
  shift_ = allocate(pixel_scale.shift.size());
  parts_ = allocate(most_part_values(tile_, accelerator_.facts()));
  const std::vector<float> zeros(count);
  for (DeviceMemory* array : {values_.get(), gradients_.get(), momentum_.get(), average_.get()}) {
    if (array != nullptr) upload(*array, zeros);
  }
  upload(*stopped_, {0});
  upload(*scale_, pixel_scale.scale);
  upload(*shift_, pixel_scale.shift);
  fixed_bytes_ = allocated_bytes_;
}

std::unique_ptr<DeviceMemory> DeviceMlp::allocate(std::size_t values) {
  auto memory = accelerator_.allocate(values * sizeof(float));
  allocated_bytes_ += values * sizeof(float);
  return memory;
}

void DeviceMlp::upload(DeviceMemory& to, const std::vector<float>& values) {
  accelerator_.copy_in(to, 0, values.data(), values.size() * sizeof(float));
  accelerator_.finish();
}

/// The number of float32 values that the activations of `samples` samples take.
std::int64_t DeviceMlp::activations(std::int64_t samples) const {
  std::int64_t values = layers_.front().inputs + 1;  // and the predicted class
  for (const Dense& layer : layers_) values += 2 * layer.outputs;
  return samples * values;
}

bool DeviceMlp::grow(std::int64_t samples) {
  if (samples <= capacity_) return false;
  accelerator_.finish();
  for (auto& memory : x_) memory.reset();
  for (auto& memory : slopes_) memory.reset();
  predicted_.reset();
  allocated_bytes_ = fixed_bytes_;
  capacity_ = 0;
  const auto count = static_cast<std::size_t>(samples);
  try {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      x_[l] = allocate(count * static_cast<std::size_t>(layers_[l].inputs));
      slopes_[l] = allocate(count * static_cast<std::size_t>(layers_[l].outputs));
    }
    x_.back() = allocate(count * static_cast<std::size_t>(layers_.back().outputs));
    predicted_ = allocate(count);
  } catch (const OutOfMemory& error) {
    const auto total = static_cast<std::int64_t>(accelerator_.facts().memory_bytes - fixed_bytes_);
    const std::int64_t each = activations(1) * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t fits = std::min(total / each, samples * 3 / 4);
    throw OutOfMemory("a batch of " + std::to_string(samples) + " images takes " +
                      bytes_text(static_cast<std::uint64_t>(samples * each)) + " on the device: " + error.what() +
                      "; the largest that fits is about " + std::to_string(fits) +
                      " (predicted); use a smaller --batch, or --batch max, which finds it out");
  }
  capacity_ = samples;
  return true;
}

Grid DeviceMlp::tiles(std::int64_t rows, std::int64_t columns) const {
  return tiles_of(tile_, rows, columns);
}

std::int32_t DeviceMlp::place_of(std::size_t parameter) const {
  return number(static_cast<std::int64_t>(parameters_.entries()[parameter].offset));
}

/// The index of a parameter's first value; negative where it isn't trained.
std::int32_t DeviceMlp::trained_place_of(std::size_t parameter, bool exists) const {
  return exists && parameters_.entries()[parameter].trained ? place_of(parameter) : -1;
}

std::size_t DeviceMlp::lowest_trained_layer() const {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Dense& layer = layers_[l];
    if (trained_place_of(layer.weight_parameter, true) >= 0) return l;
    if (trained_place_of(layer.bias_parameter, layer.bias) >= 0) return l;
  }
  return layers_.size();
}

void DeviceMlp::forward_layer(std::size_t l, std::int64_t samples) {
  const Dense& layer = layers_[l];
  const std::int32_t bias_at = layer.bias ? place_of(layer.bias_parameter) : -1;
  const auto function = static_cast<std::int32_t>(layer.function);
  const std::int64_t part_inputs = part_length_for(tile_, accelerator_.facts(), samples, layer.outputs, layer.inputs);
  const std::size_t parts = groups_for(layer.inputs, part_inputs);
  Grid grid = tiles(samples, layer.outputs);
  grid.groups[0] *= parts;
  launch(accelerator_, *kernels_.forward, grid, x_[l].get(), values_.get(), place_of(layer.weight_parameter), bias_at,
         function, number(samples), number(layer.inputs), number(layer.outputs), number(part_inputs), parts_.get(),
         x_[l + 1].get());
  if (parts == 1) return;
  launch(accelerator_, *kernels_.add_parts, items_for(samples * layer.outputs), parts_.get(),
         static_cast<std::int32_t>(parts), values_.get(), bias_at, function, number(samples), number(layer.outputs),
         x_[l + 1].get());
}

void DeviceMlp::forward(const DeviceBatch& batch, int purpose) {
  const std::int32_t samples = number(batch.count), values = number(layers_.front().inputs);
  const bool resident = batch.images != nullptr;
  const auto first_byte = resident ? 0 : number((kHeaderWords + kBlockArrays * batch.count) * 4);
  const Grid pixels{{static_cast<std::size_t>(samples), groups_for(values, kItems)}, {kItems, 1}};
  launch(accelerator_, *kernels_.gather, pixels, resident ? batch.images : batch.block, first_byte,
         std::int32_t{resident}, batch.block, scale_.get(), shift_.get(), number(plane_), values, x_[0].get());
  for (std::size_t l = 0; l < layers_.size(); ++l) forward_layer(l, batch.count);
  launch(accelerator_, *kernels_.loss, items_for(1), x_.back().get(), batch.block, samples,
         number(layers_.back().outputs), std::int32_t{loss_.squared}, std::int32_t{batch.mixed},
         purpose == kLossOnly ? 0.0F : loss_.smoothing, std::int32_t{purpose}, slopes_.back().get(), predicted_.get(),
         results_.get(), stopped_.get());
}

void DeviceMlp::backward(const DeviceBatch& batch, int mode, const std::function<void(std::size_t layer)>& on_layer) {
  const std::int32_t samples = number(batch.count);
  const std::size_t lowest = lowest_trained_layer();
  const DeviceMemory* velocities = momentum_ ? momentum_.get() : values_.get();  // not read without momentum
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Dense& layer = layers_[l];
    if (l > lowest) {
      launch(accelerator_, *kernels_.input_gradient, tiles(samples, layer.inputs), slopes_[l].get(), values_.get(),
             place_of(layer.weight_parameter), x_[l].get(), static_cast<std::int32_t>(layers_[l - 1].function), samples,
             number(layer.inputs), number(layer.outputs), slopes_[l - 1].get());
    }
    if (l >= lowest) {
      launch(accelerator_, *kernels_.weight_gradient, tiles(layer.inputs, layer.outputs), x_[l].get(), slopes_[l].get(),
             samples, number(layer.inputs), number(layer.outputs), std::int32_t{mode},
             trained_place_of(layer.weight_parameter, true), trained_place_of(layer.bias_parameter, layer.bias),
             gradients_.get(), values_.get(), velocities, batch.block, static_cast<float>(optimizer_.momentum),
             static_cast<float>(optimizer_.weight_decay), std::int32_t{optimizer_.nesterov}, stopped_.get());
    }
    on_layer(l);
  }
}

void DeviceMlp::update(const DeviceMemory& block) {
  const DeviceMemory* velocities = momentum_ ? momentum_.get() : values_.get();
  for (const auto& entry : parameters_.entries()) {
    if (!entry.trained) continue;
    const auto count = static_cast<std::int64_t>(entry.size);
    launch(accelerator_, *kernels_.update, items_for(count), gradients_.get(), values_.get(), velocities, &block,
           static_cast<float>(optimizer_.momentum), static_cast<float>(optimizer_.weight_decay),
           std::int32_t{optimizer_.nesterov}, number(static_cast<std::int64_t>(entry.offset)), number(count));
  }
}

void DeviceMlp::follow(const DeviceMemory& block) {
  const auto count = static_cast<std::int64_t>(parameters_.size());
  launch(accelerator_, *kernels_.follow, items_for(count), values_.get(), average_.get(), &block, stopped_.get(),
         number(count));
}

}  // namespace evener::engine::native_mlp
