// The perceptron on packed operands and the kernels for this processor; a team of threads, or the teams of several
// replicas, divide the work. A step allocates nothing once the largest batch was seen.
#pragma once

#include <exception>
#include <vector>

#include "base/precision.h"
#include "engine/native_mlp/cpu/class_loss.h"
#include "engine/native_mlp/cpu/mlp.h"
#include "engine/native_mlp/cpu/team.h"
#include "engine/native_mlp/cpu/workspace.h"
#include "engine/trainer_options.h"

namespace evener::engine::native_mlp {

class SimdMlp : public Mlp {
 public:
  /// `shared`: the part of TrainerOptions::shared after the parameters; null: this replica shares nothing.
  SimdMlp(std::vector<Dense> layers, const Parameters& parameters, Arrays& arrays, const TrainerOptions& options,
          PixelScale pixel_scale, Arena* shared);

  /// Takes from `arena` what replicas share in a step of up to `samples` samples, to find its size.
  static void count_shared(const std::vector<Dense>& layers, Precision precision, std::int64_t samples, int replicas,
                           Arena& arena);

  LossSums gradients(const Samples& samples, double weight, bool add,
                     const std::function<void(std::size_t layer)>& on_layer_ready) override;
  LossSums step(const Samples& samples, double weight, const UpdateRule& rule, const Crew& crew) override;
  void update(const UpdateRule& rule) override;
  LossSums evaluate(const Samples& samples, std::int32_t* predicted) override;
  void weights_changed() override;

 private:
  /// The arguments of one call of the interface, for all threads.
  struct Call {
    const Samples& samples;
    const Workspace* space = nullptr;
    const Crew* crew = nullptr;  // null: alone
    bool backward = false, add = false;
    float weight = 0;
    const UpdateRule* rule = nullptr;  // update at once; null: write gradients
    std::int32_t* predicted = nullptr;
    const std::function<void(std::size_t)>* on_layer_ready = nullptr;

    std::int64_t count() const { return samples.batch.count; }
  };
  /// A thread's own arrays. Each thread packs the first layer's x for itself: reading what another core has just
  /// written would take longer than packing it again.
  struct alignas(64) Own {
    LossSums sums{0, 0};
    Array x, pairs;
  };
  /// The arrays that replicas have in common for a step.
  struct Common {
    Common() = default;
    Common(const OperandLayout& layout, std::int64_t samples, int replicas, Arena& arena);
    Workspace space;
    Array sums;  // of each replica
  };

  LossSums call(Call call);
  void grow(std::int64_t samples, bool common);
  void work(int thread, const Call& call);
  Portion portion_of(int thread, const Call& call) const;
  bool meet(int thread, const Call& call);
  void pack(int thread, const Call& call);
  void transpose_weights(int thread, const Call& call);
  bool forward(int thread, const Call& call);
  /// The input x of a layer as rows, and in the form for the weight gradient.
  const Array& x_of(std::size_t layer, int thread, const Call& call) const;
  const Array& pairs_of(std::size_t layer, int thread, const Call& call) const;
  Forward forward_of(std::size_t layer, int thread, const Call& call) const;
  LossInput loss_of(const Call& call) const;
  void backward(int thread, const Call& call);
  WeightGradient weight_gradient_of(std::size_t layer, int thread, const Call& call) const;
  LossSums own_sums() const;
  LossSums* common_sums(int replica) const;
  LossSums sums(const Call& call) const;
  void round_weights(int thread);

  float* values(std::size_t parameter) const;
  /// The parameter's first value in an array; null where the array is empty or there is no such parameter.
  float* place(const Array& array, std::size_t parameter, bool exists = true) const;

  const MlpKernels& kernels_;
  const std::vector<Dense> layers_;
  const Parameters& parameters_;
  Arrays& arrays_;
  const ClassLoss loss_;
  const PixelScale pixel_scale_;
  const int replica_;
  const OperandLayout layout_;
  std::vector<WeightOperands> weights_;
  Workspace space_;  // for work that this replica does alone
  Common common_;
  Array no_bias_;
  std::int64_t packed_capacity_ = 0;  // samples
  std::vector<Own> own_;
  std::exception_ptr failure_;  // of a meeting
  Team team_;                   // last: its threads use the rest
};

}  // namespace evener::engine::native_mlp
