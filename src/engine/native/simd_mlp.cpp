#include "engine/native/simd_mlp.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/phase.h"

namespace evener::engine::native {
namespace {

constexpr std::int64_t kLine = 16;  // units of a cache line

std::int64_t up(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit;
}

/// A stride of an odd number of cache lines: a walk down a column meets every set of the cache.
std::int64_t odd_stride(std::int64_t units) {
  return (up(units, kLine) | 1) * kLine;
}

Array array_of(std::int64_t count) {
  return Array(static_cast<std::size_t>(count));
}

}  // namespace

SimdMlp::SimdMlp(std::vector<Dense> layers, const Parameters& parameters, Arrays& arrays, const TrainerOptions& options,
                 Normalization normalization)
    : kernels_(uses_bfloat16(options.precision) ? *bfloat16_kernels() : float_kernels()),
      layers_(std::move(layers)),
      parameters_(parameters),
      arrays_(arrays),
      loss_(options.loss),
      smoothing_(options.loss == Loss::kCrossEntropy ? static_cast<float>(options.label_smoothing) : 0),
      normalization_(std::move(normalization)),
      shared_(!options.shared.bytes.empty()),
      operands_(layers_.size()),
      team_(options.threads, options.cpus) {
  own_.resize(static_cast<std::size_t>(team_.size()));
  const std::int64_t values = kernels_.unit_values;
  std::int64_t widest = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Dense& layer = layers_[l];
    Operands& own = operands_[l];
    const std::int64_t inputs = up(layer.inputs, kColumns) * kColumns;
    own.x_stride = odd_stride(up(inputs, values));
    own.pairs_stride = odd_stride(inputs);
    own.dy_stride = odd_stride(up(layer.columns(), values));
    if (values > 1) own.rounded = array_of(layer.columns() * up(layer.inputs, values));
    if (l > 0) own.transposed = array_of(inputs * up(layer.outputs, values));
    widest = std::max(widest, layer.columns());
  }
  logits_stride_ = odd_stride(layers_.back().columns());
  no_bias_ = array_of(widest);
}

/// Room for so many samples.
void SimdMlp::grow(std::int64_t samples) {
  if (samples <= capacity_) return;
  capacity_ = samples;
  const std::int64_t values = kernels_.unit_values;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Operands& own = operands_[l];
    if (l > 0) own.x = array_of(samples * own.x_stride);
    if (l > 0 && values > 1) own.pairs = array_of(up(samples, values) * own.pairs_stride);
    if (l > 0 || layers_.size() == 1) own.dy = array_of(samples * own.dy_stride);
    own.dy_panels = array_of(up(samples, values) * layers_[l].columns());
  }
  for (Own& own : own_) {
    own.x = array_of(samples * operands_.front().x_stride);
    if (values > 1) own.pairs = array_of(up(samples, values) * operands_.front().pairs_stride);
  }
  logits_ = array_of(samples * logits_stride_);
  slopes_ = array_of(samples * logits_stride_);
}

float* SimdMlp::place(const Array& array, std::size_t parameter, bool exists) const {
  return array && exists ? array.data() + parameters_.entries()[parameter].offset : nullptr;
}

float* SimdMlp::values(std::size_t parameter) const {
  return place(arrays_.values, parameter);
}

BatchResult SimdMlp::gradients(const data::Batch& batch, double weight, bool add,
                               const std::function<void(std::size_t layer)>& on_layer_ready) {
  return call({&batch, /*backward=*/true, add, static_cast<float>(weight), nullptr, nullptr, &on_layer_ready});
}

BatchResult SimdMlp::step(const data::Batch& batch, double weight, const UpdateRule& rule) {
  return call({&batch, /*backward=*/true, /*add=*/false, static_cast<float>(weight), &rule, nullptr, nullptr});
}

BatchResult SimdMlp::evaluate(const data::Batch& batch, std::int32_t* predicted) {
  Call evaluation;
  evaluation.batch = &batch;
  evaluation.predicted = predicted;
  return call(evaluation);
}

BatchResult SimdMlp::call(const Call& call) {
  grow(call.batch->count);
  team_.run([this, &call](int thread) { work(thread, call); });
  const LossSums all = sums();
  return {all.loss, all.correct, call.batch->count};
}

/// In the order of the threads, the same for each of them.
LossSums SimdMlp::sums() const {
  LossSums all{0, 0};
  for (const Own& part : own_) {
    all.loss += part.sums.loss;
    all.correct += part.sums.correct;
  }
  return all;
}

