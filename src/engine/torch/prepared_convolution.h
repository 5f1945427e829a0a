// A convolution whose weights don't change any more, with what follows it: for inference on CPUs, channels-last.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/trainer_options.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

class PreparedConvolution {
 public:
  /// `input`: the shape (C, H, W) of the images of each call, or a guess where they have several. `weight` (O, C /
  /// groups, KH, KW) and `bias` (O), which may be undefined, are in the type to compute in. `choice` as takes_winograd
  /// follows it.
  PreparedConvolution(const network::Conv2d& op, const network::Shape& input, std::int64_t batch,
                      const at::Tensor& weight, const at::Tensor& bias,
                      std::optional<network::ActivationKind> activation, ConvolutionChoice choice);

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

/// Decides which convolutions take Winograd's kernels by computing each shape both ways: what wins depends on the
/// processor's caches, on threads, and on how many tiles a call has to share the reading of the weights.
class ConvolutionTrials {
 public:
  /// `batch`: images of each call.
  explicit ConvolutionTrials(std::int64_t batch) : batch_(batch) {}

  /// kWinograd or kDirect, the latter where both are as fast. `weight` in the type to compute in.
  ConvolutionChoice choose(const network::Conv2d& op, const network::Shape& input, const at::Tensor& weight);

 private:
  std::int64_t batch_;
  std::map<std::vector<std::int64_t>, ConvolutionChoice> known_;  // by all that the time depends on
};

}  // namespace evener::engine::torch_engine
