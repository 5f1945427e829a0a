// The interface that computes a perceptron's losses and gradients, by plain loops (naive_mlp.cpp) or by kernels for
// this processor (simd_mlp.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/precision.h"
#include "data/batch.h"
#include "engine/native_mlp/cpu/kernels.h"
#include "engine/native_mlp/cpu/memory.h"
#include "engine/native_mlp/cpu/parameters.h"
#include "engine/trainer_options.h"
#include "network/criterion.h"

namespace evener::engine::native_mlp {

struct Range {
  std::int64_t begin, end;
};

/// The part [begin, end) of a piece of work that has the size `whole`.
struct Portion {
  std::int64_t begin = 0, end = 1, whole = 1;

  /// The range of `count` items that belongs to this portion; its bounds are multiples of `unit`, except at the last
  /// item. Portions that make up the whole get ranges without gaps.
  Range of(std::int64_t count, std::int64_t unit = 1) const;
  /// Part `index` of `parts` equal parts of this portion.
  Portion part(int index, int parts) const;
};

/// A loss as the kernels take it.
struct ClassLoss {
  bool squared = false;  // the mean squared error; otherwise cross-entropy
  float smoothing = 0;   // of the targets in training, for cross-entropy alone
};

/// Why the kernels can't compute the criterion on the network's output; "" if they can.
std::string why_no_class_loss(const network::Criterion& criterion, const network::Network& network);

/// The loss of a criterion for which why_no_class_loss() is empty.
ClassLoss class_loss_of(const network::Criterion& criterion);

/// The arrays of a trainer, each laid out as its Parameters say.
struct Arrays {
  Array values, gradients, momentum, average;  // the last two are empty where they aren't kept
};

/// A batch, and a pointer to the pixels of each of its samples.
struct Samples {
  const data::Batch& batch;
  const std::uint8_t* const* images;
};

/// The replicas that do a step: only this one, or several that share their arrays and do a portion of the step each.
struct Crew {
  Portion portion = {};
  const std::function<void()>* meet = nullptr;  // returns when all of them have called it; null: alone
  std::span<const int> members = {};            // numbers of the replicas, ascending
};

/// A perceptron. Its functions return the sum of the samples' losses and the number of correct predictions.
class Mlp {
 public:
  virtual ~Mlp() = default;

  /// Computes the gradients of `weight` times the sum of the losses, and writes them to Arrays::gradients or, with
  /// `add`, adds them to it.
  virtual LossSums gradients(const Samples& samples, double weight, bool add,
                             const std::function<void(std::size_t layer)>& on_layer_ready) = 0;
  /// Computes the gradients and updates the weights at once, without storing the gradients. If the loss isn't finite,
  /// nothing is changed. With several replicas in `crew`, all of them call it with the whole batch and get the same
  /// result; the new weights may be read when all have returned.
  virtual LossSums step(const Samples& samples, double weight, const UpdateRule& rule, const Crew& crew) = 0;
  /// Updates the trained parameters with Arrays::gradients.
  virtual void update(const UpdateRule& rule) = 0;
  /// Forward only; `predicted` may be null.
  virtual LossSums evaluate(const Samples& samples, std::int32_t* predicted) = 0;
  /// To be called after the weights were changed from outside, which makes packed copies of them stale.
  virtual void weights_changed() = 0;
};

/// The perceptron in plain loops over row-major arrays, the reference that all other kernels are tested against. It is
/// never optimised, and never shared between replicas.
std::unique_ptr<Mlp> make_naive_mlp(std::vector<Dense> layers, const Parameters& parameters, Arrays& arrays,
                                    const TrainerOptions& options, PixelScale pixel_scale);

/// The perceptron on packed operands and the kernels for this processor; a team of threads, or the teams of several
/// replicas, divide the work. `shared`: the part of TrainerOptions::shared after the parameters; null: this replica
/// shares nothing.
std::unique_ptr<Mlp> make_simd_mlp(std::vector<Dense> layers, const Parameters& parameters, Arrays& arrays,
                                   const TrainerOptions& options, PixelScale pixel_scale, Arena* shared);

/// Takes from `arena` what replicas share in a step of up to `samples` samples, to find its size.
void count_shared(const std::vector<Dense>& layers, Precision precision, std::int64_t samples, int replicas,
                  Arena& arena);

}  // namespace evener::engine::native_mlp