void SimdMlp::work(int thread, const Call& call) {
  {
    std::optional<PhaseMark> mark;
    if (thread == 0) mark.emplace(Phase::kForward);
    pack(thread, call);
    if (call.backward) transpose_weights(thread);
    if (shared_ && kernels_.round != nullptr) {  // others have changed the weights too
      round_weights(thread);
      team_.barrier();
    }
    forward(thread, call);
    team_.barrier();
  }
  if (!call.backward || (call.rule != nullptr && !std::isfinite(sums().loss))) return;
  std::optional<PhaseMark> mark;
  if (thread == 0) mark.emplace(Phase::kBackward);
  backward(thread, call);
}

/// All samples, for this thread's own use.
void SimdMlp::pack(int thread, const Call& call) {
  const Operands& first = operands_.front();
  const Own& own = own_[static_cast<std::size_t>(thread)];
  const std::int64_t channels = static_cast<std::int64_t>(normalization_.scale.size());
  const PackInput input{call.batch->images.data(),
                        call.batch->count,
                        channels,
                        layers_.front().inputs / channels,
                        normalization_.scale.data(),
                        normalization_.shift.data(),
                        own.x.data(),
                        first.x_stride,
                        own.pairs.data(),
                        first.pairs_stride};
  kernels_.pack_input(input, 0, input.samples);
}

const Array& SimdMlp::x_of(std::size_t layer, int thread) const {
  return layer > 0 ? operands_[layer].x : own_[static_cast<std::size_t>(thread)].x;
}

const Array& SimdMlp::pairs_of(std::size_t layer, int thread) const {
  return layer > 0 ? operands_[layer].pairs : own_[static_cast<std::size_t>(thread)].pairs;
}

void SimdMlp::transpose_weights(int thread) {
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    const Dense& layer = layers_[l];
    const Range range = share_of(layer.outputs, thread, team_.size(), kernels_.unit_values);
    kernels_.transpose(
        {values(layer.weight_parameter), layer.inputs, layer.outputs, layer.columns(), operands_[l].transposed.data()},
        range.begin, range.end);
  }
}

Forward SimdMlp::forward_of(std::size_t index, int thread, std::int64_t samples) const {
  const Dense& layer = layers_[index];
  const Operands& own = operands_[index];
  const bool last = index + 1 == layers_.size();
  const Operands* next = last ? nullptr : &operands_[index + 1];
  return {x_of(index, thread).data(),
          own.x_stride,
          up(layer.inputs, kernels_.unit_values),
          samples,
          own.rounded ? own.rounded.data() : values(layer.weight_parameter),
          layer.columns(),
          layer.bias ? values(layer.bias_parameter) : no_bias_.data(),
          layer.function,
          last ? nullptr : next->x.data(),
          last ? 0 : next->x_stride,
          last ? nullptr : next->pairs.data(),
          last ? 0 : next->pairs_stride,
          last ? logits_.data() : nullptr,
          logits_stride_};
}

LossInput SimdMlp::loss_of(const Call& call) const {
  const Dense& last = layers_.back();
  const Operands& own = operands_.back();
  const bool mixed = !call.batch->label_weights.empty();
  return {logits_.data(),
          logits_stride_,
          last.outputs,
          last.columns(),
          call.batch->labels.data(),
          mixed ? call.batch->second_labels.data() : nullptr,
          call.batch->label_weights.data(),
          loss_ == Loss::kMse,
          call.backward ? smoothing_ : 0,
          call.weight,
          call.batch->count,
          slopes_.data(),
          call.backward ? own.dy.data() : nullptr,
          own.dy_stride,
          own.dy_panels.data()};
}

/// All layers; the last one and the loss by samples, so that whoever has a sample's logits finds its loss.
void SimdMlp::forward(int thread, const Call& call) {
  const std::int64_t samples = call.batch->count;
  const std::int64_t blocks = up(samples, kernels_.tile_rows);
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    const Range tiles = share_of(up(layers_[l].columns(), kPanel) * blocks, thread, team_.size());
    kernels_.forward(forward_of(l, thread, samples), tiles.begin, tiles.end);
    team_.barrier();
  }
  const Forward last = forward_of(layers_.size() - 1, thread, samples);
  const Range own = share_of(blocks, thread, team_.size());
  for (std::int64_t panel = 0; panel < up(last.columns, kPanel); ++panel) {
    kernels_.forward(last, panel * blocks + own.begin, panel * blocks + own.end);
  }
  own_[static_cast<std::size_t>(thread)].sums = kernels_.loss(
      loss_of(call), own.begin * kernels_.tile_rows, std::min(samples, own.end * kernels_.tile_rows), call.predicted);
}

