// The perceptron on packed operands and the kernels for this processor, shared by a team of threads. A step allocates
// nothing once the largest batch was seen.
#pragma once

#include <vector>

#include "engine/native/mlp.h"
#include "engine/native/team.h"

namespace evener::engine::native {

class SimdMlp : public Mlp {
 public:
  SimdMlp(std::vector<Dense> layers, const Parameters& parameters, Arrays& arrays, const TrainerOptions& options,
          Normalization normalization);

  BatchResult gradients(const data::Batch& batch, double weight, bool add,
                        const std::function<void(std::size_t layer)>& on_layer_ready) override;
  BatchResult step(const data::Batch& batch, double weight, const UpdateRule& rule) override;
  void update(const UpdateRule& rule) override;
  void update_part(const UpdateRule& rule, std::span<const float* const> gradients, std::int64_t begin,
                   std::int64_t end) override;
  BatchResult evaluate(const data::Batch& batch, std::int32_t* predicted) override;
  void weights_changed() override;

 private:
  /// What goes into a layer, what its derivatives are, and its weights as operands.
  struct Operands {
    std::int64_t x_stride = 0, pairs_stride = 0, dy_stride = 0;
    Array x, pairs;       // rows; with pairs also over the samples
    Array dy, dy_panels;  // derivatives by what goes into the function: rows (none of the first layer), panels
    Array rounded;        // weights as bfloat16; empty with float32
    Array transposed;     // weights over the inputs; none of the first layer
  };
  /// One call of the interface, as every thread sees it.
  struct Call {
    const data::Batch* batch = nullptr;
    bool backward = false, add = false;
    float weight = 0;
    const UpdateRule* rule = nullptr;  // update at once; null: write gradients
    std::int32_t* predicted = nullptr;
    const std::function<void(std::size_t)>* on_layer_ready = nullptr;
  };
  /// What a thread has for itself. The first layer's x is packed by each: reading what another core has just written
  /// takes longer than to make it again.
  struct alignas(64) Own {
    LossSums sums{0, 0};
    Array x, pairs;
  };

  BatchResult call(const Call& call);
  void grow(std::int64_t samples);
  void work(int thread, const Call& call);
  void pack(int thread, const Call& call);
  void transpose_weights(int thread);
  void forward(int thread, const Call& call);
  /// x of a layer as rows, and as what the weight gradient wants.
  const Array& x_of(std::size_t layer, int thread) const;
  const Array& pairs_of(std::size_t layer, int thread) const;
  Forward forward_of(std::size_t layer, int thread, std::int64_t samples) const;
  LossInput loss_of(const Call& call) const;
  void backward(int thread, const Call& call);
  WeightGradient weight_gradient_of(std::size_t layer, int thread, const Call& call) const;
  LossSums sums() const;
  void round_weights(int thread);

  float* values(std::size_t parameter) const;
  /// The parameter's place in an array; null where that is empty or there is no such parameter.
  float* place(const Array& array, std::size_t parameter, bool exists = true) const;

  const Kernels& kernels_;
  const std::vector<Dense> layers_;
  const Parameters& parameters_;
  Arrays& arrays_;
  const Loss loss_;
  const float smoothing_;
  const Normalization normalization_;
  const bool shared_;  // the weights are those of all replicas
  std::vector<Operands> operands_;
  Array logits_, slopes_, no_bias_;
  std::int64_t logits_stride_ = 0, capacity_ = 0;
  std::vector<Own> own_;
  Team team_;  // last: its threads use the rest
};

}  // namespace evener::engine::native
