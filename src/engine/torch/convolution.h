// Convolutions on the CPU by oneDNN, with weights in an order of its own: with fixed weights for inference, and in
// training where LibTorch's own spend most of their time on weights.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/torch/later_gradients.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

/// The input that a convolution is prepared for.
struct ConvolutionInput {
  std::int64_t batch;
  network::Shape shape;  // of an image: (C, H, W), or a guess where sizes vary
  at::ScalarType type;   // float32 or bfloat16; the result has the same type
};

/// A convolution with fixed weights, fused with the sum and the activation that follow it: for inference on CPUs,
/// channels-last.
class PreparedConvolution {
 public:
  /// `weight` (O, C / groups, KH, KW) and `bias` (O), which may be undefined, are in float32. `winograd` only has an
  /// effect where winograd_supported().
  PreparedConvolution(const network::Conv2d& op, const ConvolutionInput& input, const at::Tensor& weight,
                      const at::Tensor& bias, std::optional<network::ActivationKind> activation, bool winograd);

  /// activation(convolution of `x` + bias + residual); `residual` may be undefined.
  at::Tensor run(const at::Tensor& x, const at::Tensor& residual) const;

  /// What computes it: "winograd", "direct" (oneDNN, with weights in its own order), or "direct unfused" (LibTorch's
  /// convolution, where oneDNN can't compute in this type on this processor).
  const char* method() const;

 private:
  enum class Method : std::uint8_t { kWinograd, kOneDnn, kLibTorch };

  at::Tensor run_onednn(const at::Tensor& x, const at::Tensor& residual) const;
  at::Tensor run_libtorch(const at::Tensor& x, const at::Tensor& residual) const;

  network::Conv2d op_;
  std::optional<network::ActivationKind> activation_;
  Method method_;
  at::Tensor weight_, bias_;  // as the method takes them
};

/// Decides which convolutions use Winograd's kernels by timing each shape both ways: which one is faster depends on the
/// processor's caches, on the threads, and on the number of tiles in a call that share one read of the weights.
class ConvolutionTrials {
 public:
  /// Whether Winograd's kernels are clearly faster. `weight` is float32. All calls must have the same batch and type.
  bool winograd_wins(const network::Conv2d& op, const ConvolutionInput& input, const at::Tensor& weight);

 private:
  std::map<std::vector<std::int64_t>, bool> known_;  // keyed by everything else that the time depends on
};

/// For few pixels and many channels, as a network's last layers have them, above all in micro-batches, LibTorch's own
/// convolutions spend most of their time on weights. Whether direct_convolution can and should compute a layer for `x`;
/// `keeps_weights`: it would be given StepWeights.
bool takes_direct(const network::Conv2d& op, const at::Tensor& x, bool keeps_weights);

/// `x` (N, C, H, W) in float32 or bfloat16, channels-last, as is the result; `weight` (O, C, KH, KW) in float32.
/// Differentiable. `kept`, unless null, keeps weights for the next calls. `later`, unless null, is given the gradient
/// of the weight, which is its only parameter.
at::Tensor direct_convolution(const at::Tensor& x, const at::Tensor& weight, const network::Conv2d& op,
                              const StepWeightsPtr& kept, const LaterParametersPtr& later);

}  // namespace evener::engine::torch_engine
