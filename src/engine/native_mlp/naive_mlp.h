// The perceptron in plain loops over row-major arrays: what everything else is compared with. Never optimised, and
// never shared between replicas.
#pragma once

#include <vector>

#include "engine/native_mlp/mlp.h"

namespace evener::engine::native {

class NaiveMlp : public Mlp {
 public:
  NaiveMlp(std::vector<Dense> layers, const Parameters& parameters, Arrays& arrays, const TrainerOptions& options,
           Normalization normalization);

  BatchResult gradients(const Samples& samples, double weight, bool add,
                        const std::function<void(std::size_t layer)>& on_layer_ready) override;
  BatchResult step(const Samples& samples, double weight, const UpdateRule& rule, const Crew& crew) override;
  void update(const UpdateRule& rule) override;
  BatchResult evaluate(const Samples& samples, std::int32_t* predicted) override;
  void weights_changed() override {}

 private:
  float* values(std::size_t parameter) const;
  float* gradient(std::size_t parameter) const;
  void forward(const Samples& samples);
  /// Loss of one sample, and `weight` times its derivatives into the last layer's slopes.
  float loss_of(const data::Batch& batch, std::size_t sample, double weight, bool training);
  BatchResult losses(const data::Batch& batch, double weight, bool training, std::int32_t* predicted);
  void backward(std::size_t layer, std::size_t samples);

  std::vector<Dense> layers_;
  const Parameters& parameters_;
  Arrays& arrays_;
  Loss loss_;
  double smoothing_;
  Normalization normalization_;
  std::vector<float> input_;                 // (samples, inputs)
  std::vector<std::vector<float>> outputs_;  // of each layer, (samples, outputs)
  std::vector<std::vector<float>> slopes_;   // derivatives by what went into each layer's function
};

}  // namespace evener::engine::native
