// 3x3 convolutions on our own Winograd kernels (engine/kernels/winograd.h), for channels-last images in float32 or
// bfloat16; weights and sums are float32. What is multiplied is float32 too, or bfloat16 where the images are and the
// processor has instructions for it.
#pragma once

#include <ATen/ATen.h>

#include "engine/kernels/kernels.h"
#include "engine/torch/later_gradients.h"
#include "engine/trainer_options.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

/// Whether winograd_convolution can compute a layer that reads images of this shape (C, H, W): 3x3, stride 1, the same
/// padding of at most 2 along all edges, neither groups nor a bias, channels in multiples of 16.
bool winograd_supported(const network::Conv2d& op, const network::Shape& input);

/// Whether Winograd's kernels can be faster for images of this type. They can't for bfloat16 where the processor
/// multiplies tiles of it (AMX): a direct convolution then takes no longer than the transforms alone.
bool winograd_pays_in(at::ScalarType type);

/// Whether a layer uses Winograd's kernels for `batch` images of `type`. kAuto uses them where winograd_pays_in(type)
/// and they were faster than LibTorch's on every processor tried: with 32 to 256 channels (of products in bfloat16,
/// whose weights are smaller and direct convolutions faster, 64 to 512), images that fill their tiles well enough to
/// save three multiplications in five (two in five), and tiles enough to make up for transforming the weights. With
/// fewer channels the transforms outweigh the products; with more the transformed weights exceed any second-level
/// cache. `keeps_weights`: winograd_convolution would be given StepWeights, so that fewer tiles do.
bool takes_winograd(const network::Conv2d& op, const network::Shape& input, std::int64_t batch, at::ScalarType type,
                    ConvolutionChoice choice, bool keeps_weights = false);

/// `x` (N, C, H, W) in float32 or bfloat16, channels-last, as is the result; `weight` (O, C, 3, 3) in float32.
/// Differentiable; `kept`, unless null, keeps the transformed weights; `later`, unless null, is given the gradient of
/// the weight, which is its only parameter.
at::Tensor winograd_convolution(const at::Tensor& x, const at::Tensor& weight, const network::Conv2d& op,
                                const StepWeightsPtr& kept = {}, const LaterParametersPtr& later = {});

/// The operations fused after a convolution: y = clamp(convolution + bias + residual).
struct WinogradRest {
  at::Tensor bias;           // (O); undefined = none
  at::Tensor residual = {};  // as y, channels-last; undefined = none
  kernels::Clamp clamp;
};

/// Transforms `weight` (O, C, 3, 3) for winograd_inference() on images of `type`: the result has up to four times as
/// many values.
at::Tensor winograd_weights(const at::Tensor& weight, at::ScalarType type);
/// A convolution with weights that were transformed before, without gradients; `x` as above.
at::Tensor winograd_inference(const at::Tensor& x, const at::Tensor& transformed, std::int64_t out_channels,
                              std::int64_t padding, const WinogradRest& rest);

}  // namespace evener::engine::torch_engine
