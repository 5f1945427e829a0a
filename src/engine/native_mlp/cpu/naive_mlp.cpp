// The perceptron in plain loops over row-major arrays, the reference that all other kernels are tested against. It is
// never optimised, and never shared between replicas.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/phase.h"
#include "engine/best_class.h"
#include "engine/native_mlp/cpu/mlp.h"
#include "engine/trainer_options.h"

namespace evener::engine::native_mlp {
namespace {

float apply(Function function, float x) {
  switch (function) {
    case Function::kIdentity:
      return x;
    case Function::kRelu:
      return x < 0 ? 0 : x;
    case Function::kRelu6:
      return x < 0 ? 0 : x > 6 ? 6 : x;
    case Function::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Function::kTanh:
      return std::tanh(x);
  }
  return x;
}

/// The function's derivative, from its value.
float slope(Function function, float y) {
  switch (function) {
    case Function::kIdentity:
      return 1;
    case Function::kRelu:
      return y > 0 ? 1 : 0;
    case Function::kRelu6:
      return y > 0 && y < 6 ? 1 : 0;
    case Function::kSigmoid:
      return y * (1 - y);
    case Function::kTanh:
      return 1 - y * y;
  }
  return 1;
}

class NaiveMlp : public Mlp {
 public:
  NaiveMlp(std::vector<Dense> layers, const Parameters& parameters, Arrays& arrays, const TrainerOptions& options,
           PixelScale pixel_scale)
      : layers_(std::move(layers)),
        parameters_(parameters),
        arrays_(arrays),
        loss_(class_loss_of(options.criterion)),
        pixel_scale_(std::move(pixel_scale)),
        outputs_(layers_.size()),
        slopes_(layers_.size()) {}

  LossSums gradients(const Samples& samples, double weight, bool add,
                     const std::function<void(std::size_t layer)>& on_layer_ready) override {
    if (!add) std::fill_n(arrays_.gradients.data(), arrays_.gradients.size(), 0.0F);
    LossSums result{0, 0};
    {
      const PhaseMark mark(Phase::kForward);
      forward(samples);
      result = losses(samples.batch, weight, /*training=*/true, nullptr);
    }
    const PhaseMark mark(Phase::kBackward);
    for (std::size_t l = layers_.size(); l-- > 0;) {
      backward(l, static_cast<std::size_t>(samples.batch.count));
      on_layer_ready(l);
    }
    return result;
  }

  LossSums step(const Samples& samples, double weight, const UpdateRule& rule, const Crew& /*crew*/) override {
    const LossSums result = gradients(samples, weight, /*add=*/false, [](std::size_t) {});
    if (std::isfinite(result.loss)) update(rule);
    return result;
  }

  void update(const UpdateRule& rule) override {
    const PhaseMark mark(Phase::kUpdate);
    for (const auto& entry : parameters_.entries()) {
      if (!entry.trained) continue;
      for (std::size_t i = entry.offset; i < entry.offset + entry.size; ++i) {
        float& value = arrays_.values.data()[i];
        float change = arrays_.gradients.data()[i] + rule.decay * value;
        if (rule.momentum != 0) {
          float& velocity = arrays_.momentum.data()[i];
          velocity = rule.momentum * velocity + change;
          change = rule.nesterov ? change + rule.momentum * velocity : velocity;
        }
        value -= rule.rate * change;
      }
    }
  }

  LossSums evaluate(const Samples& samples, std::int32_t* predicted) override {
    forward(samples);
    return losses(samples.batch, 0, /*training=*/false, predicted);
  }

  void weights_changed() override {}

 private:
  float* values(std::size_t parameter) const { return arrays_.values.data() + parameters_.entries()[parameter].offset; }
  float* gradient(std::size_t parameter) const {
    return arrays_.gradients.data() + parameters_.entries()[parameter].offset;
  }

  void forward(const Samples& of) {
    const auto samples = static_cast<std::size_t>(of.batch.count);
    const std::size_t pixels = of.batch.shape.bytes();
    const std::size_t channels = pixel_scale_.scale.size(), plane = pixels / channels;
    input_.resize(samples * pixels);
    for (std::size_t s = 0; s < samples; ++s) {
      for (std::size_t i = 0; i < pixels; ++i) {
        const std::size_t channel = i / plane;
        input_[s * pixels + i] =
            static_cast<float>(of.images[s][i]) * pixel_scale_.scale[channel] + pixel_scale_.shift[channel];
      }
    }
    const std::vector<float>* x = &input_;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const Dense& layer = layers_[l];
      const auto inputs = static_cast<std::size_t>(layer.inputs), outputs = static_cast<std::size_t>(layer.outputs);
      const float* weight = values(layer.weight_parameter);
      outputs_[l].resize(samples * outputs);
      for (std::size_t s = 0; s < samples; ++s) {
        for (std::size_t o = 0; o < outputs; ++o) {
          float sum = layer.bias ? values(layer.bias_parameter)[o] : 0;
          for (std::size_t i = 0; i < inputs; ++i) sum += (*x)[s * inputs + i] * weight[o * inputs + i];
          outputs_[l][s * outputs + o] = apply(layer.function, sum);
        }
      }
      x = &outputs_[l];
    }
  }