WeightGradient SimdMlp::weight_gradient_of(std::size_t index, int thread, const Call& call) const {
  const Dense& layer = layers_[index];
  const Operands& own = operands_[index];
  WeightGradient work{};
  const Array& pairs = pairs_of(index, thread);
  work.x = pairs ? pairs.data() : x_of(index, thread).data();
  work.x_stride = pairs ? own.pairs_stride : own.x_stride;
  work.inputs = layer.inputs;
  work.dy = own.dy_panels.data();
  work.columns = layer.columns();
  work.samples = up(call.batch->count, kernels_.unit_values);
  work.add = call.add;
  if (call.rule == nullptr) {
    work.gradient = place(arrays_.gradients, layer.weight_parameter);
    work.bias_gradient = place(arrays_.gradients, layer.bias_parameter, layer.bias);
    return work;
  }
  work.rule = *call.rule;
  work.weights = values(layer.weight_parameter);
  work.momentum = place(arrays_.momentum, layer.weight_parameter);
  work.bias = place(arrays_.values, layer.bias_parameter, layer.bias);
  work.bias_momentum = place(arrays_.momentum, layer.bias_parameter, layer.bias);
  work.rounded = own.rounded.data();
  return work;
}

void SimdMlp::backward(int thread, const Call& call) {
  const std::int64_t samples = call.batch->count;
  const std::int64_t blocks = up(samples, kernels_.tile_rows);
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Dense& layer = layers_[l];
    const Operands& own = operands_[l];
    if (l > 0) {
      const Operands& below = operands_[l - 1];
      const std::int64_t columns = layers_[l - 1].columns();
      const InputGradient work{own.dy.data(),   own.dy_stride,         up(layer.outputs, kernels_.unit_values),
                               samples,         own.transposed.data(), columns,
                               own.x.data(),    own.x_stride,          layers_[l - 1].function,
                               below.dy.data(), below.dy_stride,       below.dy_panels.data()};
      const Range tiles = share_of(up(columns, kPanel) * blocks, thread, team_.size());
      kernels_.input_gradient(work, tiles.begin, tiles.end);
    }
    const Range tiles =
        share_of(up(layer.columns(), kPanel) * up(layer.inputs, kernels_.tile_rows), thread, team_.size());
    kernels_.weight_gradient(weight_gradient_of(l, thread, call), tiles.begin, tiles.end);
    if (l > 0 || call.on_layer_ready != nullptr) team_.barrier();
    if (thread == 0 && call.on_layer_ready != nullptr) (*call.on_layer_ready)(l);
  }
}

void SimdMlp::update(const UpdateRule& rule) {
  const PhaseMark mark(Phase::kUpdate);
  team_.run([this, &rule](int thread) {
    for (const auto& entry : parameters_.entries()) {
      if (!entry.trained) continue;
      const auto offset = static_cast<std::int64_t>(entry.offset), size = static_cast<std::int64_t>(entry.size);
      const Range range = share_of(size, thread, team_.size(), kLine);
      kernels_.update(rule, arrays_.values.data(), arrays_.gradients.data(), arrays_.momentum.data(),
                      offset + range.begin, offset + range.end);
    }
    if (kernels_.round == nullptr) return;
    team_.barrier();
    round_weights(thread);
  });
}

void SimdMlp::update_part(const UpdateRule& rule, std::span<const float* const> gradients, std::int64_t begin,
                          std::int64_t end) {
  const PhaseMark mark(Phase::kUpdate);
  team_.run([&](int thread) {
    const Range own = share_of(end - begin, thread, team_.size(), kLine);
    kernels_.update_sum(rule, arrays_.values.data(), gradients.data(), static_cast<int>(gradients.size()),
                        arrays_.momentum.data(), begin + own.begin, begin + own.end);
  });
}

void SimdMlp::round_weights(int thread) {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Dense& layer = layers_[l];
    const Range range = share_of(layer.inputs, thread, team_.size(), kernels_.unit_values);
    kernels_.round(values(layer.weight_parameter), layer.inputs, layer.columns(), operands_[l].rounded.data(),
                   range.begin, range.end);
  }
}

void SimdMlp::weights_changed() {
  if (kernels_.round == nullptr) return;
  team_.run([this](int thread) { round_weights(thread); });
}

}  // namespace evener::engine::native
