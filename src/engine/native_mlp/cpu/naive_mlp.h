// The perceptron in plain loops over row-major arrays, the reference that all other kernels are tested against. It is
// never optimised, and never shared between replicas.
#pragma once

#include <vector>

#include "engine/native_mlp/cpu/class_loss.h"
#include "engine/native_mlp/cpu/mlp.h"
#include "engine/trainer_options.h"

namespace evener::engine::native_mlp {

class NaiveMlp : public Mlp {
 public:
  NaiveMlp(std::vector<Dense> layers, const Parameters& parameters, Arrays& arrays, const TrainerOptions& options,
           PixelScale pixel_scale);

  LossSums gradients(const Samples& samples, double weight, bool add,
                     const std::function<void(std::size_t layer)>& on_layer_ready) override;
  LossSums step(const Samples& samples, double weight, const UpdateRule& rule, const Crew& crew) override;
  void update(const UpdateRule& rule) override;
  LossSums evaluate(const Samples& samples, std::int32_t* predicted) override;
  void weights_changed() override {}

 private:
  float* values(std::size_t parameter) const;
  float* gradient(std::size_t parameter) const;
  void forward(const Samples& samples);
  /// Returns the loss of one sample, and writes `weight` times its derivatives to the last layer's slopes.
  float loss_of(const data::Batch& batch, std::size_t sample, double weight, bool training);
  LossSums losses(const data::Batch& batch, double weight, bool training, std::int32_t* predicted);
  void backward(std::size_t layer, std::size_t samples);

  std::vector<Dense> layers_;
  const Parameters& parameters_;
  Arrays& arrays_;
  ClassLoss loss_;
  PixelScale pixel_scale_;
  std::vector<float> input_;                 // (samples, inputs)
  std::vector<std::vector<float>> outputs_;  // of each layer, (samples, outputs)
  std::vector<std::vector<float>> slopes_;  // derivatives with respect to the input of each layer's activation function
};

}  // namespace evener::engine::native_mlp