  /// Returns the loss of one sample, and writes `weight` times its derivatives to the last layer's slopes.
  float loss_of(const data::Batch& batch, std::size_t sample, double weight, bool training) {
    const auto classes = static_cast<std::size_t>(layers_.back().outputs);
    const float* logits = outputs_.back().data() + sample * classes;
    const auto* mixed = std::get_if<data::MixedClassTargets>(&batch.targets);
    const auto label = static_cast<std::size_t>(data::class_labels(batch.targets)[sample]);
    const float first_share = mixed != nullptr ? mixed->label_weights[sample] : 1;
    const float smoothing = training ? loss_.smoothing : 0;
    const float largest = *std::max_element(logits, logits + classes);
    float sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(logits[c] - largest);
    float loss = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      float target = c == label ? first_share : 0;
      if (mixed != nullptr && c == static_cast<std::size_t>(mixed->second_labels[sample])) target += 1 - first_share;
      target = (1 - smoothing) * target + smoothing / static_cast<float>(classes);
      float derivative = 0;
      if (!loss_.squared) {
        loss -= target * (logits[c] - largest - std::log(sum));
        derivative = std::exp(logits[c] - largest) / sum - target;
      } else {
        const float distance = logits[c] - target;
        loss += distance * distance / static_cast<float>(classes);
        derivative = 2 * distance / static_cast<float>(classes);
      }
      if (training) slopes_.back()[sample * classes + c] = static_cast<float>(weight) * derivative;
    }
    return loss;
  }

  LossSums losses(const data::Batch& batch, double weight, bool training, std::int32_t* predicted) {
    const auto classes = static_cast<std::size_t>(layers_.back().outputs);
    LossSums result{0, 0};
    const std::span<const std::int32_t> labels = data::class_labels(batch.targets);
    if (training) slopes_.back().resize(outputs_.back().size());
    for (std::size_t s = 0; s < static_cast<std::size_t>(batch.count); ++s) {
      const float* logits = outputs_.back().data() + s * classes;
      const std::int32_t best = best_class(logits, layers_.back().outputs);
      result.correct += best == labels[s];
      if (predicted != nullptr) predicted[s] = best;
      result.loss += static_cast<double>(loss_of(batch, s, weight, training));
    }
    return result;
  }

  /// Adds to the layer's gradients, and computes the derivatives for the layer below.
  void backward(std::size_t index, std::size_t samples) {
    const Dense& layer = layers_[index];
    const auto inputs = static_cast<std::size_t>(layer.inputs), outputs = static_cast<std::size_t>(layer.outputs);
    const std::vector<float>& x = index > 0 ? outputs_[index - 1] : input_;
    const std::vector<float>& dy = slopes_[index];
    float* weight_gradient = gradient(layer.weight_parameter);
    for (std::size_t s = 0; s < samples; ++s) {
      for (std::size_t o = 0; o < outputs; ++o) {
        const float derivative = dy[s * outputs + o];
        if (layer.bias) gradient(layer.bias_parameter)[o] += derivative;
        for (std::size_t i = 0; i < inputs; ++i) weight_gradient[o * inputs + i] += derivative * x[s * inputs + i];
      }
    }
    if (index == 0) return;
    const float* weight = values(layer.weight_parameter);
    slopes_[index - 1].resize(samples * inputs);
    for (std::size_t s = 0; s < samples; ++s) {
      for (std::size_t i = 0; i < inputs; ++i) {
        float sum = 0;
        for (std::size_t o = 0; o < outputs; ++o) sum += dy[s * outputs + o] * weight[o * inputs + i];
        slopes_[index - 1][s * inputs + i] = sum * slope(layers_[index - 1].function, x[s * inputs + i]);
      }
    }
  }

  std::vector<Dense> layers_;
  const Parameters& parameters_;
  Arrays& arrays_;
  ClassLoss loss_;
  PixelScale pixel_scale_;
  std::vector<float> input_;                 // (samples, inputs)
  std::vector<std::vector<float>> outputs_;  // of each layer, (samples, outputs)
  std::vector<std::vector<float>> slopes_;  // derivatives with respect to the input of each layer's activation function
};

}  // namespace

std::unique_ptr<Mlp> make_naive_mlp(std::vector<Dense> layers, const Parameters& parameters, Arrays& arrays,
                                    const TrainerOptions& options, PixelScale pixel_scale) {
  return std::make_unique<NaiveMlp>(std::move(layers), parameters, arrays, options, std::move(pixel_scale));
}

}  // namespace evener::engine::native_mlp
